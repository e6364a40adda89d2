package import PriceStore

extension PostgresDatabase {
    /// Why rows cannot become candles: a type that would round them, a key that would not identify candles, tables on several servers, or a
    /// missing privilege.
    package func candleObstacle(
        _ rollup: Rollup, of entity: Entity, into target: Entity?
    ) throws(StoreError) -> String? {
        try run("looking at the columns of \(rollup.target)") {
            try CandleObstacle(session: self, rollup: rollup, source: requireTable(entity.name)).text(into: target)
        }
    }
}

/// What prevents the rows of a table from becoming candles.
struct CandleObstacle {
    let session: PostgresDatabase
    let rollup: Rollup
    let source: PostgresTable

    /// Why rows cannot become candles, as a clause; nil if they can.
    func text(into target: Entity?) throws -> String? {
        if source.isDistributed { return Self.isDistributed(source) }
        if let reason = try sourceObstacle() { return reason }
        guard try session.exists("SELECT 1 WHERE current_setting('track_counts')::bool") else {
            return "the server does not count changed rows (track_counts), and what triggers do would not be seen"
        }
        let wanted = try CandleColumns(rollup, of: source)
        guard target != nil, let table = try session.table(rollup.target) else {
            return try creationObstacle()
        }
        if table.isDistributed { return Self.isDistributed(table) }
        if table.isColumnar || table.aggregate != nil {
            return
                "\(table.name) is \(table.isColumnar ? "stored by columns" : "a continuous aggregate"), and candles are "
                + "rows that change"
        }
        if let reason = try session.rowSecurityObstacle([table]) { return reason }
        return try columnObstacle(wanted, table) ?? keyObstacle(wanted, table)
            ?? privilegeObstacle(table)
    }

    private static func isDistributed(_ table: PostgresTable) -> String {
        "\(table.name) is on several servers (Citus), and candles are made of rows of one server in a table beside them"
    }

    private func sourceObstacle() throws -> String? {
        let scope = RowScope(source)
        for name in rollup.groupedBy {
            let attribute = try scope.attribute(name)
            let joins = try session.exists(
                "SELECT 1 FROM pg_attribute a LEFT JOIN pg_collation c ON c.oid = a.attcollation "
                    + "WHERE a.attrelid = \(scope.table.oid) AND a.attname = " + .bound(attribute.name, "name")
                    + " AND (a.atttypid = to_regtype('citext') OR NOT coalesce(c.collisdeterministic, true))")
            if joins {
                return
                    "\(scope.table.name).\(attribute.name) treats different texts as equal, so groups cannot be distinguished"
            }
        }
        guard case .prices(let price, let volume) = rollup.source else { return nil }
        for name in [price, volume].compactMap(\.self) {
            let attribute = try scope.attribute(name)
            guard ![.integer, .real, .numeric].contains(scope.table.type(attribute)) else { continue }
            return
                "\(scope.table.name).\(attribute.name) is of the type \(attribute.declaredType), and prices and volumes are "
                + "numbers"
        }
        return nil
    }

    private func columnObstacle(_ wanted: CandleColumns, _ table: PostgresTable) -> String? {
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

    private func keyObstacle(_ wanted: CandleColumns, _ table: PostgresTable) -> String? {
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
        let row = try session.row(
            "SELECT current_user AS user, string_agg(p, ', ') AS missing FROM unnest('{SELECT,INSERT,UPDATE}'::text[]) AS p "
                + "WHERE NOT has_table_privilege(\(table.oid)::oid, p)")
        guard let row, let missing = try row.optionalText("missing") else { return nil }
        let user = try row.text("user")
        return "the user \(user) may not write candles: GRANT \(missing) ON \(table.sql) TO \(user.quotedIdentifier)"
    }

    private func creationObstacle() throws -> String? {
        let row = try session.row(
            "SELECT current_user AS user, n.nspname, has_schema_privilege(n.oid, 'CREATE') AS may_create FROM pg_namespace n "
                + "WHERE n.nspname = coalesce(" + Self.schema(of: rollup.target) + ", current_schema())")
        guard let row else {
            return "the search path has no schema in which \(rollup.target) can be created"
        }
        let (user, schema) = try (row.text("user"), row.text("nspname"))
        if try !row.isTrue("may_create") {
            return "the user \(user) may not create the table \(rollup.target): GRANT CREATE ON SCHEMA "
                + "\(schema.quotedIdentifier) TO \(user.quotedIdentifier), or create it yourself"
        }
        if let name = rollup.target.split(separator: ".").last, name.utf8.count > Self.longestName {
            return "the name \(rollup.target) is longer than \(Self.longestName) bytes, the limit of the server"
        }
        return nil
    }

    /// The maximum length of a name in bytes. Source: PostgreSQL manual, "Identifiers and Key Words".
    private static let longestName = 63

    /// The schema in the name of a table, as a value; NULL if the name has none.
    static func schema(of target: String) -> SQLFragment {
        "(SELECT nspname FROM pg_namespace WHERE starts_with(" + .bound(target, "text") + ", nspname || '.') LIMIT 1)"
    }
}

extension SurveyRows {
    /// Why rows cannot become candles: some of them, or candles of their buckets, are in compressed chunks.
    ///
    /// If nothing can be expired, the request is that of a check, and the oldest row decides.
    func compressedObstacle(_ survey: Findings) throws -> String? {
        let table = scope.table
        guard let rollup = request.deleting.rollup, let oldest = survey.dates.oldest,
            survey.expiredAloneCount > 0 || request.cutoff <= request.date.earliest
        else { return nil }
        let end = max(cutoff, oldest.advanced(byMicroseconds: 1))
        if table.isHypertable,
            try !CompressedChunks(session: session, scope: scope, date: date).parts(before: end).parts.isEmpty
        {
            return TimescaleSQL.isCompressed(table)
        }
        guard let target = try session.table(rollup.target), target.isHypertable else { return nil }
        let time = try RowScope(target).date(rollup.date.named(rollup.names[.time]))
        let chunkEnd = DateSQL(date: time.date, column: "chunk.high::\(time.orderType)", type: time.type)
        let isCompressed = try session.exists(
            "SELECT 1 FROM (" + TimescaleSQL.compressedChunks(target) + ") AS packed JOIN ("
                + TimescaleSQL.chunks(target, type: time.type)
                + ") AS chunk (oid, schema, name, low, high) ON chunk.oid = packed.relid WHERE "
                + chunkEnd.bound(.greater, .end(rollup.buckets.bucket(at: oldest).lowerBound)))
        return isCompressed
            ? "candles of \(target.name) of these dates are in compressed chunks, whose rows the server does not lock"
            : nil
    }
}
