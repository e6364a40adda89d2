import Foundation
import GRDB
import Testing

/// `goldprices --core-data` makes stores as Core Data would.
struct GoldPricesCoreDataTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @discardableResult
    private func make(_ options: String...) throws -> LaunchedProgram.Ending {
        try LaunchedProgram.run(
            "goldprices", ["a", "--core-data", "--until", "2025-01-01", "--rows", "100"] + options, in: folder.url)
    }

    /// The rows of a query as text, columns separated by `|`.
    private func rows(_ sql: String) throws -> [String] {
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(path: folder.url.appending(path: "a").path, configuration: configuration)
        return try queue.read { db in
            try Row.fetchAll(db, sql: sql).map { row in
                row.databaseValues.map { "\($0.storage.value ?? "NULL")" }.joined(separator: "|")
            }
        }
    }

    private func columns(_ table: String) throws -> String {
        try rows("SELECT group_concat(name || ' ' || type, ', ') FROM pragma_table_info('\(table)')").joined()
    }

    @Test func makesPointsThatBelongToASymbol() throws {
        let end = try make("--symbols", "XAUUSD,XAUEUR")
        #expect(end.status == 0 && end.output == "a: 100 points, 2024-12-31T23:10:00Z to 2024-12-31T23:59:00Z\n")
        #expect(
            try columns("ZYAHOOGOLDPRICEPOINT")
                == "Z_PK INTEGER, Z_ENT INTEGER, Z_OPT INTEGER, ZVOLUME INTEGER, ZSYMBOL INTEGER, ZHIGH FLOAT, ZLOW FLOAT, "
                + "ZOPEN FLOAT, ZPRICE FLOAT, ZUPDATETIME TIMESTAMP")
        #expect(try columns("ZSYMBOL") == "Z_PK INTEGER, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR")
        // 2024-12-31T23:10:00Z is 757379400 seconds after 2001-01-01T00:00:00Z.
        #expect(
            try rows("SELECT min(ZUPDATETIME), max(ZUPDATETIME), min(typeof(ZUPDATETIME)) FROM ZYAHOOGOLDPRICEPOINT")
                == ["757379400|757382340|integer"])
        #expect(
            try rows(
                "SELECT ZNAME, count(*) FROM ZYAHOOGOLDPRICEPOINT AS p JOIN ZSYMBOL AS s ON s.Z_PK = p.ZSYMBOL GROUP BY 1"
            )
                == ["XAUEUR|50", "XAUUSD|50"])
        #expect(
            try rows("SELECT * FROM Z_PRIMARYKEY ORDER BY Z_ENT") == ["1|Symbol|0|2", "2|YahooGoldPricePoint|0|100"])
        #expect(
            try rows("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name") == [
                "ZYAHOOGOLDPRICEPOINT_ZSYMBOL_INDEX", "Z_YahooGoldPricePoint_byUpdateTime",
            ])
        #expect(try rows("PRAGMA auto_vacuum") == ["2"] && rows("PRAGMA journal_mode") == ["wal"])
    }

    @Test func makesADetailForEachPoint() throws {
        #expect(try make("--relationship", "detail", "--schema", "s4").status == 0)
        #expect(
            try rows(
                "SELECT count(*) FROM ZYAHOOGOLDPRICEPOINT AS p JOIN ZPRICEDETAIL AS d ON p.ZDETAIL = d.Z_PK "
                    + "AND d.ZPOINT = p.Z_PK WHERE p.ZSYMBOL = 'XAUUSD'") == ["100"])
        #expect(try rows("SELECT name FROM sqlite_schema WHERE name LIKE '%byUpdateTime'").isEmpty)
    }

    @Test func makesPointsWithoutAnyRelationship() throws {
        #expect(try make("--relationship", "none").status == 0)
        #expect(
            try rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'Z%' ORDER BY name")
                == ["ZYAHOOGOLDPRICEPOINT", "Z_METADATA", "Z_MODELCACHE", "Z_PRIMARYKEY"])
    }

    @Test func recordsTheInsertOfEveryRowInAHistory() throws {
        #expect(try make("--history").status == 0)
        #expect(
            try rows(
                "SELECT ZCHANGETYPE, ZENTITY, count(*), max(ZENTITYPK), typeof(ZCOLUMNS) FROM ACHANGE GROUP BY 1, 2")
                == ["0|1|1|1|null", "0|2|100|100|null"])
        #expect(try rows("SELECT Z_ENT, ZTIMESTAMP FROM ATRANSACTION") == ["16002|757382400.0"])
        #expect(
            try rows("SELECT * FROM Z_PRIMARYKEY WHERE Z_ENT > 16000 ORDER BY 1")
                == ["16001|CHANGE|0|101", "16002|TRANSACTION|0|1", "16003|TRANSACTIONSTRING|0|2"])
    }

    @Test func givesTheSameBytesForTheSameSeed() throws {
        try make()
        let first = try Data(contentsOf: folder.url.appending(path: "a"))
        try make("--force")
        #expect(try Data(contentsOf: folder.url.appending(path: "a")) == first)
        try make("--force", "--seed", "43")
        #expect(try Data(contentsOf: folder.url.appending(path: "a")) != first)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["a"])
    }

    @Test(arguments: [["--history"], ["--relationship", "none"], ["--core-data", "--schema", "s3"]])
    func refusesWrongUsage(_ options: [String]) throws {
        #expect(try LaunchedProgram.run("goldprices", ["a"] + options, in: folder.url).status == 64)
    }
}
