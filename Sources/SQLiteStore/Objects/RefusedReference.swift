import GRDB
import PriceStore

/// SQLite does not say which foreign key refuses a change. It is looked up after the failure.
extension SQLiteFile {
    /// What SQLite says of a foreign key that refuses a change.
    static let refusedReference = "FOREIGN KEY constraint failed"

    /// The foreign key by which a row with these values refers to a missing row, as a clause; nil: there is none.
    func missingReference(_ values: [String: StoreValue], of table: SQLiteTable, _ db: Database) throws -> String? {
        let named = Dictionary(values.map { ($0.key.folded, $0.value) }, uniquingKeysWith: { $1 })
        // A copy of the store may list its keys in another order.
        for key in table.entity.relationships.sorted(by: { $0.text < $1.text }) {
            let values = key.sourceAttributes.compactMap { named[$0.folded] }
            guard values.count == key.sourceAttributes.count, !values.contains(where: \.isNull),
                let destination = try catalog.table(key.destination, db)
            else { continue }
            let same = key.destinationAttributes.map { "\($0.quotedIdentifier) = ?" }.joined(separator: " AND ")
            if try row(SQLFragment("SELECT 1 FROM \(destination.sql) WHERE " + same, values), db) == nil {
                return "\(key.text) refers to a row of \(key.destination) that does not exist"
            }
        }
        return nil
    }

    /// Deletes rows of a table. If a foreign key refuses that, the error names the tables whose rows can refer to them.
    func namingReferences<T>(to table: SQLiteTable, _ db: Database, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch {
            var named = storeError(error, doing: "deleting rows of \(table.name)", db)
            let keys = table.entity.incomingRelationships.filter { [.restrict, .noAction].contains($0.deleteRule) }
            guard named.message.hasSuffix(Self.refusedReference), !keys.isEmpty else { throw error }
            named.message =
                "rows of \(table.name) that would be deleted are referenced by rows of "
                + keys.map(\.text).joined(separator: " or ") + ", so the transaction is rolled back"
            named.hint = "delete those first, or ask for cascade or nullify"
            throw named
        }
    }
}
