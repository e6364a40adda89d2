package import PriceStore

/// The columns of a table of candles, as the rows need them.
struct CandleColumns {
    struct Column {
        let name: String
        /// The type in a CREATE TABLE.
        var type: String
        /// Of a sum of decimals: the largest number of digits after the decimal point; nil: any number, or it is no such sum.
        var scale: Int?
        var isSum = false
        var mayBeNull = false
    }

    /// In the order of a table that is created: the group, the time, all else.
    var columns: [Column] = []

    /// - Throws: ``StoreError`` if the table lacks a column.
    init(_ rollup: Rollup, of table: PostgresTable, store: String) throws(StoreError) {
        let scope = RowScope(table)
        func type(_ name: String) throws(StoreError) -> String {
            table.typeNames[try scope.attribute(name, store: store).name] ?? "text"
        }
        for name in rollup.groupedBy {
            let attribute = try scope.attribute(name, store: store)
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
                try column.takeSum(of: [volume], scope, store)
            case (.prices(let price, let volume), .priceVolume):
                try column.takeSum(of: [price, volume], scope, store)
            case (.prices(let price, _), _): column.type = try type(price)
            }
            columns.append(column)
        }
    }

    /// The digits after the point of a type, by its name; nil: any number.
    static func scale(_ type: String) -> Int? {
        if ["smallint", "integer", "bigint"].contains(type) { return 0 }
        guard type.hasPrefix("numeric("), let comma = type.firstIndex(of: ",") else { return nil }
        return Int(type[comma...].dropFirst().prefix { $0.isNumber || $0 == "-" })
    }
}

extension CandleColumns.Column {
    /// Whether a column of another type, by its name, has all values of this one, digit by digit.
    fileprivate func isHeld(by other: String) -> Bool {
        if type == other || type == "real" && other == "double precision" { return true }
        guard isSum, !type.hasPrefix("double"), type != "real" else { return ColumnType.name(other, holdsAllOf: type) }
        guard let digits = CandleColumns.scale(other) else { return other == "numeric" }
        return other.hasPrefix("numeric") && scale.map { $0 <= digits } ?? false
    }

    /// Becomes the sum of one column, or of the product of two.
    fileprivate mutating func takeSum(of names: [String?], _ scope: RowScope, _ store: String) throws(StoreError) {
        isSum = true
        var types: [ColumnType] = []
        var scales: [Int?] = []
        for name in names.compactMap(\.self) {
            let attribute = try scope.attribute(name, store: store)
            types.append(scope.table.type(attribute))
            scales.append(CandleColumns.scale(scope.table.typeNames[attribute.name] ?? ""))
        }
        type = types.contains(.real) ? "double precision" : types.contains(.numeric) ? "numeric" : "bigint"
        scale = scales.contains(nil) ? nil : scales.reduce(0) { $0 + ($1 ?? 0) }
    }
}

extension PostgresDatabase {
    /// Why rows cannot become candles: types that would round them, keys that would not identify candles, tables on several
    /// servers, and rights that the user lacks.
    package func candleObstacle(
        _ rollup: Rollup, of entity: Entity, into target: Entity?
    ) throws(StoreError) -> String? {
        try run("looking at the columns of \(rollup.target)") {
            let source = try requireTable(entity.name)
            if source.isDistributed { return Self.isDistributed(source) }
            if let reason = try sourceObstacle(rollup, RowScope(source)) { return reason }
            guard try exists(SQLFragment("SELECT 1 WHERE current_setting('track_counts')::bool")) else {
                return "the server does not count changed rows (track_counts), and what triggers do would not be seen"
            }
            let wanted = try CandleColumns(rollup, of: source, store: name)
            guard target != nil, let table = try table(rollup.target) else {
                return try creationObstacle(rollup, wanted, source)
            }
            if table.isDistributed { return Self.isDistributed(table) }
            if table.isColumnar || table.aggregate != nil {
                return
                    "\(table.name) is \(table.isColumnar ? "stored by columns" : "a continuous aggregate"), and candles are "
                    + "rows that change"
            }
            if try isRowSecurityActive(table) {
                return "row security of \(table.name) applies to this user, and candles that it hides would be lost"
            }
            return try columnObstacle(wanted, source, table) ?? keyObstacle(rollup, wanted, table)
                ?? privilegeObstacle(table)
        }
    }

