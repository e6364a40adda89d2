import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// Enumerated types, and domains of them.
@Suite(.needsPostgres)
struct EnumTests {
    @Test func aDomainIsComparedAsItsType() throws {
        let database = try TestDatabase(
            ExpiringRows.schema + """
                CREATE SCHEMA other; CREATE TYPE other.side AS ENUM ('sell', 'buy'); CREATE DOMAIN step AS other.side;
                CREATE DOMAIN way AS step;
                ALTER TABLE q ADD side other.side, ADD way way;
                UPDATE q SET side = CASE WHEN id % 2 = 0 THEN 'buy' ELSE 'sell' END::other.side, way = 'buy';
                CREATE TABLE copy AS SELECT * FROM q
                """)
        let reader = try database.reader()
        #expect(
            try reader.entity(named: "q")?.attributes.map(\.labels) == [[], [], ["sell", "buy"], ["sell", "buy"]])
        let counts: [(StorePredicate, Int)] = [
            (.compare("side", .equal, .text("buy")), 149), (.isIn("side", [.text("buy"), .text("sell")]), 299),
            (.compare("way", .equal, .text("buy")), 299), (.compare("way", .greater, .text("sell")), 299),
            (.isIn("way", [.text("sell")]), 0),
        ]
        var perWay = ExpiringRows.request
        perWay.keepers.keepLast = KeepLast(count: 1000, groupedBy: ["way"], among: .all, date: .of("at"))
        #expect(try database.dryAndReal(perWay).0.expiredCount == 0)
        for (filter, count) in counts {
            var request = ExpiringRows.request
            request.filter = filter
            #expect(try database.dryAndReal(request).0.expiredCount == count)
            try database.run(script: "TRUNCATE q; INSERT INTO q SELECT * FROM copy")
        }
    }
}
