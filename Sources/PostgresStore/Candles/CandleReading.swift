import PriceStore

/// A column of numbers, as it is read for candles: nothing is rounded.
struct CandleNumberSQL {
    let sql: String
    private let type: ColumnType

    init(_ name: String, _ scope: RowScope, store: String) throws(StoreError) {
        let attribute = try scope.attribute(name, store: store)
        type = scope.table.type(attribute)
        // The number that a single-precision column has, and not the shortest text for it.
        sql = scope.column(attribute.name) + (type == .real ? "::float8" : "")
    }

    /// The number that the server sent; nil: it is not a number.
    func number(_ text: String?) -> CandleNumber? {
        guard let text else { return nil }
        return switch type {
        case .integer: Int64(text).map(CandleNumber.integer)
        case .real: Double(text).flatMap { CandleNumber(.real($0)) }
        case .numeric: DecimalNumber(text).map(CandleNumber.decimal)
        default: nil
        }
    }
}

/// A column of dates, as it is read for candles: the value and the instant.
struct CandleTimeSQL {
    let date: DateSQL
    let columns: [SQLFragment]

    init(_ date: DateAttribute, _ scope: RowScope, store: String) throws(StoreError) {
        let date = try scope.date(date, store: store)
        self.date = date
        columns = [
            SQLFragment(date.column),
            date.reading == .parsed ? date.orderValue : SQLFragment(date.instantSQL(date.column)),
        ]
    }

    /// The time in two columns; nil: it cannot be read.
    func time(_ row: ArraySlice<String?>, types: ArraySlice<Int>) -> CandleTime? {
        guard let value = row.first, let value, let place = row.last, let type = types.last,
            let instant = date.instant(place, type: type)
        else { return nil }
        return CandleTime(
            instant, [.integer, .real].contains(date.type) ? StoreValue(value, type: types.first ?? 0) : .text(value))
    }
}

/// The columns of a table of candles besides its key, in the order of ``Candle/fields``.
struct CandleSQL {
    private let numbers: [CandleNumberSQL]
    private let times: [CandleTimeSQL]
    let columns: [SQLFragment]

    init(_ names: CandleNames, _ date: DateAttribute, _ scope: RowScope, store: String) throws(StoreError) {
        var numbers: [CandleNumberSQL] = []
        var times: [CandleTimeSQL] = []
        for field in Candle.fields {
            if field == .openTime || field == .closeTime {
                times.append(try CandleTimeSQL(date.named(names[field]), scope, store: store))
            } else {
                numbers.append(try CandleNumberSQL(names[field], scope, store: store))
            }
        }
        self.numbers = numbers
        self.times = times
        columns = numbers.map { SQLFragment($0.sql) } + times.flatMap(\.columns)
    }

    /// The candle in the columns of a row; nil: it is not a candle.
    func candle(_ row: ArraySlice<String?>, types: ArraySlice<Int>) -> Candle? {
        Candle { place in
            let text = row[row.startIndex + place]
            // A count may be in a column of any type of whole numbers.
            return Candle.fields[place] == .count
                ? text.flatMap { Int64($0) }.map(CandleNumber.integer) : numbers[place].number(text)
        } time: { place in
            let first = numbers.count + 2 * (place - numbers.count)
            return times[place - numbers.count].time(
                row[row.startIndex + first..<row.startIndex + first + 2],
                types: types[types.startIndex + first..<types.startIndex + first + 2])
        }
    }
}

/// The rows that become candles, in the order of their dates and keys.
///
/// Where rows have no key, those of one date are in the order of what they hold, so that a dry run and a run agree wherever the
/// server keeps them.
struct CandleRows {
    private let time: CandleTimeSQL
    private let price: (price: CandleNumberSQL, volume: CandleNumberSQL?)?
    private let candle: CandleSQL?
    /// The types of the group's columns.
    private let groups: [ColumnType]
    private let values: [SQLFragment]
    private let order: [SQLFragment]
    private let key: [String]
    private let store: String

