import CoreDataSamples
import Testing

/// The tests' own Core Data stores are as Core Data would make them.
struct GoldObjectsTests {
    private let store: TemporaryStore

    init() throws { store = try TemporaryStore() }

    private func columns(_ table: String) throws -> String {
        try store.rows("SELECT group_concat(name || ' ' || type, ', ') FROM pragma_table_info('\(table)')").joined()
    }

    @Test func makesPointsThatBelongToASymbol() throws {
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

    @Test func makesADetailForEachPoint() throws {
        try GoldObjects(.detail).write(to: store.path)
        #expect(
            try store.rows(
                "SELECT count(*) FROM ZYAHOOGOLDPRICEPOINT AS p JOIN ZPRICEDETAIL AS d ON p.ZDETAIL = d.Z_PK "
                    + "AND d.ZPOINT = p.Z_PK WHERE p.ZSYMBOL = 'XAUUSD'") == ["100"])
    }

    @Test func makesPointsWithoutAnyRelationship() throws {
        try GoldObjects(.none).write(to: store.path)
        #expect(
            try store.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'Z%' ORDER BY name")
                == ["ZYAHOOGOLDPRICEPOINT", "Z_METADATA", "Z_MODELCACHE", "Z_PRIMARYKEY"])
    }

    @Test func recordsTheInsertOfEveryRowInAHistory() throws {
        try GoldObjects(hasHistory: true).write(to: store.path)
        #expect(
            try store.rows(
                "SELECT ZCHANGETYPE, ZENTITY, count(*), max(ZENTITYPK), typeof(ZCOLUMNS) FROM ACHANGE GROUP BY 1, 2")
                == ["0|1|1|1|null", "0|2|100|100|null"])
        #expect(try store.rows("SELECT Z_ENT, ZTIMESTAMP FROM ATRANSACTION") == ["16002|757382400.0"])
        #expect(
            try store.rows("SELECT * FROM Z_PRIMARYKEY WHERE Z_ENT > 16000 ORDER BY 1")
                == ["16001|CHANGE|0|101", "16002|TRANSACTION|0|1", "16003|TRANSACTIONSTRING|0|2"])
    }
}
