import PriceStore
import RetentionJob
import RetentionPolicy

/// The entities of the ledger, and how runs and rules become their rows and back.
enum LedgerRow {
    static let runEntityName = "run"
    static let ruleEntityName = "run_rule"
    /// The path of the store from the folder of the ledger.
    static let storeRelative = "store_relative"

    /// The entity of runs. Instants are stored twice: as text for people, and in microseconds since 1970 (`…_us`).
    static let runEntity = entity(
        runEntityName, key: ["number"],
        integers: [
            "number", "as_of_us", "started_us", "finished_us", "pid", "exit_code", "pending_sources", "pending_files",
            "pending_saved", "pending_ignored", "pending_rejected", "expired", "deleted", "residue", "reclaimed_bytes",
            "clock_believed", "uid", "store_bytes", "restored", "restored_references", "archive_rows",
            "archive_references", "archive_bytes",
            "archive_complete", "archive_until_us",
        ],
        texts: [
            "run", "outcome", "mode", "store", "engine", "config", "config_sha256", "as_of", "started", "finished",
            "host", "user", "login", "sudo_user", "version", "pending_problems", "warnings", "failure", "archive",
            "archive_sha256", "archive_until", "undoes", "undo_archive", "undo_rules", "undo_tables", "restored_tables",
            "rules", "plan_sha256", "store_notes", storeRelative,
        ])

    /// The whole entity of the rules of runs.
    static let ruleEntity = entity(
        ruleEntityName, key: ["run_number", "position"],
        integers: [
            "run_number", "position", "cutoff_us", "rows", "expired", "kept_by_rule", "deleted", "cascaded",
            "nullified", "unreadable", "residue", "oldest_us", "newest_us", "newest_expired_us", "oldest_deleted_us",
            "newest_deleted_us", "oldest_overdue_us", "batches", "elapsed_us", "entity_bytes", "archived", "late",
            "unpriced", "candles_created", "candles_changed", "held",
        ],
        texts: [
            "name", "entity", "date_attribute", "date_format", "max_age", "cutoff", "outcome", "refusal", "message",
            "accepted", "unreadable_kinds", "oldest", "newest", "newest_expired", "oldest_deleted", "newest_deleted",
            "oldest_overdue", "method", "index_name", "advice", "digest", "deleted_by_triggers", "kept_by_hold",
            "kept_by_tier", "refusals",
        ])

    private static func entity(_ name: String, key: [String], integers: [String], texts: [String]) -> Entity {
        Entity(
            name: name,
            attributes: integers.map { Attribute(name: $0, affinity: .integer, declaredType: "INTEGER") }
                + texts.map { Attribute(name: $0, affinity: .text, declaredType: "TEXT") },
            primaryKey: key)
    }

    // MARK: To rows

    /// The values at the start of a run.
    ///
    /// - Parameter relative: the path of the store from the folder of the ledger; nil: it is no file.
    static func values(
        starting report: RunReport, number: Int64, store: String, relative: String?, process: LedgerProcess
    ) -> [String: StoreValue] {
        var values: [String: StoreValue] = [
            "number": .integer(number), "run": .text(report.runID), "mode": .text(report.mode.rawValue),
            "store": .text(store), "engine": .text(report.engine), "config": .text(report.config),
            "config_sha256": .text(report.configSHA256), "pid": .count(process.pid), "host": .text(process.host),
            "user": .text(process.user), "version": .text(process.version),
            "uid": process.uid.map { .count($0) } ?? .null, "login": .optional(process.login),
            "sudo_user": .optional(process.sudoUser),
            "outcome": .text(LedgerRun.Outcome.running.rawValue), "clock_believed": .integer(1),
        ]
        values.set("as_of", report.asOf)
        values.set("started", report.started)
        values["plan_sha256"] = report.planSHA256.map { .text($0) }
        values[storeRelative] = relative.map { .text($0) }
        if let undo = report.undo {
            values["undoes"] = .text(undo.run)
            values["undo_archive"] = .text(undo.archive)
            values["undo_rules"] = .lines(undo.rules)
            values["undo_tables"] = .lines(undo.tables.map(\.name))
        }
        return values
    }

