import CoreDataSamples
import Testing

/// The tests' own Core Data stores are as Core Data would make them.
struct GoldObjectsTests {
    @Test func makesPointsThatBelongToASymbol() throws {
        let store = try TemporaryStore()
        func columns(_ table: String) throws -> String {
            try store.rows("SELECT group_concat(name || ' ' || type, ', ') FROM pragma_table_info('\(table)')").joined()
        }
        try GoldObjects(symbols: ["XAUUSD", "XAUEUR"]).write(to: store.path)
        #expect(
            try columns("ZYAHOOGOLDPRICEPOINT")
                == "Z_PK INTEGER, Z_ENT INTEGER, Z_OPT INTEGER, ZVOLUME INTEGER, ZSYMBOL INTEGER, ZHIGH FLOAT, ZLOW FLOAT, "
                + "ZOPEN FLOAT, ZPRICE FLOAT, ZUPDATETIME TIMESTAMP")
        #expect(try columns("ZSYMBOL") == "Z_PK INTEGER, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR")
        // 2024-12-31T23:10:00Z is 757379400 seconds after 2001-01-01T00:00:00Z.
        #expect(
            try store.rows(
                "SELECT min(ZUPDATETIME), max(ZUPDATETIME), min(typeof(ZUPDATETIME)) FROM ZYAHOOGOLDPRICEPOINT")
                == ["757379400|757382340|integer"])
        #expect(
            try store.rows(
                "SELECT ZNAME, count(*) FROM ZYAHOOGOLDPRICEPOINT AS p JOIN ZSYMBOL AS s ON s.Z_PK = p.ZSYMBOL GROUP BY 1"
            )
                == ["XAUEUR|50", "XAUUSD|50"])
        #expect(
            try store.rows("SELECT * FROM Z_PRIMARYKEY ORDER BY Z_ENT") == [
                "1|Symbol|0|2", "2|YahooGoldPricePoint|0|100",
            ])
        #expect(
            try store.rows("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name") == [
                "ZYAHOOGOLDPRICEPOINT_ZSYMBOL_INDEX", "Z_YahooGoldPricePoint_byUpdateTime",
            ])
        #expect(try store.rows("PRAGMA auto_vacuum") == ["2"] && store.rows("PRAGMA journal_mode") == ["wal"])
    }
}
