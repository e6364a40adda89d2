import PriceStore
package import RetentionJob
import RetentionPolicy

/// The report of a run as JSON, schema `retention.run/1`. Field names and their order never change within it; new
/// fields come at the end of their object.
package struct JSONReport {
    private let report: RunReport

    /// Makes the JSON form of a report.
    package init(_ report: RunReport) {
        self.report = report
    }

    /// The document, ending with a line end.
    package var text: String { value.document + "\n" }

    /// The document as a value.
    package var value: JSONText {
        .object([
            .init("schema", .string("retention.run/1")),
            .init("run", report.runID.isEmpty ? .null : .string(report.runID)),
            .init("mode", .string(report.mode.rawValue)),
            .init("as_of", .optional(report.asOf)),
            .init("started", .optional(report.started)),
            .init("finished", .optional(report.finished)),
            .init("config", .string(report.config)),
            .init("config_sha256", .string(report.configSHA256)),
            .init("store", .string(report.store)),
            .init("engine", report.engine.isEmpty ? .null : .string(report.engine)),
            .init("pending", pending),
            .init("rules", .array(report.rules.map(rule))),
            .init(
                "totals",
                .object([
                    .init("expired", .count(report.expiredCount)),
                    .init("deleted", .count(report.deletedCount)),
                    .init("residue", .count(report.residueCount)),
                    .init("cascaded", .count(report.cascadedCount)),
                    .init("deleted_by_triggers", .count(report.triggerDeletedCount)),
                    .init("archived", .count(report.archivedCount ?? 0)),
                ])),
            .init("reclaimed_bytes", .integer(report.reclaimedBytes)),
            .init("exit_code", .integer(Int64(report.exitCode))),
            .init("warnings", .strings(report.warnings)),
            .init("failure", .optional(report.failure)),
            .init("store_bytes_before", report.storeBytesBefore.map { .integer($0) } ?? .null),
            .init("store_bytes", report.storeSizeBytes.map { .integer($0) } ?? .null),
            .init("ledger_hash", .optional(report.ledgerHash)),
            .init("archive", report.archive?.json ?? .null),
            .init("undo", report.undo?.json ?? .null),
            .init("holds", .array(report.holds.map(hold))),
            .init(
                "released_holds",
                .array(
                    report.releasedHolds.map {
                        .object([.init("name", .string($0.name)), .init("rows", .optional($0.rowCount))])
                    })),
            .init("plan_sha256", .optional(report.planSHA256)),
        ])
    }

    private var pending: JSONText {
        .object([
            .init("files", .count(report.pending.files)),
            .init("saved", .count(report.pending.saved)),
            .init("ignored", .count(report.pending.ignored)),
            .init("rejected", .count(report.pending.rejected)),
            .init("problems", .strings(report.pending.problems)),
        ])
    }

    private func hold(_ hold: RunReport.HoldReport) -> JSONText {
        .object([
            .init("name", .string(hold.name)),
            .init("entity", .string(hold.entity)),
            .init("reason", .string(hold.reason)),
            .init("expires", .optional(hold.expires)),
            .init("state", .string(hold.state.rawValue)),
            .init("kept", .count(report.keptCount(of: hold.name))),
        ])
    }

    private func rule(_ rule: RunReport.RuleReport) -> JSONText {
        .object([
            .init("name", .string(rule.name)),
            .init("entity", .string(rule.entity)),
            .init("date_attribute", .string(rule.dateAttribute)),
            .init("date_format", .optional(rule.dateFormat?.rawValue)),
            .init("max_age", .string(rule.maxAge)),
            .init("cutoff", .optional(rule.cutoff)),
            .init("outcome", .string(rule.outcome.rawValue)),
            .init("refusal", .optional(rule.refusal?.rawValue)),
            .init("message", .optional(rule.message)),
            .init("rows", .optional(rule.rows)),
            .init("expired", rule.isCounted ? .count(rule.expired) : .null),
            .init("kept_by_rule", .count(rule.keptByRule)),
            .init("deleted", .count(rule.deleted)),
            .init("cascaded", .count(rule.cascaded)),
            .init("nullified", .count(rule.nullified)),
            .init("unreadable", .count(rule.unreadableCount)),
            .init("residue", rule.isCounted ? .count(rule.residue) : .null),
            .init("oldest", .optional(rule.oldest)),
            .init("newest", .optional(rule.newest)),
            .init("newest_expired", .optional(rule.newestExpired)),
            .init("method", .optional(rule.method)),
            .init("batches", .count(rule.batches)),
            .init("seconds", .seconds(rule.elapsed)),
            .init("index", .optional(rule.index)),
            .init("accepted", .strings(rule.accepted.map(\.rawValue))),
            .init("unreadable_examples", .array(rule.unreadable.map(\.json))),
            .init("method_reason", .optional(rule.methodReason)),
            .init("lock_seconds", rule.lockElapsed.map { .seconds($0) } ?? .null),
            .init("advice", .strings(rule.advice)),
            .init("removed_files", .count(rule.removedFiles)),
            .init("external_files", .strings(rule.externalFiles)),
            .init("oldest_deleted", .optional(rule.oldestDeleted)),
            .init("newest_deleted", .optional(rule.newestDeleted)),
            .init("oldest_overdue", .optional(rule.oldestOverdue)),
            .init("overdue_seconds", rule.overdue.map { .seconds($0) } ?? .null),
            .init("digest", .optional(rule.digest)),
            .init("entity_bytes", rule.entitySizeBytes.map { .integer($0) } ?? .null),
            .init("delete_triggers", .strings(rule.triggers)),
            .init(
                "deleted_by_triggers",
                .array(
                    rule.deletedByTriggers.sorted { $0.key < $1.key }.map {
                        .object([.init("entity", .string($0.key)), .init("rows", .count($0.value))])
                    })),
            .init("archived", .optional(rule.archived)),
            .init(
                "kept_by_tier",
                .array(
                    rule.keptByTier.map {
                        .object([.init("tier", .string($0.unit.tierName)), .init("rows", .count($0.rowCount))])
                    })),
            .init("unpriced", .optional(rule.unpriced)),
            .init("candles_created", .optional(rule.candlesCreated)),
            .init("candles_changed", .optional(rule.candlesChanged)),
            .init("held", .count(rule.held)),
            .init(
                "kept_by_hold",
                .array(
                    rule.keptByHold.map {
                        .object([
                            .init("hold", .string($0.hold)), .init("rows", .count($0.rowCount)),
                            .init("related", .count($0.relatedCount)),
                        ])
                    })),
            .init("late", .optional(rule.late)),
            .init("widened", rule.widened?.json ?? .null),
            .init(
                "forecast",
                rule.forecast.map {
                    .object([.init("next_day", .count($0.nextDay)), .init("next_week", .count($0.nextWeek))])
                } ?? .null),
            .init("sample", rule.sample?.json ?? .null),
            .init(
                "refusals",
                .array(
                    rule.refusals.map {
                        .object([
                            .init("code", .string($0.code.rawValue)), .init("message", .string($0.message)),
                            .init("acceptable", .bool($0.isAcceptable)),
                        ])
                    })),
        ])
    }
}

