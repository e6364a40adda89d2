import PriceStore
import Testing

/// Whether two rules can have no row in common: then no row is counted twice.
struct DisjointTests {
    @Test func valuesThatAStoreMayTakeForEqualAreNotDisjoint() {
        func equal(_ value: StoreValue) -> StorePredicate { .compare("s", .equal, value) }
        func disjoint(_ a: StoreValue, _ b: StoreValue) -> Bool { equal(a).isDisjoint(from: equal(b)) }
        #expect(disjoint(.text("XAU"), .text("XAG")))
        #expect(disjoint(.integer(1), .integer(2)))
        #expect(!disjoint(.text("XAU"), .text("xau")))
        #expect(!disjoint(.text("XAU"), .text("XAU ")))
        #expect(!disjoint(.text("1"), .text("1.0")))
        // A collation may pass over punctuation and read digits as numbers.
        #expect(disjoint(.text("BTC-USD"), .text("BTC-EUR")) && disjoint(.text("S001"), .text("S010")))
        #expect(!disjoint(.text("XAU-1"), .text("XAU01")) && !disjoint(.text("a0-b"), .text("a0b")))
        // A column may be of another type than text.
        #expect(!disjoint(.text("true"), .text("on")) && !disjoint(.text("Jan-5-2026"), .text("January-5-2026")))
        #expect(!disjoint(.text("fe80::1"), .text("fe80:0:0::1")) && !disjoint(.text("P1D"), .text("PT24H")))
        #expect(disjoint(.text("NYSE:BEEF"), .text("NYSE:CAFE")) && disjoint(.text("MARA"), .text("JANX")))
        #expect(!disjoint(.text("1"), .integer(2)))
        #expect(!disjoint(.integer(1), .real(1)))
        #expect(!disjoint(.integer(1 << 53), .integer(1 << 53 + 1)))
        #expect(!disjoint(.text("ä"), .text("Ä")))
        #expect(!equal(.text("XAU")).isDisjoint(from: .all))
        #expect(!equal(.text("a")).isDisjoint(from: .compare("t", .equal, .text("b"))))
        #expect(!equal(.text("a")).isDisjoint(from: .not(equal(.text("a")))))
        #expect((equal(.text("a")) && .isNotNull("x")).isDisjoint(from: .isIn("s", [.text("b"), .text("c")])))
        // Two columns of a server may differ in case alone.
        #expect(!equal(.text("a")).isDisjoint(from: .isIn("S", [.text("b"), .text("c")])))
        #expect(!equal(.text("a")).isDisjoint(from: .isIn("s", [.text("b"), .text("a")])))
    }
}
