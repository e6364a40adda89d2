/// Rows that no cascade of a batch may delete.
///
/// The plan refuses a rule whose cascade would delete such a row. But until the batch, a trigger or another program may change which rows
/// refer to which.
package struct RowsToKeep: Hashable, Sendable {
    /// Rows and what keeps them, as a noun: `the hold 'audit'`.
    package var rows: [Kept] = []
    /// The entities that must keep a readable row, with the date that must be readable.
    package var entities: [NotEmptied] = []

    /// Rows and what keeps them.
    package struct Kept: Hashable, Sendable {
        package var rows: HeldRows
        package var keeper: String

        package init(_ rows: HeldRows, keeper: String) { (self.rows, self.keeper) = (rows, keeper) }
    }

    /// An entity that must keep a readable row.
    package struct NotEmptied: Hashable, Sendable {
        package var entity: String
        package var date: DateAttribute

        package init(entity: String, date: DateAttribute) { (self.entity, self.date) = (entity, date) }
    }

    package init() {}
}
