import PriceStore
import Testing

@testable import RetentionJob

@Suite struct NDJSONReaderTests {
    let fixture: PendingFixture

    init() throws { fixture = try PendingFixture() }

    private func records(_ bytes: [UInt8]) throws -> [PendingRecord] {
        var reader = NDJSONReader(try PendingFile(path: try fixture.write("a.ndjson", bytes)))
        var records: [PendingRecord] = []
        while let record = try reader.next() { records.append(record) }
        return records
    }

    private func value(_ json: String) throws -> PendingRecord.Content? {
        try records(Array("{\"a\":\(json)}".utf8)).first?.content
    }

    /// What is in a line, and its value; nil: a number, whose text is the value.
    static let values: [(json: String, value: StoreValue?)] = [
        ("1", nil), ("-0", nil), ("9223372036854775807", nil), ("-9223372036854775808", nil),
        ("12345678901234567890123", nil), ("1.5", nil), ("1.0", nil), ("1e3", nil), ("-2.5E-1", nil), ("1e999", nil),
        ("true", .integer(1)), ("false", .integer(0)), ("null", .null), ("\"\"", .text("")),
        ("\"x\\n\\\"\\\\\\/\\t\\u00e9\\ud83e\\udd47\"", .text("x\n\"\\/\té🥇")), (" \t\"a\" ", .text("a")),
        ("\"x\\b\\fy\\rz\"", .text("x\u{8}\u{c}y\rz")),
    ]

    @Test(arguments: values) func readsFlatValues(json: String, expected: StoreValue?) throws {
        let member = PendingRecord.Member(name: "a", value: expected ?? .text(json), isNumber: expected == nil)
        #expect(try value(json) == .members([member]))
    }

    static let bad: [(line: String, reason: String)] = [
        ("[1]", "not a JSON object"), ("1", "not a JSON object"),
        ("{\"a\":[1]}", "a nested value"), ("{\"a\":{}}", "a nested value"),
        ("{\"a\":1,\"a\":2}", "the name 'a' occurs twice"), ("{\"a\":1,\"\\u0061\":2}", "the name 'a' occurs twice"),
        ("{\"a\":1", "broken JSON: a comma or a closing brace is expected"),
        ("{\"a\":1,}", "broken JSON: a name in quotes is expected"),
        ("{a:1}", "broken JSON: a name in quotes is expected"),
        ("{\"a\" 1}", "broken JSON: a colon is expected after a name"),
        ("{\"a\":", "broken JSON: a value is expected"),
        ("{\"a\":}", "broken JSON: a value is expected"), ("{\"a\":01}", "broken JSON: a number with a leading zero"),
        ("{\"a\":+1}", "broken JSON: a value is expected"), ("{\"a\":1.}", "broken JSON: a value is expected"),
        ("{\"a\":NaN}", "broken JSON: a value is expected"), ("{\"a\":tru}", "broken JSON: an unknown word"),
        ("{\"a\":1} x", "broken JSON: text after the object"), ("{\"a\":\"x", "broken quotes: a string is not closed"),
        ("{\"a\":\"x\\", "broken quotes: a string is not closed"),
        ("{\"a\":\"\\x\"}", "broken JSON: an unknown escape"),
        ("{\"a\":\"\\ud800\"}", "broken JSON: half a surrogate pair"),
        ("{\"a\":\"\\udc00\\ud800\"}", "broken JSON: half a surrogate pair"),
        ("{\"a\":\"\\ud800\\n\"}", "broken JSON: half a surrogate pair"),
        ("{\"a\":\"\\ud800\\u0041\"}", "broken JSON: half a surrogate pair"),
        ("{\"a\":\"\\u12\"}", "broken JSON: four hexadecimal digits are expected"),
        ("{\"a\":\"\t\"}", "broken JSON: a control character in a string"), ("{\"a\":\"\\u0000\"}", "a NUL byte"),
        ("{\"a\":\"\0\"}", "a NUL byte"), ("{", "broken JSON: a name in quotes is expected"),
        (String(repeating: "x", count: 2 << 20), "line too long, more than 1 MiB"),
    ]

    @Test(arguments: bad) func aBadLineDoesNotAffectOthersAndHasItsLineNumber(line: String, reason: String) throws {
        let found = try records(Array("{\"a\":1}\n\n\(line)\r\n{\"a\":2}".utf8))
        #expect(
            found.map(\.content) == [
                .members([.init(name: "a", value: .text("1"), isNumber: true)]), .bad(reason),
                .members([.init(name: "a", value: .text("2"), isNumber: true)]),
            ])
        #expect(found.map(\.line) == [1, 3, 4])
        try #require(found.count == 3)
        #expect(found[1].bytes == 9..<Int64(9 + line.utf8.count + 2))
    }

    @Test func bytesThatAreNotUTF8AreABadLine() throws {
        let found = try records(Array("{\"a\":\"".utf8) + [0xFF] + Array("\"}\n".utf8))
        #expect(found.map(\.content) == [.bad("not UTF-8")])
    }

    @Test func aByteOrderMarkAndBlankLinesAreSkipped() throws {
        let found = try records(Array("\u{FEFF}  \n{}\n\r\n".utf8))
        #expect(found.map(\.content) == [.members([])])
    }
}
