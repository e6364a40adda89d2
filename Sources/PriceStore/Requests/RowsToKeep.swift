/// Rows that no cascade of a batch may delete.
///
/// The plan refuses a rule whose cascade would delete such a row. But until the batch, a trigger or another program may change which rows
/// refer to which.
package struct RowsToKeep: Sendable {
    /// Rows and what keeps them, as a noun: `the hold 'audit'`.
    package var rows: [(rows: HeldRows, keeper: String)] = []
    /// The entities that must keep a readable row, with the date that must be readable.
    package var entities: [(entity: String, date: DateAttribute)] = []

    package init() {}
}
