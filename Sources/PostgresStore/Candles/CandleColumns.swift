package import PriceStore

/// The columns that a table of candles needs for its rows.
struct CandleColumns {
    struct Column {
        let name: String
        /// The type in a CREATE TABLE.
        var type: String
        /// The largest number of digits after the decimal point in a sum of decimals; nil if it is unlimited, or for other columns.
        var scale: Int?
        var isSum = false
        var mayBeNull = false
    }

    /// In the order of a created table: the group, the time, all others.
    var columns: [Column] = []

    init(_ rollup: Rollup, of table: PostgresTable) throws(StoreError) {
        let scope = RowScope(table)
        func type(_ name: String) throws(StoreError) -> String { try scope.attribute(name).declaredType }
        for name in rollup.groupedBy {
            let attribute = try scope.attribute(name)
            columns.append(
                Column(
                    name: rollup.names[group: name], type: try type(name), mayBeNull: !attribute.isRequired))
        }
        let date = try type(rollup.date.name)
        for field in CandleField.allCases {
            var column = Column(name: rollup.names[field], type: date)
            switch (rollup.source, field) {
            case (_, .time), (_, .openTime), (_, .closeTime): break
            case (_, .count): column.type = "bigint"
            case (.candles(let names), _):
                column.type = try type(names[field])
                (column.isSum, column.scale) = (field == .volume || field == .priceVolume, Self.scale(column.type))
            case (.prices(_, let volume), .volume):
                try column.takeSum(of: [volume], scope)
            case (.prices(let price, let volume), .priceVolume):
                try column.takeSum(of: [price, volume], scope)
            case (.prices(let price, _), _): column.type = try type(price)
            }
            columns.append(column)
        }
    }

    /// The digits after the decimal point of a type, by its name; nil if unlimited.
    static func scale(_ type: String) -> Int? {
        if ["smallint", "integer", "bigint"].contains(type) { return 0 }
        guard type.hasPrefix("numeric("), let comma = type.firstIndex(of: ",") else { return nil }
        return Int(type[comma...].dropFirst().prefix { $0.isNumber || $0 == "-" })
    }
}

extension CandleColumns.Column {
    /// Whether a column of another type, by its name, holds all values of this one with every digit.
    func isHeld(by other: String) -> Bool {
        if type == other || type == "real" && other == "double precision" { return true }
        guard isSum, !type.hasPrefix("double"), type != "real" else { return ColumnType.name(other, holdsAllOf: type) }
        guard let digits = CandleColumns.scale(other) else { return other == "numeric" }
        return other.hasPrefix("numeric") && scale.map { $0 <= digits } ?? false
    }

    /// Makes it the sum of one column, or of the product of two.
    fileprivate mutating func takeSum(of names: [String?], _ scope: RowScope) throws(StoreError) {
        isSum = true
        var types: [ColumnType] = []
        var scales: [Int?] = []
        for name in names.compactMap(\.self) {
            let attribute = try scope.attribute(name)
            types.append(scope.table.type(attribute))
            scales.append(CandleColumns.scale(attribute.declaredType))
        }
        type = types.contains(.real) ? "double precision" : types.contains(.numeric) ? "numeric" : "bigint"
        scale = scales.contains(nil) ? nil : scales.reduce(0) { $0 + ($1 ?? 0) }
    }
}

extension PostgresWriter {
    /// Creates a table whose column types are those of the rows.
    package func createCandles(_ rollup: Rollup, of entity: Entity) throws(StoreError) {
        try run("creating the table \(rollup.target)", isRepeatable: false) {
            let wanted = try CandleColumns(rollup, of: requireTable(entity.name))
            let schema = try texts("SELECT " + CandleObstacle.schema(of: rollup.target)).first
            let relation = schema.map { String(rollup.target.dropFirst($0.count + 1)) } ?? rollup.target
            let table = (schema.map { "\($0.quotedIdentifier)." } ?? "") + relation.quotedIdentifier
            var parts = wanted.columns.map {
                "\($0.name.quotedIdentifier) \($0.type)\($0.mayBeNull ? "" : " NOT NULL")"
            }
            let key = wanted.columns.contains(where: \.mayBeNull) ? "UNIQUE NULLS NOT DISTINCT" : "PRIMARY KEY"
            parts.append("\(key) (\(rollup.key.map(\.quotedIdentifier).joined(separator: ", ")))")
            try transaction(.normal) { _ = try execute("CREATE TABLE \(table) (\(parts.joined(separator: ", ")))") }
            catalog = PostgresCatalog()
        }
    }
}
