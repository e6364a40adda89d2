package import Logging
package import PriceStore
package import RetentionPolicy

/// A value of a report with its name, and the outputs that have it. JSON has all of them.
package struct ReportField<Report>: Sendable {
    /// Outputs besides JSON and the ledger.
    package struct Outputs: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }
        /// The record of the log for the report.
        package static var log: Self { Self(rawValue: 1) }
        /// The ledger's record of a run that begins.
        package static var start: Self { Self(rawValue: 2) }
    }

    /// In JSON and in the log.
    package var name: String
    package var outputs: Outputs = []
    /// The name of a figure for Prometheus without `retention_`, and its help; nil: there is none.
    package var metric: (name: String, help: String)?
    /// The heading of a column of the review page; nil: it has none.
    package var heading: String?
    /// The columns of the ledger; empty: it does not have the value.
    package var columns: [Attribute] = []
    /// The value as JSON, whether or not it is known.
    package var json: @Sendable (Report) -> JSONText = { _ in .null }
    /// Sets the columns of a row, or only those that are known at the start.
    var record: @Sendable (Report, inout [String: StoreValue], _ atStart: Bool) -> Void = { _, _, _ in }
    /// Sets the value as a row of the ledger has it; false: it is not known from there.
    var read: @Sendable (inout Report, [String: StoreValue]) -> Bool = { _, _ in true }
    /// The fields of a group.
    var parts: [ReportField] = []

    /// A value that the report stores, and that the ledger can give back.
    ///
    /// - Parameter column: the name in the ledger, if it is another one.
    package static func stored<Value: ReportValue>(
        _ name: String, _ path: any WritableKeyPath<Report, Value> & Sendable, column: String? = nil,
        _ outputs: Outputs = [], metric: (name: String, help: String)? = nil, heading: String? = nil
    ) -> Self {
        let column = column ?? name
        var field = computed(name, column: column, outputs, metric: metric, heading: heading) { $0[keyPath: path] }
        field.read = { report, row in
            guard let value = Value(column, of: row) else { return false }
            report[keyPath: path] = value
            return true
        }
        return field
    }

    /// A value that is computed of others, and is known if they are.
    ///
    /// - Parameter column: where the ledger has it for people; nil: nowhere.
    package static func computed<Value: ReportValue>(
        _ name: String, column: String? = nil, _ outputs: Outputs = [], metric: (name: String, help: String)? = nil,
        heading: String? = nil, _ value: @escaping @Sendable (Report) -> Value
    ) -> Self {
        var field = Self(name: name, outputs: outputs, metric: metric, heading: heading)
        field.json = { value($0).json }
        guard let column else { return field }
        field.columns = Value.columns(column)
        field.record = { report, row, _ in value(report).record(column, in: &row) }
        field.read = { _, row in Value(column, of: row) != nil }
        return field
    }

    /// A value that the ledger does not have; or, if it is part of other records of it, always has.
    package static func unrecorded(
        _ name: String, _ outputs: Outputs = [], isKnown: Bool = false, _ json: @escaping @Sendable (Report) -> JSONText
    ) -> Self {
        Self(name: name, outputs: outputs, json: json, read: { _, _ in isKnown })
    }

    /// An object with fields of its own, which may not be there.
    ///
    /// - Parameter blank: what a row is read into. A row without its first field has no object.
    package static func object<Part: Reported>(
        _ name: String, _ path: any WritableKeyPath<Report, Part?> & Sendable, blank: Part
    ) -> Self {
        Self(
            name: name, outputs: .start, columns: Part.columns, json: { $0[keyPath: path]?.json ?? .null },
            record: { report, row, atStart in report[keyPath: path]?.record(in: &row, atStart: atStart) },
            read: { report, row in
                var part = blank
                part.read(row)
                if let first = Part.fields.first, !part.unknown.contains(first.name) { report[keyPath: path] = part }
                return true
            })
    }

    /// An object of values of the report itself.
    package static func group(_ name: String, _ parts: [ReportField]) -> Self { Self(name: name, parts: parts) }
}

/// A report, or an object in one, with a table of its values: all outputs are loops over it.
package protocol Reported: Sendable {
    /// In the order of JSON.
    static var fields: [ReportField<Self>] { get }
    /// The names of fields that the ledger from which the report was read does not have.
    var unknown: Set<String> { get set }
}

extension Reported {
    /// All fields that have a value, those of groups among them.
    package static var values: [ReportField<Self>] { fields.flatMap { $0.parts.isEmpty ? [$0] : $0.parts } }
    package static var columns: [Attribute] { values.flatMap(\.columns) }

    /// The fields with their values; one that is not known is null.
    package var members: [JSONText.Member] { members(Self.fields) }
    package var json: JSONText { .object(members) }
    /// The whole text of the report as JSON, ending with a line end.
    package var document: String { json.document + "\n" }

    private func members(_ fields: [ReportField<Self>]) -> [JSONText.Member] {
        fields.map { field in
            let value = field.parts.isEmpty ? field.json(self) : .object(members(field.parts))
            return .init(field.name, unknown.contains(field.name) ? .null : value)
        }
    }

    /// The fields that the log has, and what it has of this report: an unknown value is left out.
    package static var logged: [ReportField<Self>] { values.filter { $0.outputs.contains(.log) } }
    package var metadata: Logger.Metadata {
        Self.logged.reduce(into: [:]) { found, field in
            let value = field.json(self)
            if value != .null { found[field.name] = .stringConvertible(value) }
        }
    }

    /// Sets the columns of the ledger's row, or only those that are known at the start.
    package func record(in row: inout [String: StoreValue], atStart: Bool = false) {
        for field in Self.values where !atStart || field.outputs.contains(.start) { field.record(self, &row, atStart) }
    }

    /// Takes the values of a row of the ledger.
    package mutating func read(_ row: [String: StoreValue]) {
        unknown = []
        for field in Self.values where !field.read(&self, row) { unknown.insert(field.name) }
    }
}