extension RunReport.Undo {
    /// What was restored in `undo`.
    fileprivate var json: JSONText {
        .object([
            .init("run", .string(run)), .init("archive", .string(archive)), .init("rules", .strings(rules)),
            .init("archived", .count(archivedCount)), .init("restored", .count(restoredCount)),
            .init("present", .count(presentCount)), .init("skipped", .count(skippedCount)),
            .init("references", .count(referenceCount)),
            .init("skipped_references", .count(skippedReferenceCount)),
            .init("candles_restored", .count(restoredCandleCount)),
            .init("candles_deleted", .count(deletedCandleCount)),
            .init(
                "unarchived",
                .array(
                    unarchived.map { .object([.init("rule", .string($0.rule)), .init("rows", .count($0.rows))]) })),
            .init("triggers", .strings(triggers)), .init("trigger_choice", .optional(triggerChoice?.rawValue)),
            .init(
                "by_triggers",
                .array(
                    byTriggers.filter { !$1.isEmpty }.sorted { $0.key < $1.key }.map { name, rows in
                        .object([
                            .init("table", .string(name)), .init("inserted", .count(rows.insertedCount)),
                            .init("changed", .count(rows.changedCount)), .init("deleted", .count(rows.deletedCount)),
                        ])
                    })),
            .init(
                "tables",
                .array(
                    tables.map { table in
                        .object([
                            .init("name", .string(table.name)), .init("archived", .count(table.archived)),
                            .init("restored", .count(table.restored)), .init("present", .count(table.present)),
                            .init("skipped", .count(table.skipped)), .init("references", .count(table.references)),
                            .init("skipped_references", .count(table.skippedReferences)),
                            .init("candles_restored", .count(table.restoredCandles)),
                            .init("candles_deleted", .count(table.deletedCandles)),
                            .init("changed", .optional(table.changed)),
                        ])
                    })),
            .init(
                "skipped_rows",
                .array(
                    skippedRows.map { row in
                        .object([
                            .init("table", .string(row.table)),
                            .init("key", .strings(row.key.map { SafeText.example($0) })),
                            .init("reason", .string(row.reason)),
                        ])
                    })),
            .init(
                "waiting",
                .array(
                    waiting.map {
                        .object([.init("rule", .string($0.rule)), .init("reason", .string($0.reason))])
                    })),
        ])
    }
}