    /// The values at the end of a run.
    static func values(finishing report: RunReport) -> [String: StoreValue] {
        var values: [String: StoreValue] = [
            "outcome": .text(report.ledgerOutcome.rawValue), "exit_code": .integer(Int64(report.exitCode)),
            "pending_sources": .integer(report.hasPendingSources ? 1 : 0),
            "pending_files": .count(report.pending.files), "pending_saved": .count(report.pending.saved),
            "pending_ignored": .count(report.pending.ignored), "pending_rejected": .count(report.pending.rejected),
            "pending_problems": .lines(report.pending.problems), "expired": .count(report.expiredCount),
            "deleted": .count(report.deletedCount), "residue": .count(report.residueCount),
            "reclaimed_bytes": .integer(report.reclaimedBytes), "warnings": .lines(report.warnings),
            "failure": .optional(report.failure),
            "clock_believed": .integer(report.trustsClock ? 1 : 0),
            "store_bytes": report.storeSizeBytes.map { .integer($0) } ?? .null,
        ]
        if !report.ruleLines.isEmpty { values["rules"] = .text(report.ruleLines.joined(separator: "\n")) }
        if !report.storeNotes.isEmpty {
            let notes = report.storeNotes.sorted { $0.key < $1.key }
            values["store_notes"] = .text(notes.map { "\(SafeText.line($0.value))\t\($0.key)" }.joined(separator: "\n"))
        }
        values.set("finished", report.finished)
        if let archive = report.archive {
            values["archive"] = .text(archive.path)
            values["archive_rows"] = .count(archive.rows)
            values["archive_references"] = .count(archive.references)
            values["archive_bytes"] = archive.sizeBytes.map { .integer($0) } ?? .null
            values["archive_sha256"] = .optional(archive.sha256)
            values["archive_complete"] = .integer(archive.isComplete ? 1 : 0)
            values.set("archive_until", archive.until)
        }
        if let undo = report.undo {
            values["restored"] = .count(undo.restoredCount)
            values["restored_references"] = .count(undo.referenceCount)
            values["restored_tables"] = .lines(undo.tables.map(\.recordText))
        }
        return values
    }

