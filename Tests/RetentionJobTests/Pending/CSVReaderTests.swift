import PriceStore
import Testing

@testable import RetentionJob

@Suite struct CSVReaderTests {
    let fixture: PendingFixture

    init() throws { fixture = try PendingFixture() }

    private func records(_ bytes: [UInt8]) throws -> [PendingRecord] {
        var reader = CSVReader(try PendingFile(path: try fixture.write("a.csv", bytes)))
        var records: [PendingRecord] = []
        while let record = try reader.next() { records.append(record) }
        return records
    }

    private func records(_ text: String) throws -> [PendingRecord] { try records(Array(text.utf8)) }

    private func contents(_ text: String) throws -> [PendingRecord.Content] { try records(text).map(\.content) }

    struct Sample: CustomTestStringConvertible {
        var name: String
        var text: String
        var rows: [[StoreValue]]
        var testDescription: String { name }
    }

    static let good: [Sample] = [
        .init(name: "plain", text: "a,b\n1,2\n", rows: [[.text("a"), .text("b")], [.text("1"), .text("2")]]),
        .init(
            name: "last line without end", text: "a,b\n1,2",
            rows: [[.text("a"), .text("b")], [.text("1"), .text("2")]]),
        .init(name: "CRLF", text: "a,b\r\n1,2\r\n", rows: [[.text("a"), .text("b")], [.text("1"), .text("2")]]),
        .init(
            name: "CR at the end", text: "a,b\r\n1,2\r", rows: [[.text("a"), .text("b")], [.text("1"), .text("2")]]),
        .init(name: "byte order mark", text: "\u{FEFF}a\n1\n", rows: [[.text("a")], [.text("1")]]),
        .init(name: "empty lines", text: "\n\r\na\n\n1\n\r\n\n", rows: [[.text("a")], [.text("1")]]),
        .init(
            name: "empty is NULL, quoted empty is empty", text: "a,b,c\n,\"\",\n",
            rows: [[.text("a"), .text("b"), .text("c")], [.null, .text(""), .null]]),
        .init(
            name: "quotes", text: "a,b\n\"x, y\",\"say \"\"hi\"\"\"\n",
            rows: [[.text("a"), .text("b")], [.text("x, y"), .text("say \"hi\"")]]),
        .init(name: "only quotes in quotes", text: "a\n\"\"\"\"\"\"\n", rows: [[.text("a")], [.text("\"\"")]]),
        .init(
            name: "line feeds in quotes", text: "a,b\r\n\"1\r\n2\",\"\n\"\r\n",
            rows: [[.text("a"), .text("b")], [.text("1\r\n2"), .text("\n")]]),
        .init(
            name: "quotes at the end", text: "a,b\n1,\"2\"",
            rows: [[.text("a"), .text("b")], [.text("1"), .text("2")]]),
        .init(name: "no ASCII", text: "a\nGoldpreis 1 € 🥇\n", rows: [[.text("a")], [.text("Goldpreis 1 € 🥇")]]),
        .init(
            name: "spaces stay", text: "a,b\n 1 , 2\n", rows: [[.text("a"), .text("b")], [.text(" 1 "), .text(" 2")]]),
        .init(name: "nothing", text: "", rows: []),
        .init(name: "only a byte order mark", text: "\u{FEFF}", rows: []),
    ]

    @Test(arguments: good) func readsGoodRecords(_ sample: Sample) throws {
        #expect(try contents(sample.text) == sample.rows.map { .fields($0) })
    }

    struct BadSample: CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var reason: String
        var testDescription: String { name }

        init(_ name: String, _ line: String, _ reason: String) {
            self.init(name, Array(line.utf8), reason)
        }