extension WidenedRule {
    /// The change in `widened`.
    fileprivate var json: JSONText {
        .object([
            .init("run", .optional(run)),
            .init(
                "changes",
                .array(
                    changes.map {
                        .object([
                            .init("key", .string($0.key)), .init("was", .optional($0.was)),
                            .init("now", .optional($0.now)),
                        ])
                    })),
            .init("removed_holds", .strings(removedHolds)), .init("changed_rules", .strings(changedSiblings)),
            .init("rows", .count(rowCount)),
            .init("oldest", .optional(oldest)), .init("newest", .optional(newest)),
        ])
    }
}

extension RowSample {
    /// The rows in `sample`.
    fileprivate var json: JSONText {
        func rows(_ rows: [[StoreValue]]) -> JSONText {
            .array(rows.map { .strings($0.map { SafeText.example($0) }) })
        }
        return .object([
            .init("columns", .strings(columns)), .init("oldest", rows(oldest)), .init("newest", rows(newest)),
            .init("kept", rows(kept)),
        ])
    }
}

extension RunReport.Archive {
    /// The archive in `archive`.
    fileprivate var json: JSONText {
        .object([
            .init("path", .string(path)), .init("rows", .count(rows)), .init("references", .count(references)),
            .init("bytes", sizeBytes.map { .integer($0) } ?? .null), .init("sha256", .optional(sha256)),
            .init("complete", .bool(isComplete)), .init("until", .optional(until)),
        ])
    }
}

extension Survey.UnreadableRows {
    /// The rows in `unreadable_examples`.
    var json: JSONText {
        .object([
            .init("kind", .string(reason.jsonName)), .init("rows", .count(rowCount)),
            .init("example", .string(SafeText.example(example))),
        ])
    }
}

extension Survey.Unreadable {
    /// The name of this kind in JSON.
    fileprivate var jsonName: String {
        switch self {
        case .null: "null"
        case .wrongType: "wrong_type"
        case .notADate: "not_a_date"
        case .sentinel: "sentinel"
        case .beforeEarliest: "before_earliest"
        case .afterLatest: "after_latest"
        }
    }
}
