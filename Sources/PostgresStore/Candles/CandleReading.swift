import PriceStore

/// A numeric column that is read for candles without rounding.
struct CandleNumberSQL {
    let sql: String
    private let alias: String
    private let type: ColumnType

    init(_ name: String, _ scope: RowScope, as alias: String, isCount: Bool = false) throws(StoreError) {
        let attribute = try scope.attribute(name)
        let type = scope.table.type(attribute)
        (self.alias, self.type) = (alias, isCount ? .integer : type)
        // A single-precision number as it is stored, not its shortest text.
        sql = scope.column(attribute.name) + (type == .real ? "::float8" : "")
    }

    var column: NamedSQL { (alias, SQLFragment(sql)) }

    func number(_ row: ServerRow) throws -> CandleNumber? {
        guard let text = try row.optionalText(alias) else { return nil }
        return switch type {
        case .integer: Int64(text).map(CandleNumber.integer)
        case .real: Double(text).flatMap { CandleNumber(.real($0)) }
        case .numeric: DecimalNumber(text).map(CandleNumber.decimal)
        default: nil
        }
    }
}

/// A date column that is read for candles, as a value and an instant.
struct CandleTimeSQL {
    let date: DateSQL
    private let alias: String
    private let instantAlias: String

    init(_ date: DateAttribute, _ scope: RowScope, as alias: String) throws(StoreError) {
        self.date = try scope.date(date)
        (self.alias, instantAlias) = (alias, "\(alias)_instant")
    }

    var columns: [NamedSQL] {
        let instant =
            date.reading == .parsed ? date.orderValue : SQLFragment(date.instantSQL(date.column))
        return [(alias, SQLFragment(date.column)), (instantAlias, instant)]
    }

    func time(_ row: ServerRow) throws -> CandleTime? {
        guard let text = try row.optionalText(alias),
            let instant = date.instant(try row.value(instantAlias))
        else { return nil }
        return CandleTime(instant, [.integer, .real].contains(date.type) ? try row.value(alias) : .text(text))
    }
}

/// The columns of a table of candles besides its key, in the order of ``Candle/fields``.
struct CandleSQL {
    private var numbers: [CandleNumberSQL] = []
    private var times: [CandleTimeSQL] = []

    init(_ names: CandleNames, _ date: DateAttribute, _ scope: RowScope) throws(StoreError) {
        for field in Candle.fields {
            let alias = "candle_\(field.rawValue)"
            if field == .openTime || field == .closeTime {
                times.append(try CandleTimeSQL(date.named(names[field]), scope, as: alias))
            } else {
                numbers.append(try CandleNumberSQL(names[field], scope, as: alias, isCount: field == .count))
            }
        }
    }

    var columns: [NamedSQL] { numbers.map(\.column) + times.flatMap(\.columns) }

    func candle(_ row: ServerRow) throws -> Candle? {
        let (numbers, times) = (try numbers.map { try $0.number(row) }, try times.map { try $0.time(row) })
        return Candle {
            numbers[$0]
        } time: {
            times[$0 - numbers.count]
        }
    }
}

/// The rows that become candles, ordered by date and key.
///
/// Rows without a key are ordered by date and then by their values. A dry run and a run then agree, wherever the server stores the rows.
struct CandleRows {
    private let time: CandleTimeSQL
    private let price: (price: CandleNumberSQL, volume: CandleNumberSQL?)?
    private let candle: CandleSQL?
    private let groups: [(name: String, type: ColumnType)]
    private let columns: [NamedSQL]
    private let order: [NamedSQL]
    private let store: String

    init(_ rollup: Rollup, of scope: RowScope) throws {
        store = scope.table.store
        let time = try CandleTimeSQL(rollup.date, scope, as: "date")
        self.time = time
        let numbers: [NamedSQL]
        switch rollup.source {
        case .prices(let price, let volume):
            let price = try CandleNumberSQL(price, scope, as: "price")
            let volume = try volume.map { try CandleNumberSQL($0, scope, as: "volume") }
            self.price = (price, volume)
            candle = nil
            numbers = [price.column] + (volume.map { [$0.column] } ?? [])
        case .candles(let names):
            let candle = try CandleSQL(names, rollup.date, scope)
            (price, self.candle) = (nil, candle)
            numbers = candle.columns
        }
        let groups = try rollup.groupedBy.map { try scope.attribute($0) }
        self.groups = groups.enumerated().map { ("group_\($0)", scope.table.type($1)) }
        // 1.0 and 1.00 are the same group.
        let group = groups.enumerated().map { place, attribute -> NamedSQL in
            let column = scope.column(attribute.name)
            let isNumeric = scope.table.type(attribute) == .numeric
            return ("group_\(place)", SQLFragment(isNumeric ? "trim_scale(\(column))" : column))
        }
        columns = time.columns + numbers + group
        let ties = scope.key.isEmpty ? numbers.map(\.sql) : scope.key.map { SQLFragment($0) }
        order = ([time.date.orderValue] + ties).enumerated().map { ("order_\($0)", $1) }
    }

    /// A query of the rows that a DELETE returns or a SELECT finds.
    func query(_ statement: (SQLFragment) -> SQLFragment) -> SQLFragment {
        let names = [columns, order].map { $0.map(\.name).joined(separator: ", ") }
        return "WITH found AS (" + statement(.columns(columns + order))
            + ") SELECT \(names[0]) FROM found ORDER BY \(names[1])"
    }

    /// The rows in a result of ``query(_:)``.
    func rows(_ result: ServerResult) throws -> [CandleBuilder.Row] {
        try result.rows.map { row in
            guard let time = try time.time(row), let candle = try candle(row, time)
            else { throw StoreError(.constraint, store: store, message: "a row has no date or no price") }
            let group = try groups.map { name, type in
                guard let value = try row.optionalText(name) else { return StoreValue.null }
                // NaN does not equal itself, but it is a single group.
                if value == "NaN" { return .text(value) }
                if type == .numeric { return Int64(value).map(StoreValue.integer) ?? .text(value) }
                return [.integer, .real].contains(type) ? try row.value(name) : .text(value)
            }
            return (candle, time.instant, group)
        }
    }

    private func candle(_ row: ServerRow, _ time: CandleTime) throws -> Candle? {
        guard let (price, volume) = price else { return try candle?.candle(row) }
        guard let number = try price.number(row) else { return nil }
        var sum = CandleNumber.integer(0)
        if let volume, try row.optionalText("volume") != nil {
            guard let number = try volume.number(row) else { return nil }
            sum = number
        }
        return try Candle(price: number, volume: sum, at: time)
    }
}