    /// Why rows cannot become candles because some of them, or candles of their buckets, are in compressed chunks.
    ///
    /// A request for which nothing can be expired is that of a check: then the oldest row decides.
    func compressedObstacle(_ rows: SurveyRows, _ survey: Findings) throws -> String? {
        let (table, request) = (rows.scope.table, rows.request)
        guard let rollup = request.rollup, let oldest = survey.oldest,
            survey.expiredAloneCount > 0 || request.cutoff <= request.date.earliest
        else { return nil }
        let end = max(rows.cutoff, oldest.advanced(byMicroseconds: 1))
        if table.isHypertable, try !segmentParts(rows.scope, rows.date, before: end, besides: []).parts.isEmpty {
            return Self.isCompressed(table)
        }
        guard let target = try self.table(rollup.target), target.isHypertable else { return nil }
        let time = try RowScope(target).date(rollup.date.named(rollup.names[.time]), store: name)
        let chunkEnd = DateSQL(date: time.date, column: "chunk.high::\(time.orderType)", type: time.type)
        let isCompressed = try exists(
            "SELECT 1 FROM (" + TimescaleSQL.compressedChunks(target) + ") AS packed JOIN ("
                + TimescaleSQL.chunks(target, type: time.type)
                + ") AS chunk (oid, schema, name, low, high) ON chunk.oid = packed.relid WHERE "
                + chunkEnd.bound(.greater, .end(rollup.buckets.bucket(at: oldest).lowerBound)))
        return isCompressed
            ? "candles of \(target.name) of these dates are in compressed chunks, whose rows the server does not lock"
            : nil
    }

    /// Why rows of compressed chunks become no candles: they are deleted by segments.
    static func isCompressed(_ table: PostgresTable) -> String {
        "expired rows of \(table.name) are in compressed chunks, and rows become candles in the order of their dates"
    }

    static let decompression = "decompress the chunks with decompress_chunk"

    private static func isDistributed(_ table: PostgresTable) -> String {
        "\(table.name) is on several servers (Citus), and candles are made of rows of one server in a table beside them"
    }

    private func sourceObstacle(_ rollup: Rollup, _ scope: RowScope) throws -> String? {
        for name in rollup.groupedBy {
            let attribute = try scope.attribute(name, store: self.name)
            let joins = try exists(
                "SELECT 1 FROM pg_attribute a LEFT JOIN pg_collation c ON c.oid = a.attcollation WHERE a.attrelid = "
                    + .bound("\(scope.table.number)", "oid") + " AND a.attname = " + .bound(attribute.name, "name")
                    + " AND (a.atttypid = to_regtype('citext') OR NOT coalesce(c.collisdeterministic, true))")
            if joins {
                return
                    "\(scope.table.name).\(attribute.name) treats different texts as equal, so groups cannot be distinguished"
            }
        }
        guard case .prices(let price, let volume) = rollup.source else { return nil }
        for name in [price, volume].compactMap(\.self) {
            let attribute = try scope.attribute(name, store: self.name)
            guard ![.integer, .real, .numeric].contains(scope.table.type(attribute)) else { continue }
            return
                "\(scope.table.name).\(attribute.name) is of the type \(attribute.declaredType), and prices and volumes are "
                + "numbers"
        }
        return nil
    }