    /// A rule of a run.
    static func values(of rule: RunReport.RuleReport, position: Int, runNumber: Int64) -> [String: StoreValue] {
        var values: [String: StoreValue] = [
            "run_number": .integer(runNumber), "position": .count(position), "name": .text(rule.name),
            "entity": .text(rule.entity), "date_attribute": .text(rule.dateAttribute),
            "date_format": .optional(rule.dateFormat?.rawValue), "max_age": .text(rule.maxAge),
            "outcome": .text(rule.outcome.rawValue), "refusal": .optional(rule.refusal?.rawValue),
            "message": .optional(rule.message), "accepted": .text(rule.accepted.map(\.rawValue).joined(separator: ",")),
            "rows": rule.rows.map { .count($0) } ?? .null, "expired": rule.isCounted ? .count(rule.expired) : .null,
            "kept_by_rule": .count(rule.keptByRule), "deleted": .count(rule.deleted),
            "cascaded": .count(rule.cascaded), "nullified": .count(rule.nullified),
            "unreadable": .count(rule.unreadableCount),
            "unreadable_kinds": .text(
                rule.unreadable.map { "\($0.reason.rawValue):\($0.rowCount)" }.joined(separator: ",")),
            "residue": rule.isCounted ? .count(rule.residue) : .null, "method": .optional(rule.method),
            "index_name": .optional(rule.index), "batches": .count(rule.batches),
            "elapsed_us": .integer(rule.elapsed.wholeMicroseconds), "advice": .lines(rule.advice),
            "digest": .optional(rule.digest), "entity_bytes": rule.entitySizeBytes.map { .integer($0) } ?? .null,
        ]
        if !rule.deletedByTriggers.isEmpty {
            values["deleted_by_triggers"] = .lines(
                rule.deletedByTriggers.sorted { $0.key < $1.key }.map { "\($0.value) \(SafeText.line($0.key))" })
        }
        values["refusals"] = .lines(
            rule.refusals.map { "\($0.code.rawValue) \($0.isAcceptable ? 1 : 0) \($0.message)" })
        values["archived"] = rule.archived.map { .count($0) } ?? .null
        values["held"] = .count(rule.held)
        values["late"] = rule.late.map { .count($0) } ?? .null
        values["unpriced"] = rule.unpriced.map { .count($0) } ?? .null
        values["candles_created"] = rule.candlesCreated.map { .count($0) } ?? .null
        values["candles_changed"] = rule.candlesChanged.map { .count($0) } ?? .null
        values["kept_by_hold"] = .lines(rule.keptByHold.map { "\($0.rowCount) \($0.relatedCount) \($0.hold)" })
        values["kept_by_tier"] = .lines(rule.keptByTier.map { "\($0.rowCount) \($0.unit.tierName)" })
        values.set("cutoff", rule.cutoff)
        values.set("oldest", rule.oldest)
        values.set("newest", rule.newest)
        values.set("newest_expired", rule.newestExpired)
        values.set("oldest_deleted", rule.oldestDeleted)
        values.set("newest_deleted", rule.newestDeleted)
        values.set("oldest_overdue", rule.oldestOverdue)
        return values
    }

    // MARK: From rows

    /// A run without its rules.
    static func run(_ row: [String: StoreValue]) -> LedgerRun {
        let started = row.instant("started") ?? .distantPast
        var report = RunReport(
            runID: row.string("run") ?? "", mode: row.string("mode").flatMap(RunReport.Mode.init) ?? .run,
            asOf: row.instant("as_of") ?? started, started: started, config: row.string("config") ?? "",
            configSHA256: row.string("config_sha256") ?? "", store: row.string("store") ?? "",
            engine: row.string("engine") ?? "")
        report.finished = row.instant("finished") ?? started
        report.hasPendingSources = row.int("pending_sources") == 1
        report.pending.files = row.count("pending_files") ?? 0
        report.pending.saved = row.count("pending_saved") ?? 0
        report.pending.ignored = row.count("pending_ignored") ?? 0
        report.pending.rejected = row.count("pending_rejected") ?? 0
        report.pending.problems = row.lines("pending_problems")
        report.reclaimedBytes = Int64(row.count("reclaimed_bytes") ?? 0)
        report.warnings = row.lines("warnings")
        report.failure = row.string("failure")
        report.planSHA256 = row.string("plan_sha256")
        report.storeSizeBytes = row.count("store_bytes").map(Int64.init)
        report.exitCode = Int32(clamping: row.int("exit_code") ?? 0)
        report.archive = archive(row)
        report.undo = undo(row)
        var run = LedgerRun(
            number: row.int("number") ?? 0, report: report,
            outcome: row.string("outcome").flatMap(LedgerRun.Outcome.init) ?? .crashed,
            process: LedgerProcess(
                pid: row.int("pid") ?? 0, host: row.string("host") ?? "", user: row.string("user") ?? "",
                version: row.string("version") ?? "", uid: row.int("uid"), login: row.string("login"),
                sudoUser: row.string("sudo_user")))
        run.relativeStore = row.string(storeRelative)
        return run
    }

    /// The archive of a run; nil: it made none.
    private static func archive(_ row: [String: StoreValue]) -> RunReport.Archive? {
        guard let path = row.string("archive") else { return nil }
        return RunReport.Archive(
            path: path, rows: row.count("archive_rows") ?? 0, references: row.count("archive_references") ?? 0,
            sizeBytes: row.count("archive_bytes").map(Int64.init), sha256: row.string("archive_sha256"),
            isComplete: row.int("archive_complete") == 1, until: row.instant("archive_until"))
    }

