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

    struct Sample: CustomTestStringConvertible {
        var json: String
        /// Nil: a number, whose text is the value.
        var value: StoreValue?
        var testDescription: String { json }
    }

    static let values: [Sample] = [
        .init(json: "1"), .init(json: "-0"), .init(json: "9223372036854775807"), .init(json: "-9223372036854775808"),
        .init(json: "12345678901234567890123"), .init(json: "1.5"), .init(json: "1.0"), .init(json: "1e3"),
        .init(json: "-2.5E-1"), .init(json: "1e999"), .init(json: "true", value: .integer(1)),
        .init(json: "false", value: .integer(0)), .init(json: "null", value: .null),
        .init(json: "\"\"", value: .text("")),
        .init(json: "\"x\\n\\\"\\\\\\/\\t\\u00e9\\ud83e\\udd47\"", value: .text("x\n\"\\/\té🥇")),
        .init(json: " \t\"a\" ", value: .text("a")),
    ]

    @Test(arguments: values) func readsFlatValues(_ sample: Sample) throws {
        #expect(
            try value(sample.json)
                == .members([
                    .init(name: "a", value: sample.value ?? .text(sample.json), isNumber: sample.value == nil)
                ]))
    }

    struct BadSample: CustomTestStringConvertible {
        var line: String
        var reason: String
        var testDescription: String { line }
    }

    static let bad: [BadSample] = [
        .init(line: "[1]", reason: "not a JSON object"), .init(line: "1", reason: "not a JSON object"),
        .init(line: "{\"a\":[1]}", reason: "a nested value"), .init(line: "{\"a\":{}}", reason: "a nested value"),
        .init(line: "{\"a\":1,\"a\":2}", reason: "the name 'a' occurs twice"),
        .init(line: "{\"a\":1,\"\\u0061\":2}", reason: "the name 'a' occurs twice"),
        .init(line: "{\"a\":1", reason: "broken JSON: a comma or a closing brace is expected"),
        .init(line: "{\"a\":1,}", reason: "broken JSON: a name in quotes is expected"),
        .init(line: "{a:1}", reason: "broken JSON: a name in quotes is expected"),
        .init(line: "{\"a\" 1}", reason: "broken JSON: a colon is expected after a name"),
        .init(line: "{\"a\":}", reason: "broken JSON: a value is expected"),
        .init(line: "{\"a\":01}", reason: "broken JSON: a number with a leading zero"),
        .init(line: "{\"a\":+1}", reason: "broken JSON: a value is expected"),
        .init(line: "{\"a\":1.}", reason: "broken JSON: a value is expected"),
        .init(line: "{\"a\":NaN}", reason: "broken JSON: a value is expected"),
        .init(line: "{\"a\":tru}", reason: "broken JSON: an unknown word"),
        .init(line: "{\"a\":1} x", reason: "broken JSON: text after the object"),
        .init(line: "{\"a\":\"x", reason: "broken quotes: a string is not closed"),
        .init(line: "{\"a\":\"x\\", reason: "broken quotes: a string is not closed"),
        .init(line: "{\"a\":\"\\x\"}", reason: "broken JSON: an unknown escape"),
        .init(line: "{\"a\":\"\\ud800\"}", reason: "broken JSON: half a surrogate pair"),
        .init(line: "{\"a\":\"\\udc00\\ud800\"}", reason: "broken JSON: half a surrogate pair"),
        .init(line: "{\"a\":\"\\u12\"}", reason: "broken JSON: four hexadecimal digits are expected"),
        .init(line: "{\"a\":\"\t\"}", reason: "broken JSON: a control character in a string"),
        .init(line: "{\"a\":\"\\u0000\"}", reason: "a NUL byte"),
        .init(line: "{\"a\":\"\0\"}", reason: "a NUL byte"),
        .init(line: "{", reason: "broken JSON: a name in quotes is expected"),
        .init(line: String(repeating: "x", count: 2 << 20), reason: "line too long, more than 1 MiB"),
    ]

    @Test(arguments: bad) func aBadLineDoesNotAffectOthersAndHasItsLineNumber(_ sample: BadSample) throws {
        let found = try records(Array("{\"a\":1}\n\n\(sample.line)\r\n{\"a\":2}".utf8))
        #expect(
            found.map(\.content) == [
                .members([.init(name: "a", value: .text("1"), isNumber: true)]), .bad(sample.reason),
                .members([.init(name: "a", value: .text("2"), isNumber: true)]),
            ])
        #expect(found.map(\.line) == [1, 3, 4])
        try #require(found.count == 3)
        #expect(found[1].bytes == 9..<Int64(9 + sample.line.utf8.count + 2))
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
