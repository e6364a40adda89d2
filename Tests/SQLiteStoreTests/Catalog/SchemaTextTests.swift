import Testing

@testable import SQLiteStore

struct SchemaTextTests {
    struct Definition: CustomTestStringConvertible, Sendable {
        var text: String
        var expected: [String]
        var testDescription: String { text }
    }

    @Test(arguments: [
        Definition(text: "(id INTEGER PRIMARY KEY, p INTEGER CHECK (p > 0), at)", expected: [" (p > 0)"]),
        Definition(text: "(p REFERENCES \"a )b\", q check(q in (1, 2)))", expected: ["(q in (1, 2))"]),
        Definition(
            text: "(p, CONSTRAINT \"CHECK\" CHECK ((p) <> ')'), UNIQUE (p)) STRICT", expected: [" ((p) <> ')')"]),
        Definition(
            text: "(a DEFAULT 'x CHECK (y)', \"check\" -- CHECK (z)\r\n, b /* CHECK ( */ CHECK /* ( */ (b))",
            expected: [" /* ( */ (b)"]),
        Definition(text: "(a, [CHECK] CHECK (\"a\"\"(b\" = 1) CHECK (2))", expected: [" (\"a\"\"(b\" = 1)", " (2)"]),
    ])
    func checksAreFound(_ definition: Definition) {
        #expect(SchemaText.checks(definition.text) == definition.expected)
    }
}