    /// - Parameter withKeys: whether the key's columns come with each row.
    init(_ rollup: Rollup, of scope: RowScope, withKeys: Bool, store: String) throws {
        self.store = store
        let time = try CandleTimeSQL(rollup.date, scope, store: store)
        self.time = time
        let numbers: [SQLFragment]
        switch rollup.source {
        case .prices(let price, let volume):
            let price = try CandleNumberSQL(price, scope, store: store)
            let volume = try volume.map { try CandleNumberSQL($0, scope, store: store) }
            self.price = (price, volume)
            candle = nil
            numbers = [SQLFragment(price.sql), SQLFragment(volume?.sql ?? "0")]
        case .candles(let names):
            let columns = try CandleSQL(names, rollup.date, scope, store: store)
            (price, candle) = (nil, columns)
            numbers = columns.columns
        }
        let groups = try rollup.groupedBy.map { try scope.attribute($0, store: store) }
        self.groups = groups.map { scope.table.type($0) }
        // 1.0 and 1.00 are one group.
        let group = groups.map { attribute in
            let column = scope.column(attribute.name)
            return SQLFragment(scope.table.type(attribute) == .numeric ? "trim_scale(\(column))" : column)
        }
        key = withKeys ? scope.key : []
        values = time.columns + numbers + group + key.map { SQLFragment($0) }
        order = [time.date.orderValue] + (scope.key.isEmpty ? numbers : scope.key.map { SQLFragment($0) })
    }

    /// The query of rows that a DELETE returns, or a SELECT finds.
    ///
    /// - Parameter statement: is given the list of what it returns.
    func query(_ statement: (SQLFragment) -> SQLFragment) -> SQLFragment {
        func named(_ list: [SQLFragment], _ letter: String) -> [SQLFragment] {
            list.enumerated().map { $1 + " AS \(letter)\($0)" }
        }
        func names(_ list: [SQLFragment], _ letter: String) -> String {
            list.indices.map { "\(letter)\($0)" }.joined(separator: ", ")
        }
        let list = SQLFragment.joined(named(values, "c") + named(order, "o"), by: ", ", empty: .never)
        return "WITH found AS (" + statement(list) + ") SELECT \(names(values, "c")) FROM found ORDER BY "
            + names(order, "o")
    }

    /// The rows of a result of ``query(_:)``.
    func rows(_ result: ServerResult) throws -> [CandleBuilder.Row] {
        try result.rows.map { row in
            guard let time = time.time(row[..<2], types: result.types[..<2]), let candle = try candle(row, time, result)
            else { throw StoreError(.constraint, store: store, message: "a row has no date or no price") }
            let first = row.count - key.count - groups.count
            let group = groups.enumerated().map { place, type in
                let value = row[first + place]
                guard let value else { return StoreValue.null }
                // NaN is not equal to itself, but it is one group.
                if value == "NaN" { return .text(value) }
                if type == .numeric { return Int64(value).map(StoreValue.integer) ?? .text(value) }
                return [.integer, .real].contains(type)
                    ? StoreValue(value, type: result.types[first + place]) : .text(value)
            }
            return CandleBuilder.Row(candle, at: time.instant, group: group)
        }
    }

    /// The keys of the rows of a result, as their texts and types.
    func keys(_ result: ServerResult) -> (rows: [ArraySlice<String?>], types: ArraySlice<Int>) {
        (result.rows.map { $0.suffix(key.count) }, result.types.suffix(key.count))
    }

    private func candle(_ row: [String?], _ time: CandleTime, _ result: ServerResult) throws -> Candle? {
        guard let (price, volume) = price else { return candle?.candle(row[2...], types: result.types[2...]) }
        guard let number = price.number(row[2]) else { return nil }
        var sum = CandleNumber.integer(0)
        if let volume, row[3] != nil {
            guard let number = volume.number(row[3]) else { return nil }
            sum = number
        }
        return try Candle(price: number, volume: sum, at: time)
    }
}
