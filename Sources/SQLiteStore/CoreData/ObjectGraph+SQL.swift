import GRDB
import PriceStore

/// The SQL fragments that follow a graph.
extension ObjectGraph {
    func losingTables() throws -> [String] {
        try schema.tables.filter { $0 != entity.table && removed.tables[$0.folded] != nil }
            .filter { table in
                let name = try connection.removedTable(table, removed, db)
                return try connection.exists("SELECT 1 FROM temp.\(name) WHERE step = \(step)", db)
            } + [entity.table]
    }

    func losingLinks() throws -> [ModelLink] { try losingTables().flatMap { links(of: $0) } }

    func oneWayLinks() throws -> [ModelLink] { try losingTables().flatMap { schema.oneWayLinks(to: $0) } }

    func links(of table: String) -> [ModelLink] { schema.links[table] ?? [] }

    /// `FROM … WHERE …` of the rows at the other end (as `child`) of deleted rows (as `removed`). The join order is fixed, from the smaller
    /// set to the larger.
    func ends(of link: ModelLink, _ condition: String) throws -> [String] {
        let child = "main." + link.destinationTable.quotedIdentifier
        switch link.storage {
        case .own(let reference):
            let column = "parent." + reference.column.quotedIdentifier
            return [
                try head(link, withRow: true) + " CROSS JOIN \(child) AS child" + membership(link, withRow: true)
                    + " AND child.Z_PK = \(column) AND \(condition)"
            ]
        case .other(let reference):
            return [try pointingBack(link, reference, condition)]
        case .pairs(let table, let own, let other):
            return try zip(own, other).map { own, other in
                try head(link) + " CROSS JOIN main.\(table.quotedIdentifier) AS pair CROSS JOIN \(child) AS child"
                    + membership(link) + " AND pair.\(own.quotedIdentifier) = removed.k0 "
                    + "AND child.Z_PK = pair.\(other.quotedIdentifier) AND \(condition)"
            }
        }
    }

    /// `FROM … WHERE …` of the rows (as `child`) that refer to deleted rows with one of their columns.
    func pointingBack(
        _ link: ModelLink, _ reference: ModelLink.Reference, _ condition: String, staying: Bool = false
    ) throws -> String {
        try head(link) + " CROSS JOIN main.\(link.destinationTable.quotedIdentifier) AS child"
            + membership(link) + " AND child.\(reference.column.quotedIdentifier) = removed.k0 AND \(condition)"
            + (staying ? " AND " + (try stays(link.destinationTable)) : "")
    }

    /// `FROM … WHERE …` of the rows (as `child`) that declare a one-way relationship to deleted rows.
    func oneWay(_ link: ModelLink, _ reference: ModelLink.Reference, _ condition: String) throws -> String {
        let target = try connection.removedTable(link.destinationTable, removed, db)
        return " FROM temp.\(target) AS removed CROSS JOIN main.\(link.table.quotedIdentifier) AS child WHERE "
            + "child.\(reference.column.quotedIdentifier) = removed.k0"
            + (link.coversTable ? "" : " AND child.Z_ENT IN (\(link.numbers.sqlList))") + " AND \(condition)"
    }

    private func head(_ link: ModelLink, withRow: Bool = false) throws -> String {
        let own = try connection.removedTable(link.table, removed, db)
        let row = withRow || !link.coversTable
        return " FROM temp.\(own) AS removed" + (row ? " CROSS JOIN main.\(link.table.quotedIdentifier) AS parent" : "")
    }

    private func membership(_ link: ModelLink, withRow: Bool = false) -> String {
        guard link.coversTable else {
            return " WHERE parent.Z_PK = removed.k0 AND parent.Z_ENT IN (\(link.numbers.sqlList))"
        }
        return withRow ? " WHERE parent.Z_PK = removed.k0" : " WHERE TRUE"
    }

    /// A query for the keys of the deleted rows that have a link.
    func keys(having link: ModelLink) throws -> String { "SELECT removed.k0" + (try head(link)) + membership(link) }

    /// The condition that `child` is not deleted in this step or an earlier one.
    func stays(_ table: String) throws -> String {
        let own = try connection.removedTable(table, removed, db)
        return "NOT EXISTS (SELECT 1 FROM temp.\(own) AS own WHERE own.k0 = child.Z_PK AND own.step <= \(step))"
    }

    /// The number of distinct rows (`child`) that queries find.
    func count(_ rows: [String]) throws -> Int {
        let union = rows.map { "SELECT child.Z_PK" + $0 }.joined(separator: " UNION ")
        return try connection.count("SELECT count(*) FROM (SELECT * FROM (\(union)) GROUP BY 1)", db)
    }
}
