import PriceStore

/// What a statement gave: its rows, or the number of rows that it changed.
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
/// A column that is missing, or whose value is not of the type that is asked for, is a ``ColumnFault``.
struct ServerRow {
    let columns: [ServerColumn]
    /// The values as the server writes them, in the order of the columns; nil: NULL.
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

    /// A text, or a value of any type as a text; nil: NULL.
    func optionalText(_ name: String) throws(ColumnFault) -> String? { texts[try place(name)] }

    /// A text, or a value of any type as a text.
    func text(_ name: String) throws(ColumnFault) -> String { try required(name, optionalText(name)) }

    /// A whole number; nil: NULL.
    func optionalInt(_ name: String) throws(ColumnFault) -> Int? {
        guard let text = try optionalText(name) else { return nil }
        guard let number = Int(text) else {
            throw ColumnFault(description: "the column \(name) of a statement is no whole number")
        }
        return number
    }

    /// A whole number.
    func int(_ name: String) throws(ColumnFault) -> Int { try required(name, optionalInt(name)) }

    /// Whether a truth value is TRUE, and neither FALSE nor NULL.
    func isTrue(_ name: String) throws(ColumnFault) -> Bool {
        let place = try place(name)
        guard columns[place].type == 16 else {
            throw ColumnFault(description: "the column \(name) of a statement is no truth value")
        }
        return texts[place] == "t"
    }

    /// The elements of an array without nesting; NULL has none.
    func list(_ name: String) throws(ColumnFault) -> [String?] { ServerArray.elements(try optionalText(name) ?? "{}") }

    /// The elements of an array of names.
    func names(_ name: String) throws(ColumnFault) -> [String] { try list(name).compactMap(\.self) }

    /// A table or another relation in SQL, by the columns with its schema and its name.
    func relation(_ schema: String, _ name: String) throws(ColumnFault) -> String {
        "\(try text(schema).quotedIdentifier).\(try text(name).quotedIdentifier)"
    }

    /// A value of the type that the column has.
    func value(_ name: String) throws(ColumnFault) -> StoreValue { value(at: try place(name)) }

    /// A value of a user's column, by its place: its name may be that of another column.
    func value(at place: Int) -> StoreValue { StoreValue(texts[place], type: columns[place].type) }

    /// The values of a user's columns, by their places.
    func values(at places: Range<Int>) -> [StoreValue] { places.map(value(at:)) }
}

/// A statement whose result is not read as it was written: a mistake of the engine.
struct ColumnFault: Error, CustomStringConvertible {
    let description: String
}