    /// What an undo restored; nil: the run is not an undo. If it has not ended, the tables are unknown.
    private static func undo(_ row: [String: StoreValue]) -> RunReport.Undo? {
        row.string("undoes").map { run in
            RunReport.Undo(
                run: run, archive: row.string("undo_archive") ?? "", rules: row.lines("undo_rules"),
                tables: row.lines("restored_tables").compactMap(RunReport.Undo.Table.init(recordText:)))
        }
    }

    /// What the store noted, by the name of the entity as the ledger has it.
    static func storeNotes(_ row: [String: StoreValue]) -> [String: String] {
        let notes = row.lines("store_notes").compactMap { line -> (String, String)? in
            let parts = line.split(separator: "\t", maxSplits: 1)
            return parts.count == 2 ? (String(parts[1]), String(parts[0])) : nil
        }
        return Dictionary(notes) { first, _ in first }
    }

    /// A rule of a run.
    static func rule(_ row: [String: StoreValue]) -> RunReport.RuleReport {
        var rule = RunReport.RuleReport(
            name: row.string("name") ?? "", entity: row.string("entity") ?? "",
            dateAttribute: row.string("date_attribute") ?? "",
            dateFormat: row.string("date_format").flatMap(DateEncoding.init), maxAge: row.string("max_age") ?? "",
            cutoff: row.instant("cutoff") ?? .distantPast,
            outcome: row.string("outcome").flatMap(RunReport.Outcome.init) ?? .failed)
        rule.refusal = row.string("refusal").flatMap(RefusalCode.init(recorded:))
        rule.message = row.string("message")
        rule.refusals = row.lines("refusals").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 2)
            guard parts.count == 3, let code = RefusalCode(recorded: String(parts[0])) else { return nil }
            return RefusalReport(code: code, message: String(parts[2]), isAcceptable: parts[1] == "1")
        }
        rule.accepted = (row.string("accepted") ?? "").split(separator: ",").compactMap { .init(recorded: String($0)) }
        rule.rows = row.count("rows")
        rule.expired = row.count("expired") ?? 0
        rule.keptByRule = row.count("kept_by_rule") ?? 0
        rule.deleted = row.count("deleted") ?? 0
        rule.archived = row.count("archived")
        rule.late = row.count("late")
        rule.unpriced = row.count("unpriced")
        rule.candlesCreated = row.count("candles_created")
        rule.candlesChanged = row.count("candles_changed")
        rule.cascaded = row.count("cascaded") ?? 0
        rule.nullified = row.count("nullified") ?? 0
        for line in row.lines("deleted_by_triggers") {
            let parts = line.split(separator: " ", maxSplits: 1)
            if parts.count == 2, let count = Int(parts[0]) { rule.deletedByTriggers[String(parts[1])] = count }
        }
        rule.keptByHold = row.lines("kept_by_hold").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 2)
            guard parts.count == 3, let rows = Int(parts[0]), let related = Int(parts[1]) else { return nil }
            return .init(
                hold: String(parts[2]), rowCount: min(max(0, rows), 1 << 48),
                relatedCount: min(max(0, related), 1 << 48))
        }
        // Earlier versions recorded only the rows of each hold.
        rule.held = row.count("held") ?? (rule.keptByHold.count == 1 ? rule.keptByHold[0].rowCount : 0)
        rule.keptByTier = row.lines("kept_by_tier").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let rows = Int(parts[0]), let unit = CalendarUnit(tierName: String(parts[1])) else {
                return nil
            }
            return .init(unit: unit, rowCount: min(max(0, rows), 1 << 48))
        }
        rule.unreadable = (row.string("unreadable_kinds") ?? "").split(separator: ",").compactMap { kind in
            let parts = kind.split(separator: ":")
            guard parts.count == 2, let reason = Survey.Unreadable(rawValue: String(parts[0])),
                let count = Int(parts[1])
            else { return nil }
            return .init(reason: reason, rowCount: min(max(0, count), 1 << 48), example: .null)
        }
        rule.isCounted = row.count("residue") != nil
        rule.residue = row.count("residue") ?? 0
        rule.oldest = row.instant("oldest")
        rule.newest = row.instant("newest")
        rule.newestExpired = row.instant("newest_expired")
        rule.oldestDeleted = row.instant("oldest_deleted")
        rule.newestDeleted = row.instant("newest_deleted")
        rule.oldestOverdue = row.instant("oldest_overdue")
        rule.digest = row.string("digest")
        rule.entitySizeBytes = row.count("entity_bytes").map(Int64.init)
        rule.method = row.string("method")
        rule.index = row.string("index_name")
        rule.batches = row.count("batches") ?? 0
        rule.elapsed = Duration(wholeMicroseconds: Int64(row.count("elapsed_us") ?? 0))
        rule.advice = row.lines("advice")
        return rule
    }
}

