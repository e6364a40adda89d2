import GRDB
import PriceStore

/// Relationships that are inferred from the tables of a store without a model.
extension CoreDataSchema {
    /// Infers the relationships that the tables of a store without a model prove: references whose companion column names the number of
    /// their entity, and join tables. An indexed integer column may also be a reference and is only noted.
    mutating func inferLinks(_ db: Database) throws {
        let columns = try columnNames(db)
        let byNumber = Dictionary(entities.values.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        func link(_ table: String, _ name: String, to number: Int64, _ storage: ModelLink.Storage) -> ModelLink? {
            guard let destination = byNumber[number] else { return nil }
            let owners = entities.values.filter { $0.table == table }.sorted { $0.number < $1.number }
            return ModelLink(
                relationship: ManagedRelationship(
                    name: name, destination: destination.name, inverse: nil, deleteRule: .noAction, isOptional: true,
                    minCount: 0, maxCount: 1, hasOrder: false, isTransient: false),
                inverse: nil, table: table, numbers: owners.map(\.number), coversTable: true,
                owner: owners.first?.name ?? table, destinationTable: destination.table, storage: storage)
        }
        func number(of column: String, prefix: String, suffix: String) -> Int64? {
            guard column.hasPrefix(prefix), column.hasSuffix(suffix) else { return nil }
            return Int64(column.dropFirst(prefix.count).dropLast(suffix.count))
        }
        for table in Set(entities.values.map(\.table)).sorted() {
            let own = columns[table] ?? []
            for column in own.sorted() where column.hasPrefix("Z") && !column.hasPrefix("Z_") {
                let name = String(column.dropFirst())
                if let number = own.compactMap({ number(of: $0, prefix: "Z", suffix: "_" + name) }).first,
                    let companion = own.first(where: { $0 == "Z\(number)_\(name)" }),
                    let found = link(
                        table, name.lowercased(), to: number,
                        .own(ModelLink.Reference(column: column, companions: [companion])))
                {
                    links[table, default: []].append(found)
                } else if try isIndexed(column, of: table, db) {
                    unprovenReferences.append((table, column))
                }
            }
        }
        for (table, own) in columns.sorted(by: { $0.key < $1.key }) where table.hasPrefix("Z_") {
            let ends = own.filter { $0.hasPrefix("Z_") && !$0.hasPrefix("Z_FOK") }.sorted()
            for end in ends {
                guard let number = Int64(end.dropFirst(2).prefix { $0.isNumber }),
                    let found = link(table, end, to: number, .pairs(table: table, own: [], other: [end]))
                else { continue }
                links[table, default: []].append(found)
            }
        }
    }

    private func isIndexed(_ column: String, of table: String, _ db: Database) throws -> Bool {
        try Int.fetchOne(
            db,
            sql: """
                SELECT count(*) FROM pragma_table_xinfo(?1, 'main') AS c, pragma_index_list(?1, 'main') AS l,
                    pragma_index_info(l.name, 'main') AS i
                WHERE c.name = ?2 AND upper(c.type) = 'INTEGER' AND i.name = c.name AND i.seqno = 0
                """, arguments: [table, column]) ?? 0 > 0
    }
}
