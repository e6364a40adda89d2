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

    /// Texts and the fields that are read of them; nil is NULL.
    static let good: [(name: String, text: String, rows: [[String?]])] = [
        ("plain", "a,b\n1,2\n", [["a", "b"], ["1", "2"]]),
        ("last line without end", "a,b\n1,2", [["a", "b"], ["1", "2"]]),
        ("CRLF", "a,b\r\n1,2\r\n", [["a", "b"], ["1", "2"]]),
        ("CR at the end", "a,b\r\n1,2\r", [["a", "b"], ["1", "2"]]),
        ("byte order mark", "\u{FEFF}a\n1\n", [["a"], ["1"]]),
        ("empty lines", "\n\r\na\n\n1\n\r\n\n", [["a"], ["1"]]),
        ("empty is NULL, quoted empty is empty", "a,b,c\n,\"\",\n", [["a", "b", "c"], [nil, "", nil]]),
        ("quotes", "a,b\n\"x, y\",\"say \"\"hi\"\"\"\n", [["a", "b"], ["x, y", "say \"hi\""]]),
        ("only quotes in quotes", "a\n\"\"\"\"\"\"\n", [["a"], ["\"\""]]),
        ("line feeds in quotes", "a,b\r\n\"1\r\n2\",\"\n\"\r\n", [["a", "b"], ["1\r\n2", "\n"]]),
        ("quotes at the end", "a,b\n1,\"2\"", [["a", "b"], ["1", "2"]]),
        ("no ASCII", "a\nGoldpreis 1 € 🥇\n", [["a"], ["Goldpreis 1 € 🥇"]]),
        ("spaces stay", "a,b\n 1 , 2\n", [["a", "b"], [" 1 ", " 2"]]),
        ("nothing", "", []), ("only a byte order mark", "\u{FEFF}", []),
    ]

    @Test(arguments: good) func readsGoodRecords(name: String, text: String, rows: [[String?]]) throws {
        #expect(try contents(text) == rows.map { .fields($0.map { $0.map(StoreValue.text) ?? .null }) })
    }

    struct BadSample: CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var reason: String
        var testDescription: String { name }

        init(_ name: String, _ line: some Sequence<UInt8>, _ reason: String) {
            (self.name, bytes, self.reason) = (name, Array(line), reason)
        }
    }

    static let bad: [BadSample] = [
        .init("too few fields", "1".utf8, "wrong number of fields: 1, the header has 2"),
        .init("too many fields", "1,2,3".utf8, "wrong number of fields: 3, the header has 2"),
        .init("quote inside", "1,2\"3".utf8, "broken quotes: a quote inside a field that does not begin with one"),
        .init("text after quote", "\"1\"x,2".utf8, "broken quotes: text after a closing quote"),
        .init("return after quote", "\"1\"\rx,2".utf8, "broken quotes: text after a closing quote"),
        .init("open quote", "1,\"2".utf8, "broken quotes: a quote is never closed"),
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
