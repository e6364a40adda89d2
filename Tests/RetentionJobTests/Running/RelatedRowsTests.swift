import Foundation
import PriceStore
import RetentionJob
import RetentionPolicy
import SQLiteStore
import TestSupport
import Testing

/// Rules on rows that other rows, and rows of the same table, point at. What the journal mode, the keys and the rule's own word
/// change, the judge of random stores says.
@Suite struct RelatedRowsTests {
    static let settings: [Rule.RelationshipSetting] = [.asDeclared, .deny, .cascade, .nullify]

    private let bench = RunTests.Bench()

    private func rule(_ change: (inout Rule) -> Void) -> Rule {
        .prices {
            $0.batch = Rule.BatchSetting()
            $0.allowEmpty = true
            change(&$0)
        }
    }

    /// Rows 1 to 40, of which the first 20 are expired, with a reference to another row of the table; and children.
    private func file(
        _ action: String, own: String? = nil, points: String, children: Bool
    ) throws -> PriceFile {
        try PriceFile(
            """
            PRAGMA journal_mode = WAL;
            DROP TABLE price;
            CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES price \(own ?? action));
            CREATE INDEX price_at ON price (at);
            CREATE INDEX price_up ON price (up);
            CREATE TABLE child (id INTEGER PRIMARY KEY, price INTEGER REFERENCES price \(action));
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
            INSERT INTO price SELECT i, iif(i <= 20, 1700000000, 1795219000) + i, \(points) FROM n;
            \(children ? "INSERT INTO child (price) SELECT id FROM price UNION ALL SELECT id FROM price;" : "")
            """)
    }

    /// The shapes of references within the table.
    static let shapes = [
        "iif(i > 1, i - 1, NULL)",  // a chain, as of states that follow each other
        "iif(i < 20, i + 1, NULL)",  // a chain the other way round, all of it expired
        "iif(i <= 20, 1 + i % 20, NULL)",  // a ring
        "iif(i BETWEEN 2 AND 20, 1, NULL)",  // a star
    ]

