package import PriceStore
package import RetentionPolicy

/// Schema `retention.run/1`. Field names and their order never change within it; new fields come at the end of their object.
extension RunReport: Reported {
    package static let fields: ReportFields<Self> = [
        .computed("schema") { _ in "retention.run/1" },
        .stored("run", \.runID.known, .start), .stored("mode", \.mode, .start), .stored("as_of", \.asOf, .start),
        .stored("started", \.started, .start), .stored("finished", \.finished), .stored("config", \.config, .start),
        .stored("config_sha256", \.configSHA256, .start), .stored("store", \.store, .start),
        .stored("engine", \.engine.known, .start),
        .group(
            "pending",
            [
                .stored("files", \.pending.files, column: "pending_files"),
                .stored("saved", \.pending.saved, column: "pending_saved"),
                .stored("ignored", \.pending.ignored, column: "pending_ignored"),
                .stored(
                    "rejected", \.pending.rejected, column: "pending_rejected",
                    metric: ("run_rejected_lines", "Bad lines of pending files in the last run.")),
                .stored("problems", \.pending.problems, column: "pending_problems"),
            ]),
        .unrecorded("rules", isKnown: true) { .array($0.rules.map(\.json)) },
        .group(
            "totals",
            [
                .computed("expired", column: "expired", .log) { $0.countedExpired },
                .computed("deleted", column: "deleted", .log) { $0.deletedCount },
                .computed("residue", column: "residue", .log) { $0.countedResidue },
                .computed("cascaded", column: "cascaded", .log) { $0.cascadedCount },
                .computed("archived", column: "archived", .log) { $0.archivedCount ?? 0 },
                .computed("nullified", column: "nullified", .log) { $0.sum(\.done.nullified) },
                .computed("trigger_deleted", column: "trigger_deleted", .log) { $0.triggerDeletedCount },
            ]),
        .stored(
            "reclaimed_bytes", \.reclaimedBytes, .log,
            metric: ("run_reclaimed_bytes", "By how much the last run made the store smaller.")),
        .stored("exit_code", \.exitCode, .log, metric: ("run_exit_code", "The exit code of the last run.")),
        .stored("warnings", \.warnings), .stored("failure", \.failure),
        .stored("store_bytes_before", \.storeBytesBefore),
        .stored("store_bytes", \.storeSizeBytes, metric: ("store_bytes", "The size of the store after the last run.")),
        ledgerHash,
        .object("archive", \.archive, blank: Archive(path: "", rows: 0, isComplete: false)),
        .object("undo", \.undo, blank: Undo(run: "", archive: "", rules: [], tables: [])),
        .unrecorded("holds") { report in
            let holds = report.holds?.map { hold -> JSONText in
                [
                    "name": hold.name.json, "entity": hold.entity.json, "reason": hold.reason.json,
                    "expires": hold.expires.json, "state": hold.state.rawValue.json,
                    "kept": report.keptCount(of: hold.name).json,
                ]
            }
            return holds.map(JSONText.array) ?? .null
        },
        .stored("plan_sha256", \.planSHA256, .start),
        .computed("outcome", .log) { $0.runOutcome },
        .computed("seconds", .log, metric: ("run_duration_seconds", "How long the last run took.")) { report in
            report.unknown.contains("finished") ? nil : report.finished.since(report.started)
        },
        waited,
        .stored("only_rules", \.onlyRules.known, .start),
    ]

    private static let ledgerHash: ReportField<Self> = {
        var field: ReportField<Self> = .unrecorded("ledger_hash", .log) { $0.ledgerHash.json }
        // The chain of the ledger has recorded it.
        field.read = { report, row in
            report.ledgerHash = String("hash", of: row)
            return report.ledgerHash != nil
        }
        return field
    }()

    private static let waited: ReportField<Self> = {
        var field: ReportField<Self> = .stored("waited", \.waits)
        field.json = { report in
            .array(
                report.waits.sorted { $0.key < $1.key }.map { reason, microseconds in
                    ["reason": reason.json, "seconds": Duration(wholeMicroseconds: Int64(microseconds)).json]
                })
        }
        return field
    }()

}

