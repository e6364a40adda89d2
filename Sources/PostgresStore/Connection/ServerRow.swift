import PriceStore

/// The result of a statement: its rows, or the number of changed rows.
struct ServerResult {
    var columns: [ServerColumn] = []
    var rows: [ServerRow] = []
    var changedCount = 0
}

/// A column of a result: its name, and the `oid` of its type.
struct ServerColumn: Hashable {
    let name: String
    let type: Int
}

/// A row of a result, whose values are read by the names of their columns.
///
/// It throws a ``ColumnFault`` if a column is missing, or if its value does not have the requested type.
struct ServerRow {
    let columns: [ServerColumn]
    /// The values in the server's text format, in column order; nil for NULL.
    let texts: [String?]

    private func place(_ name: String) throws(ColumnFault) -> Int {
        guard let place = columns.firstIndex(where: { $0.name == name }) else {
            throw ColumnFault(description: "a statement has no column \(name)")
        }
        return place
    }

    private func required<T>(_ name: String, _ value: T?) throws(ColumnFault) -> T {
        guard let value else { throw ColumnFault(description: "the column \(name) of a statement is NULL") }
        return value
    }

    func optionalText(_ name: String) throws(ColumnFault) -> String? { texts[try place(name)] }

    func text(_ name: String) throws(ColumnFault) -> String { try required(name, optionalText(name)) }

    func optionalInt(_ name: String) throws(ColumnFault) -> Int? {
        guard let text = try optionalText(name) else { return nil }
        guard let number = Int(text) else {
            throw ColumnFault(description: "the column \(name) of a statement is no whole number")
        }
        return number
    }

    func int(_ name: String) throws(ColumnFault) -> Int { try required(name, optionalInt(name)) }

    /// Whether a boolean is TRUE, rather than FALSE or NULL.
    func isTrue(_ name: String) throws(ColumnFault) -> Bool {
        let place = try place(name)
        guard columns[place].type == 16 else {
            throw ColumnFault(description: "the column \(name) of a statement is no truth value")
        }
        return texts[place] == "t"
    }

    /// The elements of an array without nesting; empty for NULL.
    func list(_ name: String) throws(ColumnFault) -> [String?] { ServerArray.elements(try optionalText(name) ?? "{}") }

    func names(_ name: String) throws(ColumnFault) -> [String] { try list(name).compactMap(\.self) }

    /// A relation in SQL, from the columns with its schema and its name.
    func relation(_ schema: String, _ name: String) throws(ColumnFault) -> String {
        "\(try text(schema).quotedIdentifier).\(try text(name).quotedIdentifier)"
    }

    func value(_ name: String) throws(ColumnFault) -> StoreValue { value(at: try place(name)) }

    /// A value of a user's column, by position: its name may also be that of another column.
    func value(at place: Int) -> StoreValue { StoreValue(texts[place], type: columns[place].type) }

    func values(at places: Range<Int>) -> [StoreValue] { places.map(value(at:)) }
}

/// A result that is not read as it was requested: a defect of the engine.
struct ColumnFault: Error, CustomStringConvertible {
    let description: String
}
