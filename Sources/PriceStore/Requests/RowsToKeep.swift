/// What no cascade of a batch may take. The plan refuses a rule whose cascade would take such a row; but until the batch, a trigger or
/// another program may have changed which rows refer to which.
package struct RowsToKeep: Hashable, Sendable {
    /// Rows, with who keeps them, as a noun: `the hold 'audit'`.
    package var rows: [Kept] = []
    /// The dates by which entities must keep a readable row.
    package var entities: [NotEmptied] = []

    /// Rows and who keeps them.
    package struct Kept: Hashable, Sendable {
        package var rows: HeldRows
        package var keeper: String

        package init(_ rows: HeldRows, keeper: String) { (self.rows, self.keeper) = (rows, keeper) }
    }

    /// An entity of which a readable row must stay.
    package struct NotEmptied: Hashable, Sendable {
        package var entity: String
        package var date: DateAttribute

        package init(entity: String, date: DateAttribute) { (self.entity, self.date) = (entity, date) }
    }

    package init() {}
}
