import PriceStore
import RetentionPolicy
import TestSupport
import Testing

@testable import RetentionJob

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
        let unlike = try check(
            try PriceFile(), .prices { $0.entity = "xyzzy" }, .prices { $0.dateAttribute = "updateTime" })
        #expect(unlike.first?.message.contains("no entity 'xyzzy'") == true, "\(unlike)")
        #expect(unlike.last?.message.contains("it has id, at, symbol") == true, "\(unlike)")
    }

    @Test func everyUnknownAttributeOfARuleIsReported() throws {
        let rule = Rule.prices {
            $0.dateAttribute = "att"
            $0.filter = .and([.compare("symbl", .equal, .text("XAU")), .isNull("id")])
            $0.keepLast = Rule.KeepLastSetting(count: 1, per: ["symbool", "symbol"])
        }
        let found = try check(try PriceFile(), rule)
        #expect(found.map(\.mark.line) == [6, 7, 8])
        #expect(found.allSatisfy { $0.severity == .error && $0.message.contains("did you mean") })
    }

    @Test func groupsOfOneRowAreAWarning() throws {
        let found = try check(
            try PriceFile(),
            .prices {
                $0.keepLast = Rule.KeepLastSetting(count: 1, per: ["symbol", "ID"])
                $0.thin = Rule.ThinSetting(per: ["id"], tiers: [])
            }, includingAdvice: false)
        #expect(found.map(\.severity) == [.warning, .warning])
        let start = "'per' names the whole primary key of price: each row is a group of its own, and "
        #expect(Set(found.map(\.message)) == [start + "'keep_last' keeps all rows", start + "'thin' keeps all rows"])
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

    /// Values of `at` in a column without a format, and what is said of them.
    @Test(arguments: [
        ("'x'", "its values look like \"x\"; its name suggests a date, but no format reads"),
        ("7", "its values look like 7"), ("x'00'", "its values look like"),
    ]) func aMissingFormatThatNoValueShowsIsSaidSo(_ value: String, _ text: String) throws {
        let file = try PriceFile()
        try file.execute("INSERT INTO price (at) VALUES (\(value))")
        let message = try #require(try check(file, .prices { $0.dateFormat = nil }).first).message
        #expect(message.contains(text) && !message.contains("date_format: "), "\(message)")
    }

    /// A format, and what is said of it for a column of integers.
    @Test(arguments: [
        (
            DateEncoding.native,
            "'native' is for the date types of PostgreSQL, and price.at has another type: set the format of its values"
        ), (.iso8601, "price.at is a column for numbers, and iso8601 reads text only"),
    ]) func aFormatOfAnotherColumnIsReported(_ format: DateEncoding, _ text: String) throws {
        let file = try PriceFile()
        let found = try check(file, .prices { $0.dateFormat = format }, includingAdvice: false)
        #expect(found.map { $0.message.hasPrefix(text) } == [true], "\(found)")
    }

    @Test func aRuleThatTheSchemaRefusesIsAnErrorWithItsRemedy() throws {
        let file = try PriceFile(
            "CREATE TABLE part (code TEXT, at INTEGER); CREATE TABLE child (part TEXT REFERENCES part (code))")
        let found = try check(file, .prices { $0.entity = "part" })
        #expect(
            found.map(\.message).contains {
                $0.contains("the foreign key of child (part) does not refer to a primary key or a unique key of part")
            }, "\(found)")
    }

    @Test func aViewIsAnErrorAsInTheRun() throws {
        let file = try PriceFile("CREATE VIEW recent AS SELECT * FROM price")
        let found = try check(file, .prices { $0.entity = "recent" })
        #expect(found.map(\.severity) == [.error])
        #expect(found.first?.message.contains("unsupported_schema") == true)
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

    // MARK: What a run would refuse

    @Test func aWrongUnitIsAnErrorWithTheRightFormat() throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: 0..<60)
        let wrong = Rule.prices { $0.dateFormat = .unixMilliseconds }
        let found = try check(file, wrong)
        #expect(found.map(\.severity) == [.error])
        #expect(
            found[0].message.contains("(wrong_unit)") && found[0].message.contains("in unix_seconds it is 2026-11-21"))
        // A run has its plan for that, and refuses the rule alone.
        #expect(try check(file, wrong, includingAdvice: false).isEmpty)
        #expect(
            try check(
                file,
                .prices {
                    $0.dateFormat = .unixMilliseconds; $0.accept = [.wrongUnit]
                }
            ).allSatisfy { $0.severity != .error })
        #expect(
            try check(
                file,
                .prices {
                    $0.dateFormat = .unixMilliseconds; $0.isEnabled = false
                }
            ).map(\.severity) == [.warning])
    }

    /// The cookies of a browser: a date in the year 9999 hides that all others are read as 2001, and would go.
    @Test(arguments: [true, false]) func aDateOfNeverHidesNoWrongUnit(isIndexed: Bool) throws {
        let file = try PriceFile(indexed: isIndexed)
        try file.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
            INSERT INTO price (at) SELECT 13241804625000000 + i * 1700000000000 FROM n;
            INSERT INTO price (at) VALUES (265034982388000000), (820000000000000000);
            """)
        let wrong = Rule.prices {
            $0.dateFormat = .appleNanoseconds; $0.accept = [.futureDates]; $0.allowEmpty = true
        }
        let found = try check(file, wrong).filter { $0.severity == .error }
        #expect(
            found.count == 1 && found.first?.message.contains("in webkit_microseconds they are") == true, "\(found)")
        let plan = try Planner(
            policy: file.policy(wrong), asOf: PriceFile.now, clock: PriceFile.now, countsAllRows: false
        )
        .plan(reader: try file.reader())
        #expect(plan.steps[0].report.refusal == .wrongUnit && plan.steps[0].survey.expiredCount > 0)
    }

    @Test func theNewestDateThatIsBelievedShowsAWrongUnit() throws {
        let file = try PriceFile()
        // Seconds since 2001, and one far ahead that `latest` leaves out.
        try file.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
            INSERT INTO price (at) SELECT 816912000 - i * 86400 FROM n;
            INSERT INTO price (at) VALUES (63113904000);
            """)
        let found = try check(file, .prices { $0.latest = Instant(iso8601: "2030-01-01") })
        #expect(found.first?.severity == .error && found.first?.message.contains("in apple_seconds it is 2026") == true)
    }

    @Test(arguments: [
        ("NULL", "10 rows with no value"), ("100000 + i", "10 rows with a date before `earliest`, such as 100000"),
        ("0", "10 rows with a placeholder for no date, such as 0"),
    ])
    func aColumnWithoutAnyReadableDateIsReported(value: String, kind: String) throws {
        let file = try PriceFile()
        #expect(try check(file, .prices()).isEmpty)
        try file.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
            INSERT INTO price (at) SELECT \(value) FROM n;
            """)
        let found = try check(file, .prices())
        #expect(found.map(\.severity) == [.warning])
        #expect(
            found.first?.message
                == "prices deletes nothing, because it can read no value of price.at as a date: \(kind)", "\(found)")
    }

    @Test func valuesOfAnotherKindAreAnError() throws {
        let file = try PriceFile("CREATE TABLE note (at TEXT)")
        try file.execute("INSERT INTO note VALUES ('never'), ('soon')")
        let found = try check(
            file,
            .prices {
                $0.entity = "note"; $0.dateFormat = .iso8601
            })
        #expect(found.map(\.severity) == [.error] && found[0].message.contains("(mixed_formats)"), "\(found)")
    }

    // MARK: Indexes

    @Test(arguments: [
        ("'Z'", true), ("'+00:00'", true), ("''", true), ("CASE WHEN i % 2 THEN '+05:00' ELSE '-03:00' END", false),
        ("CASE WHEN i % 2 THEN '+01' ELSE '+05' END", false), ("CASE WHEN i % 2 THEN '+01' ELSE '.12' END", false),
    ])
    func theAdviceOfAnIndexOnTextNamesItsCondition(end: String, isAlike: Bool) throws {
        let file = try PriceFile("CREATE TABLE note (at TEXT)")
        try file.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
            INSERT INTO note SELECT strftime('%Y-%m-%dT%H:%M:%S', 1795000000 - i * 3600, 'unixepoch') || \(end) FROM n;
            """)
        let rule = Rule.prices {
            $0.entity = "note"; $0.dateFormat = .iso8601
        }
        let found = try check(file, rule)
        #expect(
            found.map { $0.message.contains("if all of its texts are written alike: CREATE INDEX") } == [true],
            "\(found)")
        try file.execute("CREATE INDEX note_at ON note (at)")
        let served = try check(file, rule)
        #expect(served.isEmpty == isAlike, "\(served)")
        if !isAlike {
            #expect(served.first?.message.contains("the index note_at exists, but the order of its values") == true)
        }
    }

    @Test func anIndexOnSomeRowsIsNamedWithTheReason() throws {
        let file = try PriceFile("CREATE INDEX price_part ON price (at) WHERE symbol = 'XAU'", indexed: false)
        try file.addPrices(daysOld: 0..<60)
        let found = try check(file, .prices())
        #expect(
            found.map(\.message).first?.hasSuffix("the index price_part exists, but it contains only some of the rows")
                == true)
    }

    @Test func aFileThatGivesRoomBackWithEachCommitNeedsNoAdvice() throws {
        let file = try PriceFile("PRAGMA auto_vacuum = FULL; VACUUM")
        for mode in [ReclaimMode.auto, .incremental] {
            let policy = file.policy(.prices { $0.reclaim = mode })
            #expect(
                try StoreCheck.reclaimAdvice(policy: policy, reader: try file.reader()).isEmpty)
        }
    }

    @Test(
        arguments: [
            ("REAL", .real, nil), ("", .none, nil), ("ANY", .none, nil), ("blob", .none, nil),
            ("VARCHAR", .text, "tick.p is a column for text, and"),
            ("money", .none, "tick.p is a column of type money, and"),
        ] as [(String, Attribute.Affinity, String?)])
    func aPriceIsANumber(_ type: String, _ affinity: Attribute.Affinity, _ message: String?) {
        let tick = Entity(name: "tick", attributes: [Attribute(name: "p", affinity: affinity, declaredType: type)])
        let found = StoreCheck.numberTrouble("p", of: tick, at: Mark(line: 1, column: 1))?.message
        #expect(found?.prefix { $0 != "," } == message?.prefix { $0 != "," })
    }
}
