import Testing

@testable import SQLiteStore

struct SchemaTextTests {
    struct Definition: CustomTestStringConvertible, Sendable {
        var text: String
        var expected: String
        var testDescription: String { text }
    }

    @Test(arguments: [
        Definition(
            text: "(id INTEGER PRIMARY KEY, p INTEGER REFERENCES Price(id) ON DELETE CASCADE, at)",
            expected: "(id INTEGER PRIMARY KEY, p INTEGER CHECK (1), at)"),
        Definition(text: "(p REFERENCES \"a )b\", q)", expected: "(p CHECK (1), q)"),
        Definition(text: "(p REFERENCES x NOT NULL DEFAULT 1)", expected: "(p CHECK (1) NOT NULL DEFAULT 1)"),
        Definition(
            text: "(p CONSTRAINT k REFERENCES x(y) MATCH FULL on update no action On Delete Set Null "
                + "NOT DEFERRABLE INITIALLY IMMEDIATE UNIQUE)", expected: "(p CONSTRAINT k CHECK (1) UNIQUE)"),
        Definition(
            text: "(a, b, CONSTRAINT k FOREIGN KEY (a, b) REFERENCES x (c, d) ON DELETE RESTRICT, UNIQUE (a)) STRICT",
            expected: "(a, b, CONSTRAINT k CHECK (1), UNIQUE (a)) STRICT"),
        Definition(
            text: "(a DEFAULT 'x REFERENCES y', \"references\" -- REFERENCES z\r\n, b /* FOREIGN KEY */ REFERENCES z)",
            expected: "(a DEFAULT 'x REFERENCES y', \"references\" -- REFERENCES z\r\n, b /* FOREIGN KEY */ CHECK (1))"),
    ])
    func foreignKeysAreLeftOut(_ definition: Definition) {
        #expect(SchemaText.withoutForeignKeys(definition.text) == definition.expected)
    }
}
