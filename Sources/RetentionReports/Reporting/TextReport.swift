import PriceStore
package import RetentionJob
import RetentionPolicy

extension RunReport.Archive {
    /// The archive in words: `58,240 rows in archive/01KA….sqlite, 12.3 MiB, kept until …`.
    var text: String {
        // The rows that a crashed run archived were not counted.
        var parts = [isComplete || rows > 0 ? "\(Figures.count(rows, "row")) in \(path)" : path]
        if references > 0 { parts.append(Figures.count(references, "old value") + " of references") }
        if let sizeBytes { parts.append(Figures.bytes(sizeBytes)) }
        guard isComplete else {
            return parts.joined(separator: ", ") + "; it has no SHA-256, and undo restores all rows in it"
        }
        parts.append(until.map { "kept until \(Figures.instant($0.toSecond))" } ?? "kept forever")
        return parts.joined(separator: ", ")
    }
}

/// The report of a run or a dry run for people.
package struct TextReport {
    private let report: RunReport
    private let host: String?
    private let layout: TextLayout
    private let isOneOfMany: Bool
    private let tellsLeft: Bool
    /// The commands that accept refusals, by their options; empty: they are not shown.
    private let commands: [[String]: String]
    /// The rules as they are shown.
    private let rules: [RunReport.RuleReport]
    /// Advice that is the same for several refused rules, with their names.
    private let remedies: [(text: String, names: [String])]
    /// The rules whose reason is that of another one.
    private let sameReasons: [String: RunReport.RuleReport]

    /// Makes the text form of a report.
    ///
    /// - Parameters:
    ///   - host: the machine that carried out the run; nil: it is not shown.
    ///   - isOneOfMany: whether what is said of a first run is said once for all stores, not here.
    ///   - tellsLeft: whether what the run left is said; an undo has changed that.
    ///   - showsCommands: whether the commands that accept refusals are shown; those of an earlier run may be solved.
    package init(
        _ report: RunReport, host: String? = nil, _ layout: TextLayout = TextLayout(), isOneOfMany: Bool = false,
        tellsLeft: Bool = true, showsCommands: Bool = true
    ) {
        (self.report, self.host, self.layout, self.isOneOfMany) = (report, host, layout, isOneOfMany)
        (self.tellsLeft, commands) = (tellsLeft, showsCommands ? report.acceptances : [:])
        let rules = report.rules.inFamilies
        sameReasons = rules.sameReasons
        (self.rules, remedies) = rules.sayingOnce
    }

    /// The whole report, ending with a line end.
    package var text: String {
        var lines = header
        lines += pendingLines
        if !rules.isEmpty { lines += [""] + table.lines(layout) }
        lines += remedies.flatMap { layout.note($0.names.joined(separator: ", "), $0.text, .bad) }
        lines += notes
        lines += report.rules.flatMap(sample)
        if let archive = report.archive {
            lines += layout.note("archive", archive.text, archive.isComplete ? .plain : .caution)
        }
        lines += Self.waited([report], layout)
        lines += report.warnings.flatMap { layout.note("warning", $0, .caution) }
        if let failure = report.failure { lines += layout.note("failure", failure, .bad) }
        if !isDryRun, report.exitCode != 0 {
            let codes = report.rules.flatMap(\.refusalCodes).map(\.rawValue).unique
            let explained = (codes.isEmpty ? ["\(report.exitCode)"] : codes).map { "retention explain \($0), " }
            lines += layout.note("help", explained.joined() + "man retention, man retention-run", .plain)
        }
        lines += isOneOfMany ? [] : FirstRun([report]).lines(layout)
        lines += TextWidth.wrap(closing, width: layout.width)
        return lines.joined(separator: "\n") + "\n"
    }

    /// What runs waited for, a second or more; empty: for nothing.
    package static func waited(_ reports: [RunReport], _ layout: TextLayout) -> [String] {
        func length(_ waited: Int) -> String { Figures.duration(Duration(wholeMicroseconds: Int64(waited))) }
        let waits = reports.reduce(into: [:]) { $0.merge($1.waits, uniquingKeysWith: +) }
        let waited = waits.values.reduce(0, +)
        guard waited >= 1_000_000 else { return [] }
        let parts = waits.sorted { $0.value > $1.value }.map { "\($0.key) \(length($0.value))" }
        return layout.note("waited", "\(length(waited)): \(parts.joined(separator: ", "))", .plain)
    }

    /// What was done, in one line.
    package var summary: String { "\(closing) \(report.store), run \(report.runID)" }

    private var isDryRun: Bool { report.mode == .dryRun }

    // MARK: Head

    private var header: [String] {
        let config = report.config.split(separator: "/").last.map(String.init) ?? report.config
        // A run that could not begin may have no ID.
        let run = [report.runID, host.map { "on \($0)" } ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
        return layout.heading(
            isDryRun ? "dry run" : "run",
            (isDryRun || run.isEmpty ? [] : [run]) + [
                report.store, "as of " + Figures.instant(report.asOf), "\(config) \(report.configSHA256.prefix(8))",
            ])
    }

    private var pendingLines: [String] {
        let pending = report.pending
        // What was imported before an error ended the run is not known.
        guard pending != RunReport.Pending() || report.hasPendingSources && report.failure == nil else { return [] }
        let verb = isDryRun ? "would be imported" : "imported"
        var line = "nothing \(verb)"
        if pending.files + pending.saved + pending.ignored + pending.rejected > 0 {
            var parts = [Figures.count(pending.files, "file"), "\(Figures.count(pending.saved, "row")) \(verb)"]
            if pending.ignored > 0 { parts.append("\(Figures.grouped(pending.ignored)) already there") }
            if pending.rejected > 0 { parts.append(Figures.count(pending.rejected, "bad line")) }
            line = parts.joined(separator: ", ")
        }
        return layout.entry("pending", line, width: layout.width)
            + pending.problems.flatMap { layout.note("pending", $0, .bad) }
    }

    // MARK: Table

    private var table: TextTable {
        var columns: [TextTable.Column] = [
            .init("RULE"), .init("ENTITY", leaving: 9), .init("DATE ATTRIBUTE", leaving: 9),
            .init("MAX AGE", leaving: 3), .init("CUTOFF (UTC)", leaving: 5, label: "cutoff"),
            .init("ROWS", .right, leaving: 4), .init("EXPIRED", .right), .init("", .right),
        ]
        if !isDryRun {
            columns += [
                .init("DELETED", .right, isAlwaysShown: true), .init("ARCHIVED", .right, leaving: 2),
                .init("RESIDUE", .right), .init("BATCHES", .right, leaving: 7), .init("TIME", .right, leaving: 6),
            ]
        }
        columns.append(.init("OUTCOME"))
        return TextTable(columns: columns, rows: rules.map(row))
    }

    private func row(_ rule: RunReport.RuleReport) -> TextTable.Row {
        // What repeats is left out.
        let entity = rule.entity == rule.name ? "" : rule.entity
        var cells = [rule.name, entity, rule.dateAttribute, rule.maxAge].map(SafeText.line)
        guard Self.showsFigures(rule) else {
            // No reason stands under the heading of a figure.
            cells += Array(repeating: "", count: isDryRun ? 4 : 9) + [rule.outcome.rawValue]
            if !isDryRun, rule.outcome == .refused { cells[8] = "0" }
            return .init(
                cells: cells, messages: rule.outcome == .refused ? [refusal(rule)] : [], style: rule.outcome.style)
        }
        cells += [
            Review.time(rule.cutoff), rule.planned.rows.map { Figures.grouped($0) } ?? "",
            Figures.grouped(rule.planned.expired),
            rule.planned.expired > 0
                ? rule.planned.rows.flatMap { Figures.percent(rule.planned.expired, of: $0) } ?? "" : "",
        ]
        if isDryRun {
            let outcome = rule.outcome == .refused ? rule.outcome.rawValue : ""
            return .init(cells: cells + [outcome], style: outcome.isEmpty ? .plain : .bad)
        }
        cells += [
            Figures.grouped(rule.done.deleted), rule.done.archived.map { Figures.grouped($0) } ?? "",
            rule.left.expired > 0 ? Figures.grouped(rule.left.expired) : "",
            rule.done.batches > 0 ? Figures.grouped(rule.done.batches) : "",
            rule.done.batches > 0 ? Figures.duration(rule.done.elapsed) : "", rule.outcome.rawValue,
        ]
        return .init(cells: cells, style: rule.outcome.style)
    }

    /// Whether a row has figures: a refused rule has the reason instead, but not the sums of several tables.
    private static func showsFigures(_ rule: RunReport.RuleReport) -> Bool {
        rule.outcome == .refused ? rule.refusalCodes.isEmpty && rule.planned.isCounted : rule.outcome != .disabled
    }

    private func refusal(_ rule: RunReport.RuleReport) -> String {
        if let first = sameReasons[rule.name], let code = rule.refusal {
            return "refused for the same reason as \(SafeText.line(first.name)) (\(code.rawValue))"
        }
        var text = SafeText.line(rule.message ?? "no reason was given")
        if !text.lowercased().hasPrefix("refus") { text = "refused: " + text }
        if let code = rule.refusal, !text.contains(code.rawValue) { text += " (\(code.rawValue))" }
        return rule.withoutOption(text)
    }

    // MARK: Notes

    /// The rows before the cutoff that `keep_last` and `thin` keep, as a sentence; nil: none.
    private static func kept(_ rule: RunReport.RuleReport) -> String? {
        guard rule.kept.byRuleCount > 0 else { return nil }
        let rows = "\(Figures.count(rule.kept.byRuleCount, "row")) before the cutoff kept by"
        if rule.planned.keepsForOthers {
            let own = rule.kept.byTier.isEmpty ? "" : "; this one keeps \(Figures.tiers(rule.kept.byTier))"
            return rows + " keep_last and thin of this rule and others" + own
        }
        guard !rule.kept.byTier.isEmpty else { return rows + " keep_last" }
        let isMore = rule.kept.byTier.reduce(0) { $0 + $1.rowCount } != rule.kept.byRuleCount
        return rows + (isMore ? " keep_last and thin" : " thin") + ": keeps \(Figures.tiers(rule.kept.byTier))"
    }

    /// The candles that the rows became, as a sentence; nil: none.
    private func candles(_ rule: RunReport.RuleReport) -> String? {
        let (created, changed) = (rule.candles.created ?? 0, rule.candles.changed ?? 0)
        guard created + changed > 0 else { return nil }
        let verb = isDryRun ? " would be" : ""
        return "\(Figures.count(created, "candle"))\(verb) created, \(Figures.grouped(changed)) changed"
    }

    /// The sentences about the rules. One that is the same for several rules is there once, with their names and its statements.
    private var notes: [String] {
        var found: [(names: [String], text: String, statements: [String], style: Style)] = []
        var places: [String: Int] = [:]
        // The tables with such rows are shown.
        let families = Set(rules.compactMap(\.family))
        for var rule in rules {
            if families.contains(rule.name) { (rule.planned.unreadable, rule.remembered.late) = ([], nil) }
            for (sentence, style) in sentences(rule) {
                let start = sentence.firstRange(of: "CREATE INDEX ")?.lowerBound ?? sentence.endIndex
                let (text, statement) = (String(sentence[..<start]), String(sentence[start...]))
                // What continues the line above stays there.
                let key = text.hasPrefix("nor ") ? "\(rule.name): \(text)" : text
                let place = places[key] ?? found.count
                if place == found.count { found.append(([], text, [], style)) }
                found[place].names.append(rule.name)
                if !found[place].statements.contains(statement) { found[place].statements.append(statement) }
                places[key] = place
            }
        }
        let commands = Set(commands.values)
        return found.flatMap { names, text, statements, style -> [String] in
            let each = names.count > 1 && text.contains(where: \.isNumber) && !commands.contains(text) ? ", each" : ""
            let label = names.joined(separator: ", ") + each
            guard statements.count > 1 else { return layout.note(label, text + statements.joined(), style) }
            return layout.note(label, text, style) + statements.map { "  " + SafeText.line($0) }
        }
    }

    private func sentences(_ rule: RunReport.RuleReport) -> [(text: String, style: Style)] {
        var found: [(text: String, style: Style)] = []
        func note(_ text: String, _ style: Style) { found.append((text, style)) }
        if let message = rule.message, Self.showsFigures(rule), !isFailure(message) {
            note(message, rule.outcome.style)
        }
        for text in rule.otherRefusalTexts { note(rule.withoutOption(text), .bad) }
        if let command = rule.acceptOptions.flatMap({ commands[$0] }) { note(command, .plain) }
        if let sentence = method(rule) { note(sentence, .plain) }
        if !rule.accepted.isEmpty {
            let codes = rule.accepted.map(\.rawValue).joined(separator: ", ")
            let isRefused = rule.outcome == .refused
            note("accepted\(isRefused ? ", which is not enough" : " although it would be refused"): \(codes)", .caution)
        }
        for rows in rule.planned.unreadable {
            let example = rows.example.isNull ? "" : ", as \(SafeText.example(rows.example))"
            let count = Figures.count(rows.rowCount, "unreadable row")
            note("\(count) kept: \(rows.reason.reportPhrase)\(example)", .caution)
        }
        if let sentence = candles(rule) { note(sentence, .plain) }
        if let unpriced = rule.candles.unpriced, unpriced > 0 {
            note("\(Figures.count(unpriced, "row")) before the cutoff kept: no price", .caution)
        }
        if let sentence = Self.kept(rule) { note(sentence, .plain) }
        for (group, date) in rule.planned.silent?.newest ?? [] {
            note("no new row of \(group) since \(Figures.instant(date.toSecond))", .caution)
        }
        let more = rule.planned.silent.map { $0.count - $0.newest.count } ?? 0
        if more > 0 {
            let least = rule.planned.silent?.isCut == true ? "at least " : ""
            note("nor of \(least)\(Figures.count(more, "other group")) of keep_last", .caution)
        }
        for kept in rule.kept.byHold where kept.rowCount > 0 {
            note(Self.kept(kept), .plain)
        }
        if let late = rule.remembered.late, late > 0, rule.outcome != .refused {
            note(
                "\(Figures.count(late, "expired row")) came back or arrived late: an earlier run had left none of that age",
                .caution)
        }
        if rule.done.cascaded > 0 {
            let verb = isDryRun ? "would be cascaded" : "cascaded"
            note("\(Figures.count(rule.done.cascaded, "related row")) \(verb)", .plain)
        }
        if rule.done.nullified > 0 {
            let verb = isDryRun ? "would be nullified" : "nullified"
            note("\(Figures.count(rule.done.nullified, "reference")) \(verb)", .plain)
        }
        for text in triggers(rule) { note(text, .caution) }
        if let forecast = rule.planned.forecast, forecast.nextDay + forecast.nextWeek > 0 {
            note(
                "\(Figures.count(forecast.nextDay, "row")) will expire within 24 hours, "
                    + "\(Figures.grouped(forecast.nextWeek)) in the 7 days after", .plain)
        }
        for text in rule.advice { note("advice: " + text, .plain) }
        return found
    }

    /// Whether a message of a rule has the same cause as the failure of the run, which is shown.
    private func isFailure(_ message: String) -> Bool {
        func cause(_ text: String) -> Substring { text[..<(text.ranges(of: "; ").last?.lowerBound ?? text.endIndex)] }
        return report.failure.map { cause($0) == cause(message) } ?? false
    }

    /// The requested rows, in one table with the columns of the store.
    private func sample(_ rule: RunReport.RuleReport) -> [String] {
        guard let sample = rule.planned.sample else { return [] }
        // A refused rule deletes nothing.
        let isRefused = rule.outcome == .refused
        let state = isRefused ? "expired" : "deleted"
        let groups = [(state, sample.oldest), (state, sample.newest), ("kept", sample.kept)]
        let rows = groups.flatMap { state, rows in
            rows.map { row in TextTable.Row(cells: [state] + row.map { SafeText.example($0) }) }
        }
        let name = SafeText.line(rule.name)
        guard !rows.isEmpty else { return ["", "\(name): no row to show"] }
        let columns = sample.columns.map { TextTable.Column(SafeText.line($0), isAlwaysShown: true) }
        let table = TextTable(columns: [.init(isRefused ? "IS" : "WOULD BE")] + columns, rows: rows)
        let rowWords = isRefused ? "expired rows" : "rows to delete"
        let title = "\(name): oldest and newest \(rowWords), first rows to keep"
        return [""] + TextWidth.fit(title, width: layout.width, indent: 4) + table.lines(layout)
    }

    /// The rows that a hold keeps, and why if they are not held themselves.
    private static func kept(_ count: Survey.HeldCount) -> String {
        let related =
            count.relatedCount == 0
            ? ""
            : count.relatedCount == count.rowCount
                ? ", because held rows would be deleted with \(count.rowCount == 1 ? "it" : "them")"
                : ", \(Figures.grouped(count.relatedCount)) of them because held rows would be deleted with them"
        return "\(Figures.count(count.rowCount, "expired row")) kept by the hold \(count.hold)\(related)"
    }

    /// The effects of the store's own triggers.
    private func triggers(_ rule: RunReport.RuleReport) -> [String] {
        guard isDryRun else {
            let counts = rule.done.byTriggers.sorted { $0.key < $1.key }.map {
                "\(Figures.count($0.value, "row")) of \($0.key)"
            }
            return counts.isEmpty ? [] : ["triggers of the store deleted \(counts.listed("and"))"]
        }
        guard rule.planned.expired > 0, !rule.planned.triggers.isEmpty else { return [] }
        return [
            "also fires the \(rule.planned.triggers.count == 1 ? "trigger" : "triggers") \(rule.planned.triggers.listed("and")), which may "
                + "change other rows; that is not counted"
        ]
    }

    /// Why another method than the usual one is used, and how long the store was locked, as a sentence; nil: neither is shown.
    private func method(_ rule: RunReport.RuleReport) -> String? {
        guard rule.planned.expired > 0 else { return nil }
        var parts = [rule.method.reason].compactMap(\.self)
        if let lock = rule.done.lockElapsed, lock >= Self.shortestShownLock {
            parts.append("the store was locked for \(Figures.duration(lock))")
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    /// Shorter locks are not shown.
    private static let shortestShownLock = Duration.milliseconds(50)

    // MARK: Closing sentence

    /// What was done and what is left, ending with a full stop.
    var closing: String {
        let exit = report.exitCode == 0 ? "" : " (exit \(report.exitCode))"
        let refused = report.rules.count { $0.outcome == .refused }
        let failed = report.rules.count { $0.outcome == .failed }
        let rejected = report.pending.rejected
        var parts: [String] = []
        if refused > 0 { parts.append("\(Figures.count(refused, "rule")) refused") }
        if failed > 0 { parts.append("\(Figures.count(failed, "rule")) failed") }
        parts += report.pending.refused
        if isDryRun {
            guard report.failure == nil else {
                return report.rules.isEmpty
                    ? "Nothing was changed, and nothing was counted\(exit)."
                    : "Nothing was changed. A run would fail\(exit)."
            }
            // A refused rule deletes nothing.
            let planned = report.rules.filter { $0.outcome == .planned }
            let expired = planned.reduce(0) { $0 + $1.planned.expired }
            let cascaded = planned.reduce(0) { $0 + $1.done.cascaded }
            let deleted = expired == 0 ? "no rows" : Figures.count(expired + cascaded, "row")
            let archived = planned.reduce(0) {
                $0 + ($1.done.archived == nil ? 0 : $1.planned.expired + $1.done.cascaded)
            }
            let verb = archived > 0 && archived == expired + cascaded ? "archive and delete" : "delete"
            parts = ["\(verb) \(deleted)" + Self.shares(expired: expired, cascaded: cascaded)]
            if verb == "delete", archived > 0 { parts.append("archive \(Figures.grouped(archived)) of them") }
            if refused > 0 { parts.append("refuse \(Figures.count(refused, "rule"))") }
            if rejected > 0 { parts.append("reject \(Figures.count(rejected, "pending line"))") }
            return "Nothing was changed. A run would \(parts.listed("and"))\(exit)."
        }
        parts += tellsLeft ? left : []
        let (cascaded, byTriggers) = (report.cascadedCount, report.triggerDeletedCount)
        let total = report.deletedCount + cascaded + byTriggers
        let deleted =
            (total == 0 ? "no rows" : Figures.count(total, "row"))
            + Self.shares(expired: report.deletedCount, cascaded: cascaded, byTriggers: byTriggers)
        let time = Figures.duration(report.finished.since(report.started))
        let tail = parts.isEmpty ? "" : "; " + parts.listed("and")
        var reclaimed = ""
        if report.reclaimedBytes > 0 {
            reclaimed = " Reclaimed \(Figures.bytes(report.reclaimedBytes))"
            reclaimed += report.storeSizeBytes.map { "; the store has \(Figures.bytes($0))" } ?? ""
            reclaimed += "."
        }
        return "Deleted \(deleted) in \(time)\(tail)\(exit)." + reclaimed
    }

    /// The expired rows that are in the store after the run.
    private var left: [String] {
        func text(_ count: Int, _ participle: String) -> String {
            "\(Figures.count(count, "expired row", "is", "are")) \(participle)"
        }
        var parts: [String] = []
        if report.residueCount > 0 {
            parts.append(text(report.residueCount, report.isWhollyCounted ? "left" : "left where they were counted"))
        }
        let held = report.rules.filter { $0.kept.heldCount > 0 || $0.kept.byHold.contains { $0.rowCount > 0 } }
        if !held.isEmpty {
            // A row counts for each rule that would delete it.
            let isExact = Set(held.map(\.entity)).count == held.count && held.allSatisfy { $0.kept.heldCount > 0 }
            parts.append(isExact ? text(report.heldCount, "held") : "expired rows are held")
        }
        let isDone =
            report.failure == nil && report.rules.allSatisfy { $0.outcome != .refused && $0.outcome != .failed }
        let rest = report.onlyRules.isEmpty ? "" : " of \(report.onlyRules.map(SafeText.line).listed("and"))"
        return parts.isEmpty && isDone ? ["no expired row\(rest) is left"] : parts
    }

    /// The kinds of deleted rows, if there is more than one: ` (12 expired, 30 by cascades)`.
    private static func shares(expired: Int, cascaded: Int, byTriggers: Int = 0) -> String {
        guard cascaded + byTriggers > 0 else { return "" }
        var parts = ["\(Figures.grouped(expired)) expired"]
        if cascaded > 0 { parts.append("\(Figures.grouped(cascaded)) by cascades") }
        if byTriggers > 0 { parts.append("\(Figures.grouped(byTriggers)) by triggers") }
        return " (\(parts.joined(separator: ", ")))"
    }
}