        init(_ name: String, _ line: [UInt8], _ reason: String) {
            self.name = name
            bytes = line
            self.reason = reason
        }
    }

    static let bad: [BadSample] = [
        .init("too few fields", "1", "wrong number of fields: 1, the header has 2"),
        .init("too many fields", "1,2,3", "wrong number of fields: 3, the header has 2"),
        .init("quote inside", "1,2\"3", "broken quotes: a quote inside a field that does not begin with one"),
        .init("text after quote", "\"1\"x,2", "broken quotes: text after a closing quote"),
        .init("return after quote", "\"1\"\rx,2", "broken quotes: text after a closing quote"),
        .init("open quote", "1,\"2", "broken quotes: a quote is never closed"),
        .init("NUL", [0x31, 0, 0x2C, 0x32], "a NUL byte"),
        .init("not UTF-8", [0x31, 0xFF, 0x2C, 0x32], "not UTF-8"),
        .init("overlong UTF-8", [0x31, 0xC0, 0x80, 0x2C, 0x32], "not UTF-8"),
        .init("too long", Array(repeating: 0x31, count: 3 << 20) + Array(",2".utf8), "line too long, more than 1 MiB"),
        .init(
            "too long in quotes", [0x22] + Array(repeating: 0x31, count: 3 << 20) + Array("\",2".utf8),
            "line too long, more than 1 MiB"),
    ]

    @Test(arguments: bad) func aBadLineDoesNotAffectOthersAndHasItsLineNumber(_ sample: BadSample) throws {
        let head = Array("a,b\n1,2\n".utf8)
        let line = sample.bytes + [0x0A]
        let found = try records(head + line + Array("3,4\n5,6".utf8))
        #expect(
            found.map(\.content) == [
                .fields([.text("a"), .text("b")]), .fields([.text("1"), .text("2")]), .bad(sample.reason),
                .fields([.text("3"), .text("4")]), .fields([.text("5"), .text("6")]),
            ])
        #expect(found.map(\.line) == [1, 2, 3, 4, 5])
        try #require(found.count == 5)
        #expect(found[2].bytes == Int64(head.count)..<Int64(head.count + line.count))
    }

    @Test func theBytesOfAllRecordsAreTheFileWithoutEmptyLines() throws {
        let text = "a,b\n\"1\n2\",3\n4\n\"x\"y,\n5,6\r\n7,8"
        var end: Int64 = 0
        for record in try records(text) {
            #expect(record.bytes.lowerBound == end)
            end = record.bytes.upperBound
        }
        #expect(end == Int64(text.utf8.count))
    }

    @Test func aQuoteThatSwallowsLinesCostsItsFirstLineOnly() throws {
        let found = try records("a,b\n1,\"2\n3,4\n5,\"6\"\n7,8\n")
        #expect(
            found.map(\.content) == [
                .fields([.text("a"), .text("b")]), .bad("broken quotes: text after a closing quote"),
                .fields([.text("3"), .text("4")]), .fields([.text("5"), .text("6")]),
                .fields([.text("7"), .text("8")]),
            ])
        #expect(found.map(\.line) == [1, 2, 3, 4, 5])
    }

    @Test func aQuoteThatIsNotClosedWithinTheLimitCostsItsFirstLineOnly() throws {
        let rows = Array(repeating: "3,4\n", count: 400_000).joined()
        let found = try records("a,b\n1,\"2\n" + rows)
        #expect(found.count == 400_002)
        #expect(found[1].content == .bad("broken quotes: a quote is not closed, more than 1 MiB"))
        #expect(found.dropFirst(2).allSatisfy { $0.content == .fields([.text("3"), .text("4")]) })
        #expect(found.last?.line == 400_002)
    }

    @Test func linesAreCountedAcrossQuotedLineFeedsAndEmptyLines() throws {
        #expect(try records("a\n\n\"1\n2\n3\"\n\n4\n").map(\.line) == [1, 3, 7])
    }

    @Test func aRecordJustWithinTheLimitIsRead() throws {
        let long = String(repeating: "x", count: 1_048_500)
        #expect(try contents("a\n\(long)\n") == [.fields([.text("a")]), .fields([.text(long)])])
    }

    @Test func recordsAcrossChunksAreRead() throws {
        let rows = (0..<20_000).map { "\($0),\"v \"\"\($0)\"\"\"" }
        let found = try contents("a,b\n" + rows.joined(separator: "\r\n"))
        #expect(found.count == 20_001)
        for (index, content) in found.dropFirst().enumerated() {
            #expect(content == .fields([.text("\(index)"), .text("v \"\(index)\"")]))
        }
    }
}
