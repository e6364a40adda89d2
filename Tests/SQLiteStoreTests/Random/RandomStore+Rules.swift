import PriceStore
import StoreConformance

extension RandomStore {
    var ruleTables: [RuleTable] {
        tables.map { table in
            let columns = table.columns.filter { [.symbol, .volume, .generated, .up].contains($0.role) }
            return RuleTable(
                table.name, date: table.column(.date)?.name ?? "", groups: columns.map(\.name),
                filters: columns.map { column in
                    switch column.role {
                    case .volume: (column.name, RuleTable.volumes)
                    case .up: (column.name, [.integer(11), .integer(48), .text("k48"), .integer(85)])
                    default: (column.name, RuleTable.symbols)
                    }
                }, price: columns.first { $0.role == .volume }?.name)
        }
    }

    mutating func rules() -> [SurveyRequest] {
        rules(
            otherEncodings: DateEncoding.written,
            relationships: [.asDeclared, .asDeclared, .deny, .cascade, .nullify])
    }
}
