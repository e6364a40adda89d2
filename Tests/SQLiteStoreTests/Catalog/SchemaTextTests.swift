import Testing

@testable import SQLiteStore

struct SchemaTextTests {
    @Test(arguments: [
        ("(id INTEGER PRIMARY KEY, p INTEGER CHECK (p > 0), at)", [" (p > 0)"]),
        ("(p REFERENCES \"a )b\", q check(q in (1, 2)))", ["(q in (1, 2))"]),
        ("(p, CONSTRAINT \"CHECK\" CHECK ((p) <> ')'), UNIQUE (p)) STRICT", [" ((p) <> ')')"]),
        (
            "(a DEFAULT 'x CHECK (y)', \"check\" -- CHECK (z)\r\n, b /* CHECK ( */ CHECK /* ( */ (b))",
            [" /* ( */ (b)"]
        ),
        ("(a, [CHECK] CHECK (\"a\"\"(b\" = 1) CHECK (2))", [" (\"a\"\"(b\" = 1)", " (2)"]),
    ])
    func checksAreFound(_ text: String, _ expected: [String]) {
        #expect(SchemaText.checks(text) == expected)
    }
}
