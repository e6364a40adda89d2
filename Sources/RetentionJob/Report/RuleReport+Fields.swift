package import PriceStore
package import RetentionPolicy

extension RunReport.RuleReport: Reported {
    package static let fields: ReportFields<Self> = [
        .stored("name", \.name), .stored("entity", \.entity, .log),
        .stored("date_attribute", \.dateAttribute), .stored("date_format", \.dateFormat),
        .stored("max_age", \.maxAge), .stored("cutoff", \.cutoff, .log), .stored("outcome", \.outcome, .log),
        .stored("refusal", \.refusal), .stored("message", \.message),
        .stored("rows", \.planned.rows),
        .counted(
            .stored(
                "expired", \.countedExpired, .log, metric: ("expired_rows", "Expired rows that the last run found."))),
        .stored("kept_by_rule", \.kept.byRuleCount),
        .stored("deleted", \.done.deleted, .log, metric: ("deleted_rows", "Rows that the last run deleted.")),
        .stored(
            "cascaded", \.done.cascaded, .log,
            metric: ("cascaded_rows", "Rows that went with the deleted ones by a relationship.")),
        .stored(
            "nullified", \.done.nullified, .log,
            metric: ("nullified_rows", "Rows that lost a reference to a row that the last run deleted.")),
        .counted(
            .computed(
                "unreadable", column: "unreadable", .log, metric: ("unreadable_rows", "Rows whose date cannot be used.")
            ) { $0.planned.unreadableCount }),
        .counted(
            .stored(
                "residue", \.countedResidue, .log,
                metric: ("residue_rows", "Expired rows that remained after the last run."))),
        .stored("oldest", \.planned.oldest), .stored("newest", \.planned.newest),
        .stored("newest_expired", \.planned.newestExpired),
        .stored("method", \.method.name), .stored("batches", \.done.batches, .log),
        .stored(
            "seconds", \.done.elapsed, column: "elapsed_us", .log,
            metric: ("duration_seconds", "How long the rule took.")),
        .stored("index", \.method.index, column: "index_name"), .stored("accepted", \.accepted),
        .stored("unreadable_examples", \.planned.unreadable), .stored("method_reason", \.method.reason),
        .stored("lock_seconds", \.done.lockElapsed, column: "lock_us"), .stored("advice", \.advice),
        .stored("oldest_deleted", \.done.oldest), .stored("newest_deleted", \.done.newest),
        .stored("oldest_overdue", \.left.oldest), .computed("overdue_seconds") { $0.overdue },
        .stored(
            "entity_bytes", \.left.entityBytes,
            metric: ("entity_bytes", "The space of the rows and indexes of the rule's entity.")),
        .stored("delete_triggers", \.planned.triggers), .stored("deleted_by_triggers", \.done.byTriggers),
        .stored(
            "archived", \.done.archived, .log,
            metric: ("archived_rows", "Rows of all tables that the last run archived before it deleted them.")),
        .stored("kept_by_tier", \.kept.byTier),
        .stored(
            "unpriced", \.candles.unpriced, .log,
            metric: ("unpriced_rows", "Rows before the cutoff that stay because they have no price.")),
        .stored(
            "candles_created", \.candles.created, .log, metric: ("candles_created", "Candles that the last run made.")),
        .stored(
            "candles_changed", \.candles.changed, .log,
            metric: ("candles_changed", "Candles to which the last run added rows.")),
        .counted(.stored("held", \.kept.heldCount, .log)), .stored("kept_by_hold", \.kept.byHold),
        .stored(
            "late", \.remembered.late, .log,
            metric: (
                "late_rows", "Expired rows that came back, or arrived late, after a run had left none of that age."
            )),
        .unrecorded("widened") { $0.remembered.widened?.json ?? .null },
        .unrecorded("forecast") {
            $0.planned.forecast.map { ["next_day": $0.nextDay.json, "next_week": $0.nextWeek.json] } ?? .null
        },
        .unrecorded("sample") { $0.planned.sample?.json ?? .null },
        .stored("refusals", \.refusals),
        .computed(
            "trigger_deleted", .log,
            metric: ("trigger_deleted_rows", "Rows that triggers of the store deleted in the last run.")
        ) { $0.done.triggerCount },
        .unrecorded("silent_groups") { ($0.planned.silent?.count).json },
        .stored("family", \.family), .stored("rule_sha256", \.ruleSHA256),
    ]

    /// Expired rows; nil: they were not counted.
    fileprivate var countedExpired: Int? {
        get { planned.isCounted ? planned.expired : nil }
        set { (planned.isCounted, planned.expired) = (newValue != nil, newValue ?? 0) }
    }

