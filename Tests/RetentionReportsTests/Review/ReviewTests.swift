import Foundation
import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob
@testable import RetentionReports

/// What a review says is true after a bad night, an undo and a stopped feed, and what is unknown is not said to be none.
struct ReviewTests {
    private typealias Sample = ReviewSample

    private func refused(_ expired: Int = 71_000) -> RunReport.RuleReport {
        var rule = Sample.rule("gold", .refused, expired: expired)
        rule.refusal = .policyWidened
        rule.message = "refusing to delete from Price: max_age was 30d; check, then pass --accept policy_widened once"
        rule.refusals = [.init(code: .policyWidened, message: rule.message ?? "", isAcceptable: true)]
        return rule
    }

    // MARK: Nothing false

    @Test func anUnknownOverdueTimeIsNotNone() {
        var rule = Sample.rule(expired: 46_713)
        rule.left.oldest = nil
        let cells = Sample.review([rule], [Sample.run(0)]).ruleTable
        let place = cells.columns.firstIndex { $0.heading == "Overdue" } ?? 0
        #expect(cells.rows[0].cells[place] == "?")
        rule = Sample.rule(expired: 0)
        #expect(Sample.review([rule], []).ruleTable.rows[0].cells[place].isEmpty)
    }

    @Test func theNumbersOfExpiredRowsAddUp() throws {
        var rule = Sample.rule(expired: 5141)
        (rule.kept.byRuleCount, rule.kept.heldCount) = (1000, 3357)
        var review = Sample.review([rule], [Sample.run(0)])
        let month = Series.Point(start: Sample.instant(-40), end: Sample.instant(-30), values: [9500, 9500])
        review.dates["gold"] = Series(
            names: ["rows", "before_cutoff"],
            points: [month, .init(start: Sample.instant(0), end: Sample.instant(1), values: [5, 0])])
        let plot = try #require(review.plots(of: rule).first)
        #expect(
            plot.summary
                == "9,500 rows before the cutoff 2026-10-22 00:00; 5,141 expired; 1,000 by keep_last or thin, 3,357 held; "
                + "2 go with another rule or have arrived meanwhile.")
        #expect(review.top[1].contains("5,141 rows expired now"))
    }

    @Test func whatIsNotKnownIsNotNone() {
        var review = Sample.review([Sample.rule(rows: nil)], [])
        #expect(review.top[0] == "Last run: none is recorded")
        #expect(review.sentences.map(\.text) == ["MISSED: no run is recorded; one is expected every 1d"])
        review.policy.ledger = .none
        #expect(review.top[0] == "Last run: not known: the policy keeps no ledger")
        #expect(review.top[1].hasPrefix("Next: when is not known: the policy keeps no ledger ·"))
        #expect(review.sentences.isEmpty && review.missed == nil)
        review.policy.expectedEvery = nil
        #expect(review.top[1].hasPrefix("Next: when is not known: the policy has no expected_every"))
        #expect(review.ruleTable.rows[0].cells[2] == "?")
        review.plan.rules[0].planned.forecast = nil
        #expect(!review.top[1].contains("24 hours"))
        var crashed = Sample.run(0)
        (crashed.outcome, crashed.report.rules) = (.crashed, [])
        review = Sample.review([Sample.rule()], [crashed])
        #expect(review.top[0] == "Last run: 2026-11-20 03:00 · crashed · what it deleted and left is not known")
        let cells = review.runTable.rows[0].cells
        #expect(cells[1] == "?" && cells[5] == "?", "\(cells)")
    }

    // MARK: What comes

    @Test func theNextRunIsDueOrMissed() {
        let due = Sample.review([Sample.rule(expired: 5)], [Sample.run(0)])
        #expect(
            due.top[1] == "Next: due by 2026-11-21 03:00; if you read this after 2026-11-21 05:24, the job did not run"
                + " · 5 rows expired now, 10 more within 24 hours")
        var rule = Sample.rule(expired: 5)
        rule.planned.forecast?.untilDue = 3
        #expect(Sample.review([rule], [Sample.run(0)]).top[1].hasSuffix(" · 5 rows expired now, 3 more by then"))
        // What is due is what is expired now.
        #expect(Sample.review([rule], [Sample.run(1)]).top[1].hasSuffix(", 10 more within 24 hours"))
        let late = Sample.review([Sample.rule()], [Sample.run(1)])
        #expect(late.top[1].hasPrefix("Next: due by 2026-11-20 03:00; no run is recorded since"))
        #expect(late.sentences[0].text == "MISSED: the last run began 1 d 21 h ago; one is expected every 1d")
        // A run that failed has run.
        let failed = Sample.review([Sample.rule()], [Sample.run(1), Sample.run(0, [], failure: "locked")])
        #expect(failed.top[1].hasPrefix("Next: due by 2026-11-21 03:00; if you read this"))
        #expect(!failed.words.contains("MISSED"))
        #expect(Sample.review([Sample.rule()], []).top[1].contains("expected every 1d, and none is recorded"))
    }

    /// As in the log: a missed run is where it was due, also if runs of some rules began later.
    @Test func theRunsAndTheMissedOnesAreInOneOrderOfTime() {
        var some = Sample.run(0)
        some.report.onlyRules = ["gold"]
        let review = Sample.review([Sample.rule(), Sample.rule("silver")], [Sample.run(2), some])
        let starts = review.runTable.rows.map { $0.cells[0] }
        #expect(starts == ["2026-11-20 03:00", "2026-11-19 03:00", "2026-11-18 03:00"])
    }

    /// A rule for several ages is as many rules as in its last run. Of what they would do nothing is known.
    @Test func theRulesOfAStoreThatCannotBeReadAreThoseOfThePastRuns() {
        var ages = ["gold:5y", "gold:default"].map { Sample.rule($0, .completed, expired: 10) }
        for index in ages.indices { ages[index].family = "gold" }
        let night = Sample.run(0, ages + [Sample.rule("silver", .completed, expired: 3)])
        var plan = ReportSample.report(.dryRun, rules: [])
        (plan.started, plan.failure, plan.exitCode) = (Sample.now, "store not found", 66)
        let review = Review(plan: plan, runs: [night], policy: Sample.policy(["gold", "silver", "tin"]))
        #expect(review.ruleTable.rows.map { $0.cells[0] } == ["gold:5y", "gold:default", "silver", "tin"])
        #expect(review.ruleTable.rows.allSatisfy { Array($0.cells[1...4]) == ["would fail", "?", "?", "?"] })
        #expect(review.words.contains(" gold:default 2026-11-20 "), "\(review.words)")
        #expect(ReviewPage(review).html.contains("<h3>gold:default</h3>"))
        #expect(review.json.contains("\"name\": \"gold:default\"") && review.json.contains("\"expired\": null"))
        #expect(review.expiredNow == nil && !review.words.contains("no longer in the policy"))
        // Of a policy with mistakes only the names were read.
        var policy = Sample.policy(["gold", "silver", "tin"])
        policy.mistakes = .missing(path: "")
        for index in policy.rules.indices { policy.rules[index].limits.maxFraction = nil }
        let table = Review(plan: plan, runs: [night], policy: policy)
        let places = table.ruleTable.columns.indices.filter {
            ["Max age", "Date"].contains(table.ruleTable.columns[$0].heading)
        }
        let cells = table.ruleTable.rows.map { row in places.map { row.cells[$0] } }
        #expect(cells[2] == ["30d", "Price.updateTime"] && cells[3] == ["?", "Price.?"], "\(cells)")
        #expect(!table.attention.contains { $0.kind == "no_limit" })
    }

    // MARK: Attention

    @Test func theWorstComesFirst() {
        var unreadable = Sample.rule("ticks")
        unreadable.planned.unreadable = [.init(reason: .null, rowCount: 3, example: .null)]
        let news = Sample.rule("news", entity: "News")
        let old = [Sample.run(9, [], failure: "disk full"), Sample.run(6)]
        var review = Sample.review([unreadable, news, refused()], old + [Sample.run(5, [refused()]), Sample.run(0)])
        review.plan.warnings = [
            "no new rows: the newest row of News is dated 2026-11-10, 11 days ago, more than …", "hold ends soon: x",
        ]
        review.plan.holds = [
            .init(name: "h", entity: "Price", reason: "r", expires: Sample.instant(20), state: .inForce),
            .init(name: "late", entity: "Price", reason: "r", expires: Sample.instant(40), state: .inForce),
        ]
        review.policy.rules[1].isArchived = false
        review.policy.rules[0].limits.maxFraction = nil
        #expect(
            review.attention.map(\.kind) == [
                "refused", "no_new_rows", "unreadable", "hold", "no_archive", "no_limit", "missed", "refused", "missed",
                "failed",
            ], "\(review.sentences)")
        let texts = review.sentences.map(\.text)
        #expect(
            texts.contains { $0.contains("the hold h ends in 20 days, at 2026-12-11 00:00; it keeps 0 expired rows") })
        #expect(texts.contains("no archive for news: what a run deletes cannot be restored"))
        #expect(texts.contains("no max_rows or max_fraction for ticks: a run may delete any number of rows"))
        #expect(texts.contains("ticks: 3 unreadable rows kept: no value"))
        #expect(review.orderedRules.map(\.name) == ["gold", "news", "ticks"])
        #expect(Sample.review([Sample.rule()], [Sample.run(1), Sample.run(0)]).top[2] == "Attention: nothing")
    }

    /// With one command for all of them.
    @Test func restoredRowsOfSeveralRulesAreToldOnce() {
        let start = "undo 01A has restored rows that run 01B had deleted: "
        let rules = [("a", 2), ("b", 1), ("c", 1_234)].map { name, count -> RunReport.RuleReport in
            var rule = Sample.rule(name, .refused, expired: count)
            let message =
                "refusing to delete from \(name): \(start)\(Figures.count(count, "row")); change the rule so that it "
                + "keeps them, or pass --accept restored_rows once to delete them"
            (rule.refusal, rule.message) = (.restoredRows, message)
            rule.refusals = [.init(code: .restoredRows, message: message, isAcceptable: true)]
            return rule
        }
        let review = Sample.review(rules, [Sample.run(0)])
        let command = "retention run -c \(review.plan.config) --rule a --rule b --rule c --accept restored_rows"
        #expect(
            review.sentences.prefix(3).map(\.text) == [
                "a: a run now would refuse it: refusing to delete from a: \(start)2 rows; change the rule so that it "
                    + "keeps them; to accept that for one run: \(command)",
                "b: a run now would refuse it, for the same reason as a",
                "c: a run now would refuse it, for the same reason as a",
            ], "\(review.sentences)")
    }

    /// Nobody knows whether what ended the last run is over, so it stands before everything that needs a look.
    @Test(arguments: [("failed", "error"), ("crashed", "error"), ("interrupted", "warning")])
    func theLastNightComesBeforeNotices(kind: String, level: String) throws {
        var unreadable = Sample.rule()
        unreadable.planned.unreadable = [.init(reason: .null, rowCount: 3, example: .null)]
        let bad = [3, 1, 0].map { (daysAgo: Int64) in
            var run = Sample.run(daysAgo, [], failure: "database is locked")
            run.outcome = RunReport.RunOutcome(rawValue: kind) ?? .completed
            return run
        }
        let runs = [bad[0], Sample.run(2), bad[1], bad[2]]
        var review = Sample.review([unreadable], runs)
        review.policy.rules[0].limits.maxFraction = nil
        #expect(review.attention.map(\.kind) == [kind, "unreadable", "no_limit"], "\(review.sentences)")
        let text = "2026-11-17 03:00 to 2026-11-20 03:00, 3 times: \(kind): database is locked"
        #expect(review.sentences[0].text == text)
        #expect(review.json.contains("\"level\": \"\(level)\""), "\(review.json)")
        // A night that a good one followed is over.
        review = Sample.review([unreadable], [bad[0], Sample.run(2), Sample.run(1), Sample.run(0)])
        #expect(review.attention.map(\.kind) == ["unreadable", kind], "\(review.sentences)")
    }

    /// The last run is among the bad ones, and what happens again and again is one line.
    @Test func theLastBadNightIsTold() {
        let bad = [2, 1, 0].map { Sample.run($0, [refused()]) }
        #expect(
            Sample.review([Sample.rule()], bad).top.contains(
                "2026-11-18 03:00 to 2026-11-20 03:00, 3 times: refused: policy_widened (gold)"))
        let sparse = [14, 12, 9, 7, 4, 2, 0].map { Sample.run($0) }
        let sparseReview = Sample.review([Sample.rule()], sparse)
        let caption = "The newest 7 runs and the missed ones, the last one first. A run that could not read its policy "
        #expect(sparseReview.runTable.caption == caption + "is missed: see its mail or journal")
        #expect(Sample.review([Sample.rule()], bad).runTable.caption == "The newest 3 runs, the last one first")
        let texts = sparseReview.top
        #expect(
            texts.contains(
                "4 times, first 2026-11-07 03:00, last 2026-11-19 03:00: MISSED: 2 d 00 h without a run; "
                    + "one is expected every 1d"
            ),
            "\(texts)")
        #expect(texts.count { $0.contains("MISSED") } == 2, "\(texts)")
    }

    /// With the newest text. Another rule is another one, even if its name differs in a figure only.
    @Test func theSameReasonWithOtherFiguresIsOneLine() {
        func reason(_ count: Int) -> String {
            "\(Figures.count(count, "row")) locked since 2026-11-\(count + 10)T03:00:00Z; \(count) deleted"
        }
        func run(_ daysAgo: Int64, _ count: Int, _ names: [String], _ codes: [RefusalCode]) -> LedgerRun {
            var silver = Sample.rule("silver", .refused)
            silver.refusals = codes.map { .init(code: $0, message: "", isAcceptable: true) }
            let failed = names.map { name in
                var rule = Sample.rule(name, .failed)
                rule.message = reason(count)
                return rule
            }
            return Sample.run(daysAgo, failed + [silver])
        }
        let texts = Sample.review(
            [Sample.rule()],
            [
                run(3, 1, ["ohlcv-5", "ohlcv-1"], [.tooManyRows]), run(2, 2, ["ohlcv-5"], [.tooManyRows]),
                run(1, 3, ["ohlcv-5", "gold"], [.tooManyRows, .tooLargeFraction]),
            ]
        ).attention.map(\.text)
        #expect(
            texts.filter { $0.contains(" failed: ") } == [
                "2026-11-17 03:00 to 2026-11-19 03:00, 3 times: failed: \(reason(3)) (ohlcv-5)",
                "2026-11-19 03:00: failed: \(reason(3)) (gold)", "2026-11-17 03:00: failed: \(reason(1)) (ohlcv-1)",
            ], "\(texts)")
        #expect(
            texts.filter { $0.contains(" refused: ") } == [
                "2026-11-17 03:00 to 2026-11-19 03:00, 3 times: refused: too_many_rows, too_large_fraction (silver)"
            ], "\(texts)")
        let full = ([(3, "12.3"), (2, "8"), (1, "1,024")] as [(Int64, String)]).map { daysAgo, size in
            Sample.run(daysAgo, [], failure: "disk full: \(size) MiB needed; free some space")
        }
        #expect(
            Sample.review([Sample.rule()], full).attention.map(\.text).contains(
                "2026-11-17 03:00 to 2026-11-19 03:00, 3 times: failed: disk full: 1,024 MiB needed"))
    }

    @Test func aReasonDoesNotBeginWithAPath() {
        let archive = "/data/archive/\(Sample.run(0).report.runID).sqlite"
        for (failure, text) in [
            ("\(archive): the disk of the archive is full; free some space", "the disk of the archive is full"),
            ("/data/archive: the folder is missing; create it", "archive: the folder is missing"),
            ("/data/prices.sqlite: the database is locked", "the database is locked"),
        ] {
            let run = Sample.run(0, [], failure: failure)
            #expect(run.outcomeText == "failed: \(text)")
            #expect(LogReport([run]).table().contains("exit 75: \(text)"))
        }
    }

    @Test func aRuleThatIsGoneIsTold() {
        var silver = Sample.rule("silver:a", .completed)
        silver.family = "silver"
        let runs = [Sample.run(1, [Sample.rule("gold", .completed), silver]), Sample.run(0)]
        let said = "silver:a: was run until 2026-11-19 03:00 and is no longer in the policy"
        var review = Sample.review([Sample.rule()], runs)
        #expect(review.sentences.map(\.text).contains(said), "\(review.top)")
        review.policy = Sample.policy(["gold", "silver"])
        #expect(!review.words.contains("no longer in the policy"))
    }

    @Test func aTableThatWasEmptiedIsTold() {
        let runs = [Sample.run(1), Sample.run(0, [Sample.rule("gold", .completed, rows: 0)])]
        let text = "gold: has no rows; the run of 2026-11-19 03:00 found 1,000 rows"
        var review = Sample.review([Sample.rule(rows: 0)], runs)
        #expect(review.top.contains(text), "\(review.top)")
        review.policy.rules[0].allowEmpty = true
        #expect(!review.top.contains(text))
        // One that never had rows waits for them.
        #expect(!Sample.review([Sample.rule(rows: 0)], [runs[1]]).words.contains("has no rows"))
    }

    /// Many rules have fewer nights each, and a page shows no value of a row.
    @Test func theTableOfNightsIsShort() {
        let names = (1...30).map { "r\($0)" }
        let runs = [1, 0].map { Sample.run($0, names.map { Sample.rule($0, .completed, expired: 10) }) }
        var review = Sample.review(names.map { Sample.rule($0) }, runs)
        #expect(review.nightTable.rows.count == 30)
        review.plan.rules[4].planned.silent = .init(count: 2, newest: [("symbol SECRET", Sample.now)])
        #expect(
            review.top.contains("r5: no new rows of 2 groups of keep_last, whose old rows expire; a dry run names them")
        )
        #expect(!ReviewPage(review).html.contains("SECRET") && !review.json.contains("SECRET"))
    }

    // MARK: JSON and text

    @Test func textAndPageSayWhatTheJSONHas() throws {
        var review = Sample.review([refused(), Sample.rule("ticks", expired: 5)], [Sample.run(1), Sample.run(0)])
        review.policy.rules[0].isArchived = false
        let json = try #require(try JSONSerialization.jsonObject(with: Data(review.json.utf8)) as? [String: Any])
        #expect(json["schema"] as? String == "retention.report/1")
        #expect((json["last_run"] as? [String: Any])?["outcome"] as? String == "completed")
        #expect((json["next"] as? [String: Any])?["due"] as? String == "2026-11-21T03:00:00Z")
        #expect((json["next"] as? [String: Any])?["expired"] as? Int == 5)
        let rules = try #require(json["rules"] as? [[String: Any]])
        #expect(rules.map { $0["name"] as? String } == ["gold", "ticks"] && rules[1]["expired"] as? Int == 5)
        #expect((rules[0]["days"] as? [[String: Any]])?.last?["deleted"] as? Int == 10)
        for found in try #require(json["attention"] as? [[String: Any]]) {
            let text = try #require(found["text"] as? String)
            let words = text.split(separator: " ").joined(separator: " ")
            #expect(review.words.contains(words) && ReviewPage(review).html.contains(HTMLText.escaped(text)), "\(text)")
        }
    }

    /// On a narrow terminal the name of a rule is above its nights, not above each of them.
    @Test func aLongNameIsShownOnce() throws {
        let name = "prices-of-the-european-exchanges-by-minute"
        let runs = [Int64(2), 1, 0].map { Sample.run($0, [Sample.rule(name, .completed, expired: 10)]) }
        let text = ReviewText(
            Sample.review([Sample.rule(name), Sample.rule("gold")], runs), TextLayout(width: 80, tableWidth: 80)
        ).text
        let nights = try #require(text.firstRange(of: "What came and went")).lowerBound
        let lines = text[nights...].split(separator: "\n")
        #expect(lines.count { $0 == name } == 1 && lines.count { $0.hasPrefix("  2026-11-") } == 3, "\(text)")
    }

    /// A long outcome is below its row, and no word of it is left out.
    @Test(arguments: [40, 60, 80]) func noOutcomeIsCut(width: Int) {
        let reason = "the disk of the archive is full: 12.3 MiB are needed for the rows of this night, 4.5 are there"
        let runs = [Sample.run(1, [], failure: reason), Sample.run(0)]
        let text = ReviewText(Sample.review([Sample.rule()], runs), TextLayout(width: width, tableWidth: width)).text
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= width }, "\(text)")
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains(" 2026-11-19 03:00 0 failed: \(reason)"), "\(text)")
    }

    @Test(arguments: [40, 60, 80]) func fewColumnsAreEnough(width: Int) {
        let runs = [
            Sample.run(3), Sample.run(2, [refused()]), Sample.run(1, [], failure: "database is locked"), Sample.run(0),
        ]
        let text = ReviewText(
            Sample.review([Sample.rule("ohlcv-1m", expired: 1_234_567), refused()], runs),
            TextLayout(width: width, tableWidth: width)
        ).text
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.allSatisfy { $0.count <= width || $0.hasPrefix("  retention run -c ") }, "\(text)")
        #expect(lines.contains { $0.hasPrefix("2026-11-20 03:00") } && text.contains("10  completed\n"), "\(text)")
    }
}