extension RangeReplaceableCollection {
    /// Nil: it is empty, as the ID and the engine of a run that could not begin.
    fileprivate var known: Self? {
        get { isEmpty ? nil : self }
        set { self = newValue ?? Self() }
    }
}

extension RunReport.Mode: WordValue {}
extension RunReport.RunOutcome: WordValue {}
extension TriggerChoice: WordValue {}

extension RunReport.Archive: Reported {
    package static let fields: ReportFields<Self> = [
        .stored("path", \.path, column: "archive"), .stored("rows", \.rows, column: "archive_rows"),
        .stored("references", \.references, column: "archive_references"),
        .stored("archive_bytes", \.sizeBytes), .stored("sha256", \.sha256, column: "archive_sha256"),
        .stored("complete", \.isComplete, column: "archive_complete"),
        .stored("until", \.until, column: "archive_until"),
    ]
}

extension RunReport.Undo: Reported {
    package static let fields = ReportFields<Self>(
        [
            .stored("run", \.run, column: "undoes", .start),
            .stored("archive_path", \.archive, column: "undo_archive", .start),
            .stored("rule_names", \.rules, column: "undo_rules", .start),
        ]
            + Table.counts.map { name, path in
                .computed(name, column: "undo_" + name, .log) { $0.tables.reduce(0) { $0 + $1[keyPath: path] } }
            } + [
                .stored("unarchived", \.unarchived, column: "undo_unarchived"),
                .stored("triggers", \.triggers, column: "undo_triggers"),
                .stored("trigger_choice", \.triggerChoice, column: "undo_trigger_choice"),
                .unrecorded("by_triggers") {
                    .array(
                        $0.byTriggers.filter { !$1.isEmpty }.sorted { $0.key < $1.key }.map { name, rows in
                            [
                                "table": name.json, "inserted": rows.insertedCount.json,
                                "changed": rows.changedCount.json, "deleted": rows.deletedCount.json,
                            ]
                        })
                },
                .stored("tables", \.tables, column: "restored_tables"),
                .unrecorded("skipped_rows") {
                    .array(
                        $0.skippedRows.map { row in
                            let key = JSONText.strings(row.key.map { SafeText.example($0) })
                            return ["table": row.table.json, "key": key, "reason": row.reason.json]
                        })
                },
                .unrecorded("waiting") {
                    .array($0.waiting.map { ["rule": $0.rule.json, "reason": $0.reason.json] })
                },
            ])
}

extension RunReport.Undo.Unarchived: LineValue {
    package var json: JSONText { ["rule": rule.json, "rows": rows.json] }
    package var line: String { "\(rows) \(rule)" }
    package init?(line: String) {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let rows = Int(counted: parts[0]) else { return nil }
        self.init(rule: String(parts[1]), rows: rows)
    }
}

extension RunReport.Undo.Table: LineValue {
    /// The counts of each table.
    package static let counts: [(name: String, path: any WritableKeyPath<Self, Int> & Sendable)] = [
        ("archived", \.archived), ("restored", \.done.restoredCount), ("present", \.done.presentCount),
        ("skipped", \.done.skippedCount), ("references", \.done.referenceCount),
        ("skipped_references", \.done.skippedReferenceCount), ("candles_restored", \.done.restoredCandleCount),
        ("candles_deleted", \.done.deletedCandleCount),
    ]

    package var json: JSONText {
        .object(
            [.init("name", name.json)] + Self.counts.map { .init($0, self[keyPath: $1].json) }
                + [.init("changed", changed.json)])
    }

    /// The counts, `changed` or `-`, and the name.
    package var line: String {
        (Self.counts.map { "\(self[keyPath: $0.path])" } + [changed.map { "\($0)" } ?? "-", name]).joined(
            separator: " ")
    }

    package init?(line: String) {
        let parts = line.split(separator: " ", maxSplits: Self.counts.count + 1, omittingEmptySubsequences: false)
        guard let name = parts.last, parts.count == Self.counts.count + 2 else { return nil }
        self.init(name: String(name))
        for (count, part) in zip(Self.counts, parts) {
            guard let number = Int(counted: part) else { return nil }
            self[keyPath: count.path] = number
        }
        changed = Int(counted: parts[Self.counts.count])
    }
}
