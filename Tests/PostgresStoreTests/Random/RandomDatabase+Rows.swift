import PostgresCluster
import PriceStore
import TestSupport
import StoreConformance

@testable import PostgresStore

extension RandomDatabase {
    /// Makes the tables with all their rows, and the lists that the judge looks at: what the server has really stored.
    mutating func make(_ connection: PostgresDatabase) throws -> ReferenceStore {
        // Tables of one database serve many seeds.
        if layout == nil {
            try connection.execute("DROP SCHEMA public CASCADE")
            try connection.execute("CREATE SCHEMA public")
        } else {
            // The functions of an extension are in the schema, too.
            let old = try connection.texts(
                SQLFragment(
                    "SELECT oid::regclass FROM pg_class WHERE relnamespace = 'public'::regnamespace "
                        + "AND relkind IN ('r', 'p') AND NOT relispartition"))
            for name in old { try connection.execute("DROP TABLE \(name) CASCADE") }
        }
        for statement in tables.map(\.sql) + tables.flatMap(\.indexes) {
            try connection.execute(SQLFragment(statement))
        }
        for index in tables.indices {
            try fill(tables[index], rowCount: index == 0 ? pick([0, 1, 5, 20, 45]) : pick([0, 3, 25]), connection)
        }
        for statement in compression { try connection.execute(SQLFragment(statement)) }
        // Rows that arrive in compressed chunks are beside the batches.
        if !compression.isEmpty { try fill(tables[0], rowCount: 5, from: 100, connection) }
        var reference = ReferenceStore(tables: [:], relationships: relationships)
        reference.restrictSparesRowsThatGo = true
        for table in tables { reference.tables[table.name] = try Self.read(table, connection) }
        return reference
    }

    private mutating func fill(_ table: Table, rowCount: Int, from first: Int = 0, _ connection: PostgresDatabase)
        throws
    {
        let list = table.columns.map(\.name.quotedIdentifier).joined(separator: ", ")
        let values = dateValues(count: rowCount)
        for number in first..<first + rowCount {
            let row = try table.columns.map { column in
                SQLFragment.bound(try value(column, of: table, number: number, dates: values, connection), column.type)
            }
            // A row that a constraint or a type refuses is none of the store's.
            _ = try? connection.execute(
                "INSERT INTO \(table.name.quotedIdentifier) (\(list)) VALUES (" + .joined(row, by: ", ", empty: .never)
                    + ")")
        }
    }

    private mutating func value(
        _ column: Column, of table: Table, number: Int, dates: [StoreValue], _ connection: PostgresDatabase
    ) throws -> String? {
        switch column.role {
        case .number: return "\(number + 1)"
        case .key:
            let key = (number * 37 + 11) % 101 - (chance(5) ? 60 : 0)
            return column.type == "text" ? (key % 2 == 0 ? "k" : "K") + "\(key)" : "\(key)"
        case .date: return pick(dates).serverText
        case .symbol: return pick(["XAU", "xau", "EUR", "b?", nil, ""])
        case .volume: return pick([nil, "0", "1", "5", "7"] + (column.type == "bigint" ? [] : ["2.5", "2.50"]))
        case .up, .other:
            guard
                let key = relationships.first(where: { $0.source == table.name && $0.sourceAttributes == [column.name] }
                )
            else { return nil }
            if chance(25) { return nil }
            let place = Int.random(in: 0..<45, using: &random)
            let target = key.destination.quotedIdentifier
            return try connection.texts(
                SQLFragment(
                    "SELECT \(key.destinationAttributes[0].quotedIdentifier)::text FROM \(target) ORDER BY n OFFSET "
                        + "\(place) % greatest(1, (SELECT count(*) FROM \(target))) LIMIT 1")
            ).first
        }
    }

    mutating func written(_ instant: Instant, _ value: StoreValue) -> StoreValue {
        switch (encoding, value) {
        case (.native, _):
            let (day, time) = dayAndTime(instant)
            // Local times in a gap or a repeated hour, and days.
            return .text(
                pick(["\(day) \(time)", day, "2026-03-29 02:30:00", "2026-10-25 02:30:00", "2026-03-08 02:10:00"]))
        case (_, .integer(let number)):
            return .text(pick(["\(number).5", "\(number &+ 1)", "\(number)", "\(number)e0"]))
        case (_, .real(let number)): return .text(pick(["\(number.nextUp)", "\(number.nextDown)", "\(number)"]))
        case (_, .text(let text)): return spelling(instant, text)
        default: return value
        }
    }

    mutating func mess() -> StoreValue {
        let texts =
            encoding == .native
            ? ["infinity", "-infinity", "1970-06-01", "9999-12-31 23:59:59", "1971-01-01", "0004-03-15"]
            : [
                "0", "", "soon", "2026-02-30", "20261021", "Infinity", "-Infinity", "NaN", "9223372036854775807",
                "-9223372036854775808", "-5", "1", "1e300", "0.25", "1970-06-01", "20261399", "19700601",
                "9999-12-31T23:59:59Z", "34560000", "0000-01-01", "2026-10-22Z", "2026-10-22\n",
            ]
        return pick([.null] + texts.map(StoreValue.text) + (encoding == .native ? [] : encoding.sentinels))
    }

    /// The rows that are in a table, as the judge wants them.
    static func read(_ table: Table, _ connection: PostgresDatabase) throws -> ReferenceStore.Table {
        // The text of a `real` has fewer digits than its value.
        let list = table.columns
            .map { $0.name.quotedIdentifier + ($0.type == "real" ? "::float8" : "") }.joined(separator: ", ")
        let result = try connection.execute("SELECT n, \(list) FROM \(table.name.quotedIdentifier) ORDER BY n")
        let key = try connection.table(table.name)?.entity.primaryKey ?? []
        let order = try connection.numbers(
            SQLFragment(
                "SELECT n FROM \(table.name.quotedIdentifier) ORDER BY \((key + ["n"]).map(\.quotedIdentifier).joined(separator: ", "))"
            ))
        return ReferenceStore.Table(
            attributes: table.columns.map { Attribute(name: $0.name, affinity: $0.kind, isRequired: $0.isRequired) },
            rows: try result.rows.map { row in
                ReferenceStore.Row(
                    id: Int64(try row.int("n")),
                    values: Dictionary(
                        uniqueKeysWithValues: table.columns.enumerated().map { place, column in
                            (column.name, row.value(at: place + 1))
                        }))
            },
            keyOrder: order.map { Int64($0) })
    }
}
