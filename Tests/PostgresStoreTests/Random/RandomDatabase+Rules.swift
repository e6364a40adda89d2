import PostgresCluster
import PriceStore
import StoreConformance

extension RandomDatabase {
    var ruleTables: [RuleTable] {
        tables.map { table in
            RuleTable(
                table.name, date: table.column(.date)?.name ?? "",
                groups: table.columns.filter { [.symbol, .volume, .up].contains($0.role) }.map(\.name),
                filters: table.columns.filter { [.symbol, .volume].contains($0.role) }.map {
                    ($0.name, $0.role == .volume ? RuleTable.volumes : RuleTable.symbols)
                },
                price: table.column(.volume)?.name,
                // Thinning of a distributed table is refused, and that of rows that nothing distinguishes.
                thins: layout?.isDistributed != true
                    && (table.columns.contains { $0.rest.contains("PRIMARY KEY") }
                        || table.constraints.contains { $0.contains("PRIMARY KEY") })
            )
        }
    }

    mutating func rules() -> [SurveyRequest] {
        rules(
            relationships: Array(repeating: .asDeclared, count: 16) + [.deny, .deny, .cascade, .nullify])
    }
}
