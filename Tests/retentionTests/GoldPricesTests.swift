import Foundation
import GRDB
import Testing

/// `goldprices` makes what the demo and the benchmarks build upon.
struct GoldPricesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Makes a store and says how `goldprices` ended.
    @discardableResult
    private func make(_ store: String, _ options: String...) throws -> LaunchedProgram.Ending {
        try LaunchedProgram.run("goldprices", [store] + options, in: folder.url)
    }

    private func rows(_ store: String, _ sql: String) throws -> [Row] {
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(path: folder.url.appending(path: store).path, configuration: configuration)
        return try queue.read { try Row.fetchAll($0, sql: sql) }
    }

    private func bytes(_ file: String) throws -> Data { try Data(contentsOf: folder.url.appending(path: file)) }

    @Test func givesTheSameBytesForTheSameSeed() throws {
        for store in ["a", "b"] {
            let end = try make(
                store, "--rows", "500", "--until", "2025-01-01", "--pending", store + ".csv", "--pending-rows", "20")
            #expect(end.status == 0)
        }
        try make("c", "--rows", "500", "--until", "2025-01-01", "--seed", "43")
        #expect(try bytes("a") == bytes("b"))
        #expect(try bytes("a.csv") == bytes("b.csv"))
        #expect(
            try rows("a", "SELECT price FROM YahooGoldPricePoint") != rows("c", "SELECT price FROM YahooGoldPricePoint")
        )
    }

    @Test func endsWithTheLastWholeMinuteBeforeUntil() throws {
        let end = try make("a", "--rows", "1000", "--until", "2025-01-01T00:00:30Z")
        let row = try #require(
            try rows("a", "SELECT count(*), min(updateTime), max(updateTime) FROM YahooGoldPricePoint").first)
        // 2025-01-01T00:00:00Z is 1735689600.
        #expect(row == ["count(*)": 1000, "min(updateTime)": 1_735_629_660, "max(updateTime)": 1_735_689_600])
        #expect(end.output == "a: 1000 points, 2024-12-31T07:21:00Z to 2025-01-01T00:00:00Z\n")
    }

    @Test func hasNoPointAtUntilItself() throws {
        try make("a", "--rows", "2", "--until", "2025-01-01T00:00:00Z", "--every", "3600")
        let times = try rows("a", "SELECT updateTime FROM YahooGoldPricePoint").map { $0[0] as Int }
        #expect(times == [1_735_689_600 - 7200, 1_735_689_600 - 3600])
    }

    @Test func makesPendingPointsNewerThanTheStores() throws {
        // Five rows of two symbols: the store's last step is not full, and still the pending file begins after it.
        try make(
            "a", "--rows", "5", "--symbols", "XAUUSD,XAUEUR", "--until", "2025-01-01", "--pending", "p.csv",
            "--pending-rows", "4")
        let lines = String(decoding: try bytes("p.csv"), as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(lines.first == "symbol,updateTime,price,open,high,low,volume")
        let wanted = [
            "XAUUSD,2024-12-31T23:58:00Z,", "XAUEUR,2024-12-31T23:58:00Z,", "XAUUSD,2024-12-31T23:59:00Z,",
            "XAUEUR,2024-12-31T23:59:00Z,",
        ]
        #expect(lines.count == 5 && zip(lines.dropFirst(), wanted).allSatisfy { $0.hasPrefix($1) }, "\(lines)")
        let newest = try #require(try rows("a", "SELECT max(updateTime) FROM YahooGoldPricePoint").first)
        #expect(newest[0] == 1_735_689_600 - 3 * 60)
    }

    struct Shape: CustomTestStringConvertible, Sendable {
        var schema: String
        var indexes: [String]
        var typeOfDate: String
        var hasRowID = true
        var testDescription: String { schema }
    }

    @Test(arguments: [
        Shape(schema: "s1", indexes: ["ix_time"], typeOfDate: "integer"),
        Shape(schema: "s2", indexes: ["ix_time", "ux_symbol_time"], typeOfDate: "integer"),
        Shape(schema: "s3", indexes: [], typeOfDate: "integer", hasRowID: false),
        Shape(schema: "s4", indexes: [], typeOfDate: "integer"),
        Shape(schema: "s5", indexes: ["ix_time"], typeOfDate: "text"),
    ])
    func makesEachShape(_ shape: Shape) throws {
        let end = try make("a", "--rows", "100", "--until", "2025-01-01", "--schema", shape.schema)
        #expect(end.status == 0)
        let indexes = try rows(
            "a", "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL ORDER BY name")
        #expect(indexes.map { $0[0] as String } == shape.indexes)
        let types = try rows("a", "SELECT typeof(updateTime), count(*) FROM YahooGoldPricePoint GROUP BY 1")
        #expect(types.map { [$0[0] as String, String($0[1] as Int)] } == [[shape.typeOfDate, "100"]])
        let table = try #require(
            try rows("a", "SELECT sql LIKE '%WITHOUT ROWID' FROM sqlite_schema WHERE type = 'table'").first)
        #expect(table[0] == !shape.hasRowID)
        if shape.typeOfDate == "text" {
            let newest = try #require(try rows("a", "SELECT max(updateTime) FROM YahooGoldPricePoint").first)
            #expect(newest[0] == "2024-12-31T23:59:00Z")
        }
    }

    @Test func writesTheSameRowsInRandomOrder() throws {
        try make("a", "--rows", "300", "--until", "2025-01-01")
        try make("b", "--rows", "300", "--until", "2025-01-01", "--order", "random")
        let byDate = "SELECT symbol, updateTime, price, volume FROM YahooGoldPricePoint ORDER BY updateTime"
        #expect(try rows("a", byDate) == rows("b", byDate))
        let byRow = "SELECT updateTime FROM YahooGoldPricePoint ORDER BY id"
        #expect(try rows("a", byRow) != rows("b", byRow))
    }

    @Test func leavesOneFileInWALMode() throws {
        try make("a", "--rows", "10")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["a"])
        // Source: sqlite.org/fileformat.html: bytes 18 and 19 are 2 in WAL mode.
        #expect(try [UInt8](bytes("a")[18...19]) == [2, 2])
    }

    @Test func refusesToOverwriteWithoutForce() throws {
        try folder.write("mine", to: "a")
        try folder.write("mine too", to: "p.csv")
        #expect(try make("a").status == 73)
        #expect(try make("b", "--rows", "1", "--pending", "p.csv").status == 73)
        #expect(try bytes("a") == Data("mine".utf8))
        #expect(try bytes("p.csv") == Data("mine too".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == ["a", "p.csv"])
        #expect(try make("a", "--rows", "1", "--pending", "p.csv", "--force").status == 0)
        #expect(try rows("a", "SELECT * FROM YahooGoldPricePoint").count == 1)
    }

    @Test(arguments: ["--rows=-1", "--every=0", "--symbols=XAUUSD,,XAUEUR", "--until=yesterday", "--pending-rows=3"])
    func refusesWrongUsage(_ option: String) throws {
        #expect(try make("a", option).status == 64)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }
}