    private func columnObstacle(_ wanted: CandleColumns, _ source: PostgresTable, _ table: PostgresTable) -> String? {
        for column in wanted.columns {
            guard let found = table.entity.attribute(named: column.name) else {
                return "\(table.name) has no attribute '\(column.name)'"
            }
            if !column.isHeld(by: found.declaredType) {
                return
                    "\(table.name).\(found.name) is of the type \(found.declaredType), which does not hold all values of the "
                    + "type \(column.type)"
            }
            if column.mayBeNull, found.isRequired {
                return
                    "\(table.name).\(found.name) is NOT NULL, but the column of \(source.name) may be NULL; make that column "
                    + "NOT NULL too"
            }
        }
        return nil
    }

    private func keyObstacle(_ rollup: Rollup, _ wanted: CandleColumns, _ table: PostgresTable) -> String? {
        let key = rollup.key.map { table.entity.attribute(named: $0)?.name }
        let indexes = table.indexes.filter { $0.isUnique && $0.isOrdered && Set($0.columns) == Set(key) }
        let list = key.compactMap(\.self).joined(separator: ", ")
        if indexes.isEmpty {
            return "\(table.name) needs a primary key or a unique index of \(list), so that each bucket has one candle"
        }
        guard wanted.columns.contains(where: \.mayBeNull), !indexes.contains(where: \.nullsAreEqual) else { return nil }
        return "the unique index of \(table.name) by \(list) must be NULLS NOT DISTINCT, because a group may be NULL"
    }

    private func privilegeObstacle(_ table: PostgresTable) throws -> String? {
        let row = try rows(
            "SELECT current_user, string_agg(p, ', ') FROM unnest('{SELECT,INSERT,UPDATE}'::text[]) AS p WHERE NOT has_table_privilege("
                + .bound("\(table.number)", "oid") + ", p)"
        ).first
        guard let user = row?[0], let missing = row?[1] else { return nil }
        return "the user \(user) may not write candles: GRANT \(missing) ON \(table.sql) TO \(user.quotedIdentifier)"
    }

    private func creationObstacle(_ rollup: Rollup, _ wanted: CandleColumns, _ source: PostgresTable) throws -> String?
    {
        let row = try rows(
            "SELECT current_user, n.nspname, has_schema_privilege(n.oid, 'CREATE'), current_setting('server_version_num')::int "
                + "FROM pg_namespace n WHERE n.nspname = coalesce(" + (try schema(of: rollup.target))
                + ", current_schema())"
        ).first
        guard let row, let user = row[0], let schema = row[1] else {
            return "the search path has no schema in which \(rollup.target) can be created"
        }
        if row[2] != "t" {
            return "the user \(user) may not create the table \(rollup.target): GRANT CREATE ON SCHEMA "
                + "\(schema.quotedIdentifier) TO \(user.quotedIdentifier), or create it yourself"
        }
        if let name = rollup.target.split(separator: ".").last, name.utf8.count > Self.longestName {
            return "the name \(rollup.target) is longer than \(Self.longestName) bytes, the limit of the server"
        }
        if let column = wanted.columns.first(where: \.mayBeNull), row[3].flatMap({ Int($0) }) ?? 0 < 150_000 {
            return
                "\(column.name) may be NULL, and before PostgreSQL 15 no key distinguishes such candles: make the column of "
                + "\(source.name) NOT NULL"
        }
        return nil
    }

    /// The maximum length of a name in bytes. Source: PostgreSQL manual, "Identifiers and Key Words".
    private static var longestName: Int { 63 }

    /// The schema that the name of a table begins with, as a value; NULL: none.
    fileprivate func schema(of target: String) throws -> SQLFragment {
        "(SELECT nspname FROM pg_namespace WHERE starts_with(" + .bound(target, "text") + ", nspname || '.') LIMIT 1)"
    }
}

extension PostgresWriter {
    /// Creates a table whose columns have the types of the rows' own.
    package func createCandles(_ rollup: Rollup, of entity: Entity) throws(StoreError) {
        try run("creating the table \(rollup.target)", isRepeatable: false) {
            let wanted = try CandleColumns(rollup, of: requireTable(entity.name), store: name)
            let schema = try rows("SELECT " + (try schema(of: rollup.target))).first?[0]
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
