package import PriceStore

/// A store as plain lists of rows, for the judge. Made by a test from what it put into the real store, never from what
/// an engine says about it.
package struct ReferenceStore: Sendable {
    /// The tables by name.
    package var tables: [String: Table]
    /// The foreign keys of all tables.
    package var relationships: [Relationship]

    /// Whether rows go that are pointed at only by rows which go by the same rule, whatever their key says, and cascades may lead
    /// back to their table, as on PostgreSQL.
    package var restrictSparesRowsThatGo = false

    package init(tables: [String: Table], relationships: [Relationship] = []) {
        self.tables = tables
        self.relationships = relationships
    }

    /// A list of rows with what must be known of its columns.
    package struct Table: Sendable {
        package var attributes: [Attribute]
        /// How columns compare text; the others are binary.
        package var collations: [String: ReferenceCollation]
        package var rows: [Row]
        /// The numbers of the rows in the order of their keys; empty: it is the order of the numbers.
        package var keyOrder: [Int64]

        package init(
            attributes: [Attribute], collations: [String: ReferenceCollation] = [:],
            rows: [Row] = [], keyOrder: [Int64] = []
        ) {
            self.attributes = attributes
            self.collations = collations
            self.rows = rows
            self.keyOrder = keyOrder
        }

        func place(of row: Row) -> Int { keyOrder.firstIndex(of: row.id) ?? Int(row.id) }

        func affinity(_ name: String) -> Attribute.Affinity {
            attributes.first { $0.name == name }?.affinity ?? .none
        }

        func collation(_ name: String) -> ReferenceCollation { collations[name] ?? .binary }
    }

    /// A row: a number by which a test knows it again, and its values as they are stored.
    package struct Row: Sendable {
        package var id: Int64
        package var values: [String: StoreValue]

        package init(id: Int64, values: [String: StoreValue]) {
            self.id = id
            self.values = values
        }

        subscript(name: String) -> StoreValue { values[name] ?? .null }
    }
}
