import PriceStore
import RetentionJob
import RetentionPolicy
import TestSupport
import Testing

/// Rules on rows at which another program makes other rows point meanwhile. What is refused before is in the cases
/// `references-within-a-table` and `schemas-with-relationships`.
@Suite struct RelatedRowsTests {
    private let bench = RunBench()

    private func rule(_ change: (inout Rule) -> Void) -> Rule {
        .prices {
            $0.batch = Rule.BatchSetting()
            $0.allowEmpty = true
            change(&$0)
        }
    }

    /// Another program refers to expired rows between two batches: the rule fails, and says what is done; unless that is accepted.
    @Test func rowsThatArriveDuringTheRunAreDeniedToo() throws {
        for isAccepted in [false, true] {
            let bench = RunBench()
            let file = try PriceFile("CREATE TABLE child (price INTEGER REFERENCES price ON DELETE CASCADE)")
            try file.addPrices(daysOld: (11...50).reversed())
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
}
