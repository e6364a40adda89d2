import PriceStore
import RetentionJob
import RetentionPolicy
import TestSupport
import Testing

/// The strategy that the engine chooses by itself, and what becomes of it when it does not fit after all.
struct RunMethodTests {
    private let bench = RunBench()

    /// Prices in WAL mode, of which 19 of 20 are expired.
    private func file(of rows: Int = 60_000) throws -> PriceFile {
        try PriceFile(
            """
            PRAGMA journal_mode = WAL;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            INSERT INTO price (at, symbol) SELECT 1792627200 - \(rows / 20 * 19 + 1) + i, 'XAU' FROM n;
            """)
    }

    private func rule(_ change: (inout Rule) -> Void = { _ in }) -> Rule {
        .prices {
            $0.batch = Rule.BatchSetting()
            change(&$0)
        }
    }

    @Test func rowsAreDeletedInBatchesAndTheDryRunNamesTheRebuild() throws {
        let file = try file()
        let planned = try bench.dryRun(file, rule()).rules[0]
        #expect(
            planned.method.name == "range batches" && planned.method.reason == nil && planned.planned.expired == 57_000)
        #expect(
            planned.advice.contains(
                "57,000 of 60,000 rows expire: with all other programs stopped, retention run --rebuild is faster, and "
                    + "returns the space"), "\(planned.advice)")
        let report = try bench.run(file, rule())
        #expect(report.rules[0].method.name == "range batches" && report.rules[0].done.deleted == 57_000)
        #expect(report.rules[0].done.lockElapsed == nil && report.exitCode == 0)
    }

    @Test func aRebuildThatWasAskedForReturnsTheSpace() throws {
        let file = try file()
        bench.options.method = "rebuild"
        let report = try bench.run(file, rule())
        #expect(report.rules[0].method.name == "rebuild" && report.rules[0].outcome == .completed)
        #expect(
            report.rules[0].done.deleted == 57_000 && report.rules[0].done.batches == 1
                && report.rules[0].left.expired == 0)
        #expect(report.rules[0].done.lockElapsed.map { $0 > .zero } == true)
        let shown = bench.observer.stages.filter { $0.contains(": ") }.map { $0.split(separator: ": ").last ?? "" }
        let phases = shown.reduce(into: [Substring]()) { phases, text in
            let phase = text.prefix { $0 != "," }
            if phases.last != phase { phases.append(phase) }
        }
        #expect(phases == ["copying the rows that stay", "making the indexes", "copying back"])
        let percents = shown.filter { $0.hasPrefix("copying the rows") }.compactMap { $0.firstMatch(of: #/(\d+)%/#) }
            .compactMap { Int($0.1) }
        #expect(percents.count > 1 && percents == Set(percents).sorted(), "\(shown)")
        #expect(try file.count() == 3000)
        #expect(try #require(report.storeSizeBytes) < #require(report.storeBytesBefore))
        #expect(report.reclaimedBytes > 0)
        // Where nothing is expired there is nothing to copy.
        #expect(try bench.run(file, rule()).exitCode == 0)
    }

    /// A row of another table breaks a constraint that was added by hand: no copy can hold it.
    @Test func aRebuildThatWasAskedForFailsWhereItMeetsARowThatBreaksItsConstraint() throws {
        let file = try file(of: 600)
        try file.execute(
            """
            CREATE TABLE other (x); INSERT INTO other VALUES (NULL);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE TABLE other (x NOT NULL ON CONFLICT IGNORE)' WHERE name = 'other';
            PRAGMA writable_schema = RESET;
            """)
        bench.options.method = "rebuild"
        let report = try bench.run(file, rule())
        #expect(report.rules[0].message?.contains("NOT NULL constraint failed: other.x") == true)
        #expect(report.rules[0].done.deleted == 0 && report.rules[0].outcome == .failed && report.exitCode == 65)
        #expect(try file.count(of: "other") == 1)
    }

    @Test(arguments: [
        "whole": "one statement", "range": "range batches", "windows": "rowid windows", "rebuild": "rebuild",
    ])
    func everyMethodCanBeAskedFor(_ method: String, phrase: String) throws {
        let file = try file(of: 600)
        bench.options.method = method
        #expect(try bench.dryRun(file, rule()).rules[0].planned.expired == 570)
        let report = try bench.run(file, rule())
        #expect(report.rules[0].method.name == phrase)
        #expect(report.rules[0].method.reason == nil)
        #expect(report.rules[0].done.deleted == 570)
        #expect(report.rules[0].left.expired == 0)
        #expect(report.exitCode == 0)
    }

    @Test func aMethodThatIsNotPossibleEndsTheRunAndSaysWhy() throws {
        let file = try PriceFile("CREATE TRIGGER gone AFTER DELETE ON price BEGIN SELECT 1; END")
        try file.addPrices(daysOld: [40, 1])
        bench.options.method = "rebuild"
        let report = try bench.run(file, .prices())
        #expect(report.failure?.contains("its trigger gone would not fire") == true)
        #expect(try report.exitCode == 78 && file.count() == 2)
    }

    // MARK: Several rules on one entity

    /// Without a date index: 40 days old and 100 days old, of two symbols.
    private func unindexedFile() throws -> PriceFile {
        let file = try PriceFile(indexed: false)
        for symbol in ["XAU", "XAG"] {
            try file.addPrices(
                daysOld: Array(repeating: 40, count: 15) + Array(repeating: 100, count: 8) + [1], symbol: symbol)
        }
        return file
    }

    @Test(arguments: ["both", "neither", "the first", "the last"])
    func rulesOnOneTableAreCarriedOutOneAfterTheOther(_ limited: String) throws {
        let file = try unindexedFile()
        func limit(_ rule: inout Rule, _ name: String) {
            rule.batch = .fixed(rows: ["both", name].contains(limited) ? 1 : 100)
        }
        let gold = Rule.prices("gold") {
            $0.filter = .compare("symbol", .equal, .text("XAU"))
            limit(&$0, "the first")
        }
        let old = Rule.prices("old", line: 20) {
            $0.maxAge.days = 90
            limit(&$0, "the last")
        }
        // Eight rows are expired by both rules, and count for the first.
        #expect(try bench.dryRun(file, gold, old).rules.map(\.planned.expired) == [23, 8])
        let report = try bench.run(file, gold, old)
        #expect(report.rules.map(\.done.deleted) == [23, 8])
        #expect(report.rules.map(\.left.expired) == [0, 0])
        #expect(report.rules.map(\.outcome) == [.completed, .completed])
        #expect(bench.observer.stages.contains("gold") && bench.observer.stages.contains("old"))
        #expect(try file.count() == 17)
    }

    @Test func aRunThatIsStoppedLeavesEachRuleItsOwnResidue() throws {
        let file = try unindexedFile()
        let gold = Rule.prices("gold") { $0.filter = .compare("symbol", .equal, .text("XAU")) }
        bench.afterBatch = { if $0 == 2 { bench.signal = 15 } }
        let report = try bench.run(file, gold, .prices("old", line: 20) { $0.maxAge.days = 90 })
        #expect(report.rules[0].done.deleted == 20)
        #expect(report.rules.map(\.done.deleted) == [20, 0])
        #expect(report.rules.map(\.left.expired) == [3, 8])
        #expect(report.rules.map(\.outcome) == [.interrupted, .interrupted])
        #expect(report.exitCode == 143)
    }
}
