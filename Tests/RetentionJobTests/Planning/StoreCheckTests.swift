import PriceStore
import RetentionJob
import RetentionPolicy
import Testing

@Suite struct StoreCheckTests {
    private func check(_ file: PriceFile, _ rules: Rule..., includingAdvice: Bool = true) throws -> [Diagnostic] {
        var policy = file.policy()
        policy.rules = rules
        return try StoreCheck.diagnostics(
            policy: policy, reader: try file.reader(), clock: PriceFile.now, includingAdvice: includingAdvice)
    }

    @Test func aPolicyThatFitsHasNothingToSay() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: [0, 50])
        #expect(try check(file, .prices()).isEmpty)
    }

    @Test func anUnknownEntityIsNamedWithTheNearest() throws {
        let found = try check(try PriceFile(), .prices { $0.entity = "prce" })
        #expect(found.map(\.mark.line) == [5])
        #expect(found.first?.severity == .error)
        #expect(found.first?.message.contains("did you mean 'price'?") == true)
    }

    @Test func everyUnknownAttributeOfARuleIsTold() throws {
        let rule = Rule.prices {
            $0.dateAttribute = "att"
            $0.filter = .and([.compare("symbl", .equal, .text("XAU")), .isNull("id")])
            $0.keepLast = Rule.KeepLastSetting(count: 1, per: ["symbool", "symbol"])
        }
        let found = try check(try PriceFile(), rule)
        #expect(found.map(\.mark.line) == [6, 8, 9])
        #expect(found.allSatisfy { $0.severity == .error && $0.message.contains("did you mean") })
    }

    @Test func aColumnIsForCoreDataStoresOnly() throws {
        let found = try check(try PriceFile(), .prices { $0.column = "ZAT" })
        #expect(found.map(\.severity) == [.error])
        #expect(found.first?.message.hasPrefix("'column' is for Core Data stores") == true)
    }

    @Test func mistakesOfAllRulesComeInFileOrder() throws {
        let found = try check(
            try PriceFile(), .prices("b", line: 20) { $0.entity = "prce" },
            .prices("a") { $0.entity = "nothing-like-it" })
        #expect(found.map(\.mark.line) == [5, 21])
    }

    @Test func namesAreComparedAsTheStoreDoes() throws {
        #expect(
            try check(
                try PriceFile(),
                .prices {
                    $0.entity = "PRICE"; $0.dateAttribute = "AT"
                }
            ).isEmpty)
    }

    @Test func disabledRulesAreCheckedToo() throws {
        #expect(
            try check(
                try PriceFile(),
                .prices {
                    $0.entity = "prce"; $0.isEnabled = false
                }
            ).count == 1)
    }

    @Test func aMissingFormatShowsTheValuesAndTheLineToAdd() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: [1, 50])
        let message = try #require(try check(file, .prices { $0.dateFormat = nil }).first).message
        #expect(message.contains("1795132800"))
        #expect(message.contains("add the line date_format: unix_seconds"))
        let empty = try #require(try check(try PriceFile(), .prices { $0.dateFormat = nil }).first).message
        #expect(empty.contains("no values"))
    }

    @Test func aViewIsNoMistakeOfTheFileButWorthAWarning() throws {
        let file = try PriceFile("CREATE VIEW recent AS SELECT * FROM price")
        let found = try check(file, .prices { $0.entity = "recent" })
        #expect(found.map(\.severity) == [.warning])
        #expect(found.first?.message.contains("unsupported_schema") == true)
    }

    @Test func aStrategyThatCannotBeHadIsAMistakeInARunToo() throws {
        let found = try check(
            try PriceFile(indexed: false), .prices { $0.strategy = .range }, includingAdvice: false)
        #expect(found.map(\.severity) == [.error])
        #expect(found.map(\.mark.line) == [7])
    }

    @Test func adviceIsGivenOnlyWhereAskedFor() throws {
        let file = try PriceFile(indexed: false)
        try file.addPrices(daysOld: [0, 50])
        #expect(try check(file, .prices(), includingAdvice: false).isEmpty)
        let found = try check(file, .prices())
        #expect(found.map(\.severity) == [.advice])
        #expect(found.first?.message.contains("CREATE INDEX") == true)
    }

    @Test func aNumericFormatOnATextColumnIsAWarning() throws {
        let file = try PriceFile("CREATE TABLE note (at TEXT)")
        let found = try check(file, .prices { $0.entity = "note" }, includingAdvice: false)
        #expect(found.map(\.severity) == [.warning])
    }
}
