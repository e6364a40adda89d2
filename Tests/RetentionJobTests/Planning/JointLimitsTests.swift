import PriceStore
import RetentionJob
import RetentionPolicy
import TestSupport
import Testing

/// What rules delete together, where each of them may be harmless alone.
@Suite struct JointLimitsTests {
    private func refusals(
        _ file: PriceFile, _ rules: [Rule], accept: Set<RefusalCode> = []
    ) throws -> [Refusal?] {
        var policy = file.policy()
        policy.rules = rules
        return try Planner(
            policy: policy, asOf: PriceFile.now, clock: PriceFile.now, options: .init(accept: accept),
            countsAllRows: true
        ).plan(reader: try file.reader()).steps.map {
            if case .refused(let refusal) = $0.disposition { refusal } else { nil }
        }
    }

    private func codes(_ file: PriceFile, _ rules: [Rule], accept: Set<RefusalCode> = []) throws -> [RefusalCode?] {
        try refusals(file, rules, accept: accept).map { $0?.code }
    }

    private func rule(_ symbol: String, _ change: (inout Rule) -> Void = { _ in }) -> Rule {
        .prices(symbol) {
            $0.filter = .compare("symbol", .equal, .text(symbol))
            change(&$0)
        }
    }

    @Test(arguments: [true, false]) func rulesThatWouldEmptyTheEntityTogetherAreRefused(_ indexed: Bool) throws {
        let file = try PriceFile(indexed: indexed)
        try file.addPrices(daysOld: 31...40, symbol: "XAU")
        try file.addPrices(daysOld: 31...50, symbol: "XAG")
        let found = try refusals(file, [rule("XAU"), rule("XAG")])
        #expect(found.map { $0?.code } == [.wouldEmptyEntity, .wouldEmptyEntity])
        for refusal in found {
            #expect(refusal?.message.contains("XAU deletes 10 rows and XAG deletes 20 rows") == true)
        }
        #expect(
            try codes(file, [rule("XAU") { $0.allowEmpty = true }, rule("XAG") { $0.allowEmpty = true }]) == [nil, nil])
        #expect(try codes(file, [rule("XAU"), rule("XAG")], accept: [.wouldEmptyEntity]) == [nil, nil])
        // Who allows it for one rule does not allow it for the other.
        #expect(
            try codes(file, [rule("XAU") { $0.allowEmpty = true }, rule("XAG")]) == [nil, .wouldEmptyEntity])
        #expect(
            try codes(file, [rule("XAU"), rule("XAG") { $0.allowEmpty = true }]) == [.wouldEmptyEntity, nil])
        // One remaining row is enough, also one that no rule considers.
        try file.addPrices(daysOld: [100], symbol: "XPT")
        #expect(try codes(file, [rule("XAU"), rule("XAG")]) == [nil, nil])
        #expect(
            try codes(file, [rule("XAU"), rule("XPT"), rule("XAG")]) == [
                .wouldEmptyEntity, .wouldEmptyEntity, .wouldEmptyEntity,
            ])
    }

    @Test func ofManyRulesOnlySomeAreNamed() throws {
        let file = try PriceFile()
        let symbols = ["A", "B", "C", "D", "E", "F", "G"]
        for symbol in symbols { try file.addPrices(daysOld: 31...32, symbol: symbol) }
        let found = try refusals(file, symbols.map { rule($0) })
        #expect(
            found[0]?.message.contains("E deletes 2 rows and 2 other rules delete 4 rows") == true,
            "\(String(describing: found[0]))")
    }

    @Test func aRuleThatAddsNothingIsNotRefused() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 31...40)
        #expect(
            try codes(file, [.prices("all") { $0.allowEmpty = true }, .prices("again") { $0.allowEmpty = true }]) == [
                nil, nil,
            ])
    }

    @Test func theShareOfAllRulesIsLimited() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 31...70, symbol: "XAU")
        try file.addPrices(daysOld: 31...60, symbol: "XAG")
        try file.addPrices(daysOld: 0...29, symbol: "XPT")
        let whole = Rule.prices("old") {
            $0.maxAge.days = 61
            $0.limits.maxFraction = 0.5
        }
        // 10 of 100, then 40 with the rest of the gold, then 70.
        let found = try refusals(file, [whole, rule("XAU"), rule("XAG")])
        #expect(found.map { $0?.code } == [.tooLargeFraction, .tooLargeFraction, .tooLargeFraction])
        #expect(found[2]?.message.contains("70 of 100 readable rows") == true, "\(String(describing: found[2]))")
        // A rule that accepts it does not count.
        #expect(
            try codes(file, [whole, rule("XAU"), rule("XAG") { $0.accept = [.tooLargeFraction] }]) == [nil, nil, nil])
        // A limit of one symbol says nothing of another.
        let gold = rule("XAU") { $0.limits.maxFraction = 1 }
        let silver = rule("XAG") { $0.limits.maxFraction = 1 }
        #expect(try codes(file, [gold, silver]) == [nil, nil])
    }

    @Test func rowsThatCascadesTakeCountToo() throws {
        let file = try PriceFile(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, at INTEGER, price INTEGER REFERENCES price(id) ON DELETE CASCADE);
            """)
        try file.addPrices(daysOld: [40, 41, 0])
        // Two old notes; a new one of an old price.
        try file.execute(
            """
            INSERT INTO note (at, price) SELECT at, 3 FROM price WHERE id < 3;
            INSERT INTO note (at, price) SELECT at, 1 FROM price WHERE id = 3;
            """)
        let notes = Rule.prices("notes") { $0.entity = "note" }
        #expect(try codes(file, [notes]) == [nil])
        #expect(try codes(file, [.prices()]) == [nil])
        let found = try refusals(file, [notes, .prices()])
        #expect(found.map { $0?.code } == [.wouldEmptyEntity, .wouldEmptyEntity])
        #expect(found[1]?.message.contains("no readable row of note would be left") == true)
        #expect(try codes(file, [.prices(), notes]) == [.wouldEmptyEntity, .wouldEmptyEntity])
        #expect(
            try codes(
                file,
                [.prices(), notes].map { rule in
                    var rule = rule
                    if rule.entity == "note" { rule.allowEmpty = true }
                    return rule
                }) == [nil, nil])
    }

    @Test func aCascadeAloneMustNotEmptyAnEntityThatHasARule() throws {
        let file = try PriceFile(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, at INTEGER, price INTEGER REFERENCES price(id) ON DELETE CASCADE);
            """)
        try file.addPrices(daysOld: [40, 0])
        try file.execute("INSERT INTO note (at, price) SELECT at, 1 FROM price WHERE id = 2;")
        let notes = Rule.prices("notes") { $0.entity = "note" }
        #expect(try codes(file, [.prices(), notes]) == [.wouldEmptyEntity, nil])
        #expect(try codes(file, [.prices()]) == [nil])
        // Only a rule of the entity itself says that it may be emptied.
        let found = try refusals(file, [.prices { $0.allowEmpty = true }, notes])
        #expect(found.map { $0?.code } == [.wouldEmptyEntity, nil])
        #expect(found[0]?.message.contains("no readable row of note would be left") == true)
        #expect(
            try codes(file, [.prices { $0.accept = [.wouldEmptyEntity] }, notes]) == [.wouldEmptyEntity, nil])
        #expect(try codes(file, [.prices { $0.allowEmpty = true }, notes], accept: [.wouldEmptyEntity]) == [nil, nil])
        let emptied = Rule.prices("notes") {
            $0.entity = "note"
            $0.allowEmpty = true
        }
        #expect(try codes(file, [.prices(), emptied]) == [nil, nil])
    }

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
