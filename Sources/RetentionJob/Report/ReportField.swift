package import Logging
package import PriceStore
package import RetentionPolicy

/// A value of a report with its name and outputs. JSON contains every value.
package struct ReportField<Report>: Sendable {
    /// An output other than JSON and the ledger.
    package enum Output: Sendable {
        /// The log's record of the report.
        case log
        /// The ledger's record of a beginning run.
        case start
    }

    /// The name in JSON and in the log.
    package var name: String
    package var output: Output?
    /// The name of the Prometheus metric without `retention_`, and its help; nil: there is none.
    package var metric: (name: String, help: String)?
    /// The ledger's columns; empty: the ledger lacks the value.
    package var columns: [Attribute] = []
    /// The value as JSON, whether or not it is known.
    package var json: @Sendable (Report) -> JSONText = { _ in .null }
    /// Sets the columns of a row, or only those known at the start.
    var record: @Sendable (Report, inout [String: StoreValue], _ atStart: Bool) -> Void = { _, _, _ in }
    /// Sets the value from a row of the ledger; false: the ledger does not know it.
    var read: @Sendable (inout Report, [String: StoreValue]) -> Bool = { _, _ in true }
    /// The fields of a group.
    var parts: [ReportField] = []

    /// A value that the report stores and the ledger can give back.
    ///
    /// - Parameter column: the name in the ledger, if it differs.
    package static func stored<Value: ReportValue>(
        _ name: String, _ path: any WritableKeyPath<Report, Value> & Sendable, column: String? = nil,
        _ output: Output? = nil, metric: (name: String, help: String)? = nil
    ) -> Self {
        let column = column ?? name
        var field = computed(name, column: column, output, metric: metric) { $0[keyPath: path] }
        field.read = { report, row in
            guard let value = Value(column, of: row) else { return false }
            report[keyPath: path] = value
            return true
        }
        return field
    }

    /// A value computed from others, known if they are.
    ///
    /// - Parameter column: the ledger's column for people; nil: none.
    package static func computed<Value: ReportValue>(
        _ name: String, column: String? = nil, _ output: Output? = nil, metric: (name: String, help: String)? = nil,
        _ value: @escaping @Sendable (Report) -> Value
    ) -> Self {
        var field = Self(name: name, output: output, metric: metric)
        field.json = { value($0).json }
        guard let column else { return field }
        field.columns = Value.columns(column)
        field.record = { report, row, _ in value(report).record(column, in: &row) }
        field.read = { _, row in (Value(column, of: row)?.json ?? .null) != .null }
        return field
    }

    /// A value that the ledger lacks, or that other records of the ledger always contain.
    package static func unrecorded(
        _ name: String, _ output: Output? = nil, isKnown: Bool = false, _ json: @escaping @Sendable (Report) -> JSONText
    ) -> Self {
        Self(name: name, output: output, json: json, read: { _, _ in isKnown })
    }

    /// An optional object with its own fields.
    ///
    /// - Parameter blank: the object that a row is read into. A row without the first field has no object.
    package static func object<Part: Reported>(
        _ name: String, _ path: any WritableKeyPath<Report, Part?> & Sendable, blank: Part
    ) -> Self {
        Self(
            name: name, output: .start, columns: Part.columns, json: { $0[keyPath: path]?.json ?? .null },
            record: { report, row, atStart in report[keyPath: path]?.record(in: &row, atStart: atStart) },
            read: { report, row in
                var part = blank
                part.read(row)
                if let first = Part.fields.all.first, !part.unknown.contains(first.name) {
                    report[keyPath: path] = part
                }
                return true
            })
    }

    /// An object of values of the report itself.
    package static func group(_ name: String, _ parts: [ReportField]) -> Self { Self(name: name, parts: parts) }
}

/// The fields of a report, made once.
package struct ReportFields<Report>: Sendable, ExpressibleByArrayLiteral {
    /// In the order of JSON.
    package let all: [ReportField<Report>]
    /// Those with a value, including those of groups.
    let values: [ReportField<Report>]
    let logged: [ReportField<Report>]
    /// What sets the columns of a ledger row, and whether that is known at the start.
    let recorded: [(atStart: Bool, record: @Sendable (Report, inout [String: StoreValue], _ atStart: Bool) -> Void)]

    init(_ all: [ReportField<Report>]) {
        self.all = all
        values = all.flatMap { $0.parts.isEmpty ? [$0] : $0.parts }
        logged = values.filter { $0.output == .log }
        recorded = values.filter { !$0.columns.isEmpty }.map { ($0.output == .start, $0.record) }
    }

    package init(arrayLiteral all: ReportField<Report>...) { self.init(all) }
}

/// A report, or an object in one, with a table of its values: all outputs are loops over this table.
package protocol Reported: Sendable {
    /// The fields in the order of JSON.
    static var fields: ReportFields<Self> { get }
    /// The names of fields that are missing from the ledger that the report was read from.
    var unknown: Set<String> { get set }
}

extension Reported {
    /// All fields with a value, including those of groups.
    package static var values: [ReportField<Self>] { fields.values }
    package static var columns: [Attribute] { values.flatMap(\.columns) }

    /// The fields with their values; an unknown value is null.
    package var members: [JSONText.Member] { members(Self.fields.all) }
    package var json: JSONText { .object(members) }
    /// The report as JSON text, with a line end.
    package var document: String { json.document + "\n" }

    private func members(_ fields: [ReportField<Self>]) -> [JSONText.Member] {
        fields.map { field in
            let value = field.parts.isEmpty ? field.json(self) : .object(members(field.parts))
            return .init(field.name, unknown.contains(field.name) ? .null : value)
        }
    }

    /// The fields in the log.
    package static var logged: [ReportField<Self>] { fields.logged }
    package var metadata: Logger.Metadata {
        Self.logged.reduce(into: [:]) { found, field in
            let value = field.json(self)
            if value != .null { found[field.name] = .stringConvertible(value) }
        }
    }

    /// Sets the columns of a ledger row, or only those known at the start.
    package func record(in row: inout [String: StoreValue], atStart: Bool = false) {
        for field in Self.fields.recorded where !atStart || field.atStart { field.record(self, &row, atStart) }
    }

    /// Takes the values of a ledger row.
    package mutating func read(_ row: [String: StoreValue]) {
        unknown = []
        for field in Self.values where !field.read(&self, row) { unknown.insert(field.name) }
    }
}
