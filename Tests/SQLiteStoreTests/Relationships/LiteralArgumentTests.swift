import GRDB
import Testing

@testable import SQLiteStore

/// The parameters of a condition become calls of a function; what only looks like one stays.
struct LiteralArgumentTests {
    @Test(arguments: [
        ("a = ? AND b = ?", "a = f(0) AND b = f(1)"),
        ("`ref'` = ?", "`ref'` = f(0)"), ("\"v`?\" = ?", "\"v`?\" = f(0)"), ("'?\"' = ?", "'?\"' = f(0)"),
        ("`v?` = ?", "`v?` = f(0)"),
    ])
    func namesAndTextsStay(condition: String, expected: String) {
        #expect(SQLFragment(condition).literalArguments("f") == expected)
    }
}