extension RunReport.Undo.Table {
    /// The counts and the name: `archived restored present skipped references changed name`; what was not counted is `-`. Behind
    /// `changed` are candles, if there are any: `changed,restored,deleted`.
    fileprivate var recordText: String {
        ([archived, restored, present, skipped + skippedReferences, references].map { String($0) } + [
            (changed.map { String($0) } ?? "-")
                + (restoredCandles + deletedCandles == 0 ? "" : ",\(restoredCandles),\(deletedCandles)"), name,
        ])
        .joined(separator: " ")
    }

    fileprivate init?(recordText: String) {
        let parts = recordText.split(separator: " ", maxSplits: 6, omittingEmptySubsequences: false)
        let counts = parts.prefix(5).compactMap { Int($0) }.map { Swift.min(Swift.max(0, $0), 1 << 48) }
        guard parts.count == 7, counts.count == 5 else { return nil }
        self.init(name: String(parts[6]))
        (archived, restored, present, skipped, references) = (counts[0], counts[1], counts[2], counts[3], counts[4])
        let others = parts[5].split(separator: ",").map { Int($0).map { Swift.min(Swift.max(0, $0), 1 << 48) } }
        changed = others.first ?? nil
        if others.count == 3 { (restoredCandles, deletedCandles) = (others[1] ?? 0, others[2] ?? 0) }
    }
}

extension StoreValue {
    fileprivate static func count(_ number: Int) -> StoreValue { .integer(Int64(number)) }
    fileprivate static func optional(_ text: String?) -> StoreValue { text.map { .text($0) } ?? .null }
    /// Several texts in one, each on its line.
    fileprivate static func lines(_ texts: [String]) -> StoreValue {
        texts.isEmpty ? .null : .text(texts.map(SafeText.line).joined(separator: "\n"))
    }
}

extension [String: StoreValue] {
    fileprivate mutating func set(_ name: String, _ instant: Instant?) {
        self[name] = instant.map { .text($0.rfc3339) } ?? .null
        self[name + "_us"] = instant.map { .integer($0.microseconds) } ?? .null
    }

    fileprivate func string(_ name: String) -> String? {
        guard case .text(let text) = self[name] else { return nil }
        return text
    }

    fileprivate func int(_ name: String) -> Int? {
        guard case .integer(let number) = self[name] else { return nil }
        return Int(number)
    }

    /// A number of rows or bytes, or a duration. A wrong number in the ledger must not overflow a sum.
    fileprivate func count(_ name: String) -> Int? { int(name).map { Swift.min(Swift.max(0, $0), 1 << 48) } }

    fileprivate func instant(_ name: String) -> Instant? {
        int(name + "_us").map { Instant(microseconds: Int64($0)) }
    }

    func lines(_ name: String) -> [String] {
        (string(name) ?? "").split(separator: "\n").map(String.init)
    }
}