    /// Another program refers to expired rows between two batches: the rule fails, and says what is done; unless that is accepted.
    @Test func rowsThatArriveDuringTheRunAreDeniedToo() throws {
        for isAccepted in [false, true] {
            let bench = RunTests.Bench()
            let file = try file("ON DELETE CASCADE", own: "", points: "NULL", children: false)
            bench.afterBatch = { if $0 == 1 { try file.execute("INSERT INTO child (price) VALUES (15), (16)") } }
            let report = try bench.run(
                file,
                rule {
                    $0.relationships = .deny
                    $0.batch.rows = 5
                    $0.accept = isAccepted ? [.relationshipDenied] : []
                })
            let told = report.rules[0]
            guard !isAccepted else {
                #expect(told.outcome == .completed && told.done.deleted == 20 && told.done.cascaded == 2, "\(told)")
                continue
            }
            #expect(told.outcome == .failed && report.exitCode == 65, "\(told)")
            #expect(told.done.deleted == 10 && told.left.expired == 10 && told.done.cascaded == 0, "\(told)")
            #expect(
                told.message?.hasSuffix(
                    "rows of price that would be deleted are referenced by 1 row of child (price), and deny does not allow "
                        + "that; delete those first, or ask for cascade or nullify; 10 rows are deleted and committed before it"
                )
                    == true, "\(told.message ?? "")")
            #expect(try file.count("1", of: "child") == 2)
            // The next night the survey sees them.
            #expect(try bench.run(file, rule { $0.relationships = .deny }).rules[0].refusal == .relationshipDenied)
        }
    }

    /// What the rules before a `deny` were to delete first may still be there.
    @Test func aRuleThatLeavesRowsMakesTheNextOneFail() throws {
        let file = try PriceFile(
            """
            CREATE TABLE child (id INTEGER PRIMARY KEY, at INTEGER, price INTEGER REFERENCES price ON DELETE CASCADE);
            CREATE INDEX child_at ON child (at);
            """)
        try file.addPrices(daysOld: [50, 51, 52, 0])
        try file.execute("INSERT INTO child SELECT id, at, id FROM price WHERE id < 4")
        let children = Rule.prices("children") {
            $0.entity = "child"
            $0.allowEmpty = true
            $0.limits.maxRows = 3
        }
        let parents = rule { $0.relationships = .deny }
        #expect(try bench.dryRun(file, children, parents).rules.map(\.outcome) == [.planned, .planned])
        // One more comes than the first rule may delete.
        bench.afterBatch = {
            if $0 == 1 { try file.execute("INSERT INTO child SELECT 9, at, id FROM price WHERE id = 2") }
        }
        let report = try bench.run(file, children, parents)
        #expect(report.rules[0].outcome == .completed && report.rules[0].left.expired == 1, "\(report.rules[0])")
        #expect(report.rules[1].outcome == .failed && report.exitCode == 65, "\(report.rules[1])")
        #expect(try file.count("id = 9", of: "child") == 1 && file.count("id = 2") == 1)
    }

    /// Nothing refers to the rows: two rules go through the table, whatever their word on relationships is.
    @Test(arguments: settings) func rulesWithAnOverrideFollowEachOther(_ setting: Rule.RelationshipSetting) throws {
        let file = try PriceFile()
        try file.addPrices(daysOld: Array(31...60) + [0], symbol: "XAU")
        try file.addPrices(daysOld: Array(31...60) + [0], symbol: "XAG")
        func rule(_ symbol: String) -> Rule {
            .prices(symbol) {
                $0.filter = .compare("symbol", .equal, .text(symbol))
                $0.relationships = setting
                $0.batch = Rule.BatchSetting()
            }
        }
        bench.options.method = "windows"
        let report = try bench.run(file, rule("XAU"), rule("XAG"))
        #expect(report.rules.map(\.done.deleted) == [30, 30] && report.exitCode == 0, "\(report.rules)")
        #expect(try file.count() == 2)
    }

    /// In which batch a row is deleted is not known, so that rows which refer to each other by NO ACTION are refused.
    @Test(arguments: [0, 1, 2, 3]) func rowsThatReferToEachOtherAreRefusedWithWhatWorks(_ shape: Int) throws {
        let file = try file("", points: Self.shapes[shape], children: false)
        let before = try file.count()
        for report in try [bench.dryRun(file, rule { _ in }), bench.run(file, rule { _ in })] {
            #expect(report.rules[0].refusal == .relationshipDenied && report.exitCode == 65, "\(report.rules)")
            #expect(report.rules[0].message?.contains("relationships: nullify") == true, "\(report.rules)")
        }
        #expect(try file.count() == before)
        let report = try bench.run(file, rule { $0.relationships = .nullify })
        #expect(report.rules[0].done.deleted == 20 && report.rules[0].left.expired == 0 && report.exitCode == 0)
    }

    /// A row would take any number of rows of its own table along.
    @Test func cascadesThatLeadBackAreRefusedWithWhatWorks() throws {
        let file = try file("ON DELETE CASCADE", points: Self.shapes[0], children: true)
        for report in try [bench.dryRun(file, rule { _ in }), bench.run(file, rule { _ in })] {
            #expect(report.rules[0].refusal == .unsupportedSchema && report.exitCode == 65, "\(report.rules)")
            #expect(
                report.rules[0].message?.contains("cascades lead from price back to price (up)") == true
                    && report.rules[0].message?.contains("relationships: nullify") == true, "\(report.rules)")
        }
        let report = try bench.run(file, rule { $0.relationships = .nullify })
        #expect(report.rules[0].done.deleted == 20 && report.rules[0].left.expired == 0 && report.exitCode == 0)
    }

    @Test func obstaclesAreReportedWithWhatWorks() throws {
        let file = try file("", points: Self.shapes[0], children: false)
        let own = try #require(try bench.dryRun(file, rule { _ in }).rules[0].message)
        #expect(own.contains("relationships: nullify") && !own.contains("relationships: cascade"))
        #expect(!own.contains("a rule for"))
        try file.execute("UPDATE price SET up = NULL; INSERT INTO child (price) VALUES (1)")
        let other = try #require(try bench.dryRun(file, rule { _ in }).rules[0].message)
        #expect(other.contains("1 row of child (price)"))
        #expect(other.contains("with a rule for child before this one if its rows have a date"))
    }
}