    fileprivate var countedResidue: Int? {
        get { planned.isCounted ? left.expired : nil }
        set { (planned.isCounted, left.expired) = (newValue != nil, newValue ?? 0) }
    }
}

extension ReportField where Report == RunReport.RuleReport {
    /// The same field, null in all outputs of a disabled rule, whose rows are not counted.
    fileprivate static func counted(_ field: Self) -> Self {
        let (json, record, columns) = (field.json, field.record, field.columns)
        var counted = field
        counted.json = { $0.outcome == .disabled ? .null : json($0) }
        counted.record = { report, row, atStart in
            guard report.outcome == .disabled else { return record(report, &row, atStart) }
            for column in columns { row[column.name] = .null }
        }
        return counted
    }
}

extension RunReport.Outcome: WordValue {}

extension RefusalCode: WordValue, LineValue {
    package var line: String { rawValue }
    package init?(line: String) { self.init(recorded: line) }
    package init?(stored: StoreValue) {
        guard let word = String(stored: stored) else { return nil }
        self.init(recorded: word)
    }
}

extension RefusalReport: LineValue {
    package var json: JSONText {
        ["code": code.json, "message": message.json, "acceptable": isAcceptable.json]
    }
    package var line: String { "\(code.rawValue) \(isAcceptable ? 1 : 0) \(message)" }
    package init?(line: String) {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let code = RefusalCode(recorded: String(parts[0])) else { return nil }
        self.init(code: code, message: String(parts[2]), isAcceptable: parts[1] == "1")
    }
}

extension Survey.HeldCount: LineValue {
    package var json: JSONText { ["hold": hold.json, "rows": rowCount.json, "related": relatedCount.json] }
    package var line: String { "\(rowCount) \(relatedCount) \(hold)" }
    package init?(line: String) {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let rows = Int(counted: parts[0]), let related = Int(counted: parts[1]) else {
            return nil
        }
        self.init(hold: String(parts[2]), rowCount: rows, relatedCount: related)
    }
}

extension Survey.TierCount: LineValue {
    package var json: JSONText { ["tier": unit.tierName.json, "rows": rowCount.json] }
    package var line: String { "\(rowCount) \(unit.tierName)" }
    package init?(line: String) {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let rows = Int(counted: parts[0]),
            let unit = CalendarUnit.allCases.first(where: { $0.tierName == parts[1] })
        else { return nil }
        self.init(unit: unit, rowCount: rows)
    }
}

/// The ledger contains no row values, so the example is not recorded.
extension Survey.UnreadableRows: LineValue {
    package var json: JSONText {
        ["kind": reason.jsonName.json, "rows": rowCount.json, "example": SafeText.example(example).json]
    }
    package var line: String { "\(rowCount) \(reason.rawValue)" }
    package init?(line: String) {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let rows = Int(counted: parts[0]),
            let reason = Survey.Unreadable(rawValue: String(parts[1]))
        else { return nil }
        self.init(reason: reason, rowCount: rows, example: .null)
    }
}

extension Survey.Unreadable {
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

/// Numbers of rows by table name.
extension [String: Int]: ReportValue, ColumnValue {
    package static var affinity: Attribute.Affinity { .text }
    package var json: JSONText {
        .array(sorted { $0.key < $1.key }.map { ["entity": $0.key.json, "rows": $0.value.json] })
    }
    package var stored: StoreValue { sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.stored }
    package init?(stored: StoreValue) {
        guard let lines = [String](stored: stored) else { return nil }
        self = [:]
        for line in lines {
            let parts = line.split(separator: " ", maxSplits: 1)
            if parts.count == 2, let count = Int(counted: parts[0]) { self[String(parts[1])] = count }
        }
    }
}

extension Int {
    /// A number of rows in a ledger line.
    init?(counted text: Substring) {
        guard let number = Int64(text) else { return nil }
        self.init(stored: .integer(number))
    }
}

extension WidenedRule {
    fileprivate var json: JSONText {
        [
            "run": run.json,
            "changes": .array(changes.map { ["key": $0.key.json, "was": $0.was.json, "now": $0.now.json] }),
            "removed_holds": removedHolds.json, "changed_rules": changedSiblings.json, "rows": rowCount.json,
            "oldest": oldest.json, "newest": newest.json,
        ]
    }
}

extension RowSample {
    fileprivate var json: JSONText {
        func rows(_ rows: [[StoreValue]]) -> JSONText {
            .array(rows.map { .strings($0.map { SafeText.example($0) }) })
        }
        return [
            "columns": columns.json, "oldest_rows": rows(oldest), "newest_rows": rows(newest), "kept_rows": rows(kept),
        ]
    }
}
