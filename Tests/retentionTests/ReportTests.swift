import Foundation
import Testing

/// `retention report` says of a real store what its runs did.
struct ReportTests {
    private func job(_ age: String = "30d") throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(40, daysAgo: 40) + Sample.rows(20, daysAgo: 20) + Sample.rows(9, daysAgo: 0),
            policy: policy(age))
        try job.makeFolder("archive")
        return job
    }

    private func policy(_ age: String) -> String {
        Sample.policy(
            Sample.rule("limits: { max_fraction: 0.9 }", age: age),
            head: "expected_every: 1d\narchive: { folder: archive, keep: 30d }")
    }

    /// The text, the page and the words of the JSON, each with white space made plain.
    private func everywhere(_ job: LaunchedJob) throws -> [String] {
        try [["report"], ["report", "--html", "-"], ["report", "--format", "json"]].map { arguments in
            let end = try job.perform(arguments)
            #expect(end.status == 0 && end.errors.isEmpty, "\(end)")
            return end.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
    }

    @Test func beforeTheFirstRunNothingIsSaidToHaveHappened() throws {
        let job = try job()
        let texts = try everywhere(job)
        #expect(
            texts[0].contains("Last run: none is recorded") && texts[0].contains("40 rows expired now"), "\(texts[0])")
        #expect(texts[1].contains("<dd class=\"caution\">none is recorded</dd>"))
        #expect(texts[2].contains("\"last_run\": null"))
        #expect(try job.listing() == ["archive", "prices.sqlite", "retention.yaml"])
    }

    @Test func aRunIsShownUntilWhenItCanBeUndone() throws {
        let job = try job()
        try job.report()
        let text = try everywhere(job)[0]
        #expect(text.contains("· completed · Deleted 40 rows in"), "\(text)")
        #expect(text.contains("no expired row is left · undo possible until"), "\(text)")
        #expect(text.contains("Next: due by 20") && text.contains("; if you read this after 20"), "\(text)")
        #expect(text.contains("0 rows expired now, 0 more by then Attention: nothing"), "\(text)")
    }

    @Test func aRefusedRunAndItsSolutionAreTold() throws {
        let job = try job()
        try job.report()
        try job.folder.write(policy("10d"), to: "retention.yaml")
        #expect(try job.report().exitCode == 65)
        for text in try everywhere(job)[..<2] {
            #expect(
                text.contains("refused: policy_widened (gold)") && text.contains("20 expired rows are left"), "\(text)")
            #expect(
                text.contains("gold: a run now would refuse it, as since 20")
                    && text.contains("--accept policy_widened"))
            #expect(!text.contains("no expired row is left"), "\(text)")
        }
        try job.report("--accept", "policy_widened")
        for text in try everywhere(job)[..<2] {
            #expect(text.contains("refused: policy_widened (gold)") && !text.contains("--accept"), "\(text)")
            #expect(text.contains("policy_widened was accepted for gold"), "\(text)")
        }
    }

    /// The morning after is when it is read.
    @Test func ofAStoreThatCannotBeReadThePastRunsAreTold() throws {
        let job = try job()
        try job.report()
        try job.folder.write(String(repeating: "not a database ", count: 600), to: "prices.sqlite")
        for arguments in [["report"], ["report", "--html", "-"], ["report", "--format", "json"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 74 && end.output.contains("the store cannot be read now: "), "\(end)")
            let text = end.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(
                text.contains(
                    arguments.count == 3 && arguments[1] == "--format" ? "\"deleted\": 40" : "Deleted 40 rows"),
                "\(text)")
        }
        let json = try job.retention("report", "--json")
        #expect(json.output.contains("\"expired\": null") && json.output.contains("\"next_day\": null"), "\(json)")
        #expect(try job.retention("report").words.contains("What came and went in the newest nights"))
    }

    /// It may have another name now.
    @Test func ofAStoreWithoutTheTableThePastRunsAreTold() throws {
        let job = try job()
        try job.report()
        try job.change("ALTER TABLE Price RENAME TO Price2")
        let run = try job.retention("run")
        #expect(run.status == 78 && run.errors.contains("1 error\n"), "\(run)")
        #expect(try job.log().last?.failure == "the store has no entity 'Price'; did you mean 'Price2'?")
        for arguments in [["report"], ["report", "--html", "-"], ["report", "--format", "json"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 78 && end.errors.isEmpty, "\(end)")
            #expect(end.output.contains("a run now would fail: the store has no entity "), "\(end)")
        }
        let words = try job.retention("report").words
        #expect(words.contains("failed: the store has no entity 'Price' · Deleted no rows"), "\(words)")
        #expect(words.contains("what a run would delete is not known"), "\(words)")
        #expect(words.contains("The newest 2 runs"), "\(words)")
    }

    /// What is in the store does not depend on the ledger.
    @Test func ofADamagedLedgerTheStoreIsTold() throws {
        let job = try job()
        try job.report()
        try job.folder.write(String(repeating: "no database ", count: 600), to: "retention.ledger.sqlite")
        let attention = "the ledger cannot be read, so a run now would fail: retention.ledger.sqlite: "
        for arguments in [["report"], ["report", "--html", "-"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 74 && end.errors.isEmpty, "\(end)")
            let text = end.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(text.contains(attention) && text.contains("0 rows expired now"), "\(text)")
            #expect(text.contains("not known: the ledger cannot be read") && !text.contains("MISSED"), "\(text)")
        }
        let words = try job.retention("report").words
        #expect(words.contains("Attention: 1 finding, the worst first - " + attention), "\(words)")
        #expect(words.contains("it is damaged: restore it from a backup"), "\(words)")
        #expect(words.contains(" gold would fail "), "\(words)")
        let json = try job.retention("report", "--json")
        #expect(json.status == 74 && json.output.contains("\"kind\": \"ledger\""), "\(json)")
    }

    /// The store can be read, so its rows are shown.
    @Test func withoutTheFolderOfTheArchivesTheRulesAreTold() throws {
        let job = try job()
        try job.move("archive", to: "away")
        #expect(try job.retention("run").status == 73)
        for arguments in [["report"], ["report", "--html", "-"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 73 && end.errors.isEmpty, "\(end)")
            let text = end.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(text.contains("a run now would fail: ") && text.contains("40 rows expired now"), "\(text)")
        }
        let json = try job.retention("report", "--json")
        #expect(json.status == 73 && json.output.contains("\"kind\": \"archive\""), "\(json)")
        let dry = try job.retention("run", "--dry-run")
        #expect(dry.status == 73 && dry.words.contains("Nothing was changed. A run would fail (exit 73)."), "\(dry)")
    }

    @Test func aRunOfOneRuleIsNotTheOneThatIsExpected() throws {
        let job = try job()
        let two = [Sample.rule(age: "30d"), Sample.rule(name: "silver", age: "90d")]
        let policy = Sample.policy(
            two[0], two[1], head: "expected_every: 1d\ndefaults: { limits: { max_fraction: 0.9 } }")
        try job.folder.write(policy, to: "retention.yaml")
        try job.report("--rule", "gold")
        let text = try everywhere(job)[0]
        #expect(text.contains("· completed, gold only · Deleted 40 rows in"), "\(text)")
        #expect(text.contains("no expired row of gold is left"), "\(text)")
        #expect(text.contains("Next: a run is expected every 1d, and none is recorded"), "\(text)")
        #expect(try job.retention("log").output.contains("gold only; 40 deleted"))
        #expect(try job.retention("log", "--missed").status == 65)
        // One that leaves out no rule is a run of all.
        try job.report("--rule", "gold", "--rule", "silver")
        #expect(try job.retention("log", "--missed").status == 0)
    }

    @Test func anUndoIsNotTheLastRunAndItsRowsAreExpired() throws {
        let job = try job()
        let run = try job.report().run
        #expect(try job.retention("undo", run).status == 0)
        for text in try everywhere(job)[..<2] {
            #expect(text.contains("completed · Deleted 40 rows") && text.contains("undone by run"), "\(text)")
            #expect(text.contains(": undo of \(run): restored 40 rows"), "\(text)")
            #expect(
                text.contains("a run would refuse gold (40 expired rows)") && !text.contains("no expired row is left"),
                "\(text)")
        }
    }

    /// Each of two policies on one store, with one ledger, has its own past, also once it was moved.
    @Test func aPolicySpeaksOfItsOwnRuns() throws {
        let job = try LaunchedJob(
            Sample.price + "CREATE TABLE News(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);"
                + Sample.rows(40, daysAgo: 40) + Sample.rows(20, daysAgo: 20) + Sample.rows(9, daysAgo: 40, in: "News")
                + Sample.rows(5, daysAgo: 2, in: "News"),
            policy: Sample.policy(Sample.rule(), head: "expected_every: 1d\nmetrics: { textfile: a.prom }"))
        func other(_ figures: String) -> String {
            Sample.policy(
                Sample.rule("limits: { max_rows: 1 }", name: "news", entity: "News"),
                head: "expected_every: 1d\nmetrics: { textfile: \(figures) }")
        }
        try job.folder.write(other("b.prom"), to: "other.yaml")
        #expect(try job.retention("run").status == 0)
        // It is new beside the first one.
        #expect(try job.retention("run", "-c", "other.yaml", "--accept", "policy_widened").status == 65)
        func said(_ policy: String) throws -> String { try job.retention("report", "-c", policy).words }
        let (gold, news) = (try said("retention.yaml"), try said("other.yaml"))
        #expect(gold.contains("· completed · Deleted 40 rows") && !gold.contains("too_many_rows"), "\(gold)")
        #expect(
            gold.contains("- 1 run of other policies on this store not shown: \(job.path("other.yaml"))"), "\(gold)")
        #expect(news.contains("· refused: too_many_rows (news)") && !news.contains("Deleted 40 rows"), "\(news)")
        #expect(try job.text("a.prom").contains("last_success_timestamp"))
        #expect(try !job.text("b.prom").contains("last_success_timestamp"))
        #expect(
            try job.retention("undo", "last", "-n", "-c", "other.yaml").errors.contains(
                "no recorded run of this policy"))
        // The figures of another policy are not overwritten; those of a copy of the policy are.
        try job.folder.write(other("a.prom"), to: "other.yaml")
        for command in ["check", "run"] {
            let end = try job.retention(command, "-c", "other.yaml")
            #expect(
                end.status == 78 && (end.output + end.errors).contains("a.prom has the figures of another policy, "),
                "\(end)")
        }
        try FileManager.default.copyItem(atPath: job.path("retention.yaml"), toPath: job.path("copy.yaml"))
        // The other one ran last, but a copy is compared with the policy that has its rules.
        #expect(try job.retention("run", "-c", "copy.yaml").status == 0)
        #expect(try job.text("a.prom").contains("copy.yaml"))
        #expect(try said("copy.yaml").contains("The newest 2 runs"))
        try job.folder.write(other("b.prom"), to: "moved.yaml")
        try FileManager.default.removeItem(atPath: job.path("other.yaml"))
        #expect(try !said("retention.yaml").contains("too_many_rows"))
        #expect(try said("moved.yaml").contains("refused: too_many_rows (news)"))
        // Newer runs of the other one may be beside the one that is missing.
        try job.change("UPDATE run SET started_us = started_us - 3 * 86400000000", in: "retention.ledger.sqlite")
        let log = try job.retention("log").words
        #expect(log.contains("MISSED the last run of this policy began 3 d 00 h ago; one is"), "\(log)")
    }

    /// Two policies on one store are moved together; one of them has become wider on the way.
    @Test func movedPoliciesAreComparedWithTheirOwnRules() throws {
        let job = try LaunchedJob(
            Sample.price + "CREATE TABLE News(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);"
                + Sample.rows(40, daysAgo: 40) + Sample.rows(20, daysAgo: 20) + Sample.rows(9, daysAgo: 40, in: "News")
                + Sample.rows(5, daysAgo: 2, in: "News"),
            policy: Sample.policy(Sample.rule()))
        let news = Sample.policy(Sample.rule(name: "news", entity: "News"))
        try job.folder.write(news, to: "news.yaml")
        for policy in ["retention.yaml", "news.yaml"] {
            #expect(try job.retention("run", "-c", policy, "--accept", "policy_widened").status == 0)
        }
        func moved(_ text: String) -> String { text.replacing("store: ", with: "store: ../") }
        try job.folder.write(moved(Sample.policy(Sample.rule())), to: "new/retention.yaml")
        try job.folder.write(moved(news.replacing("max_age: 30d", with: "max_age: 1d")), to: "new/news.yaml")
        for policy in ["retention.yaml", "news.yaml"] {
            try FileManager.default.removeItem(atPath: job.path(policy))
        }
        let wider = try job.retention("run", "-c", "new/news.yaml")
        #expect(wider.status == 65 && (wider.output + wider.errors).contains("max_age was 30d and is 1d"), "\(wider)")
        #expect(try job.retention("run", "-c", "new/retention.yaml").status == 0)
    }

    /// The log and the review say the same number.
    @Test func theTableOfRunsCountsWhatWasDeletedByCascades() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(4, daysAgo: 40) + Sample.rows(3, daysAgo: 1)
                + """
                CREATE TABLE Note(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id) ON DELETE CASCADE);
                INSERT INTO Note(price) SELECT id FROM Price;
                """, policy: Sample.policy(Sample.rule()))
        #expect(try job.retention("run").status == 0)
        #expect(try job.retention("log").words.contains("8 deleted"))
        let text = try job.retention("report").words
        #expect(text.contains(" 8 completed"), "\(text)")
    }

    /// What has arrived between two runs is known if they count the rows.
    @Test func withFiguresARunCountsTheRows() throws {
        for (head, rows) in [("", "null"), ("metrics: { textfile: m.prom }", "9")] {
            let job = try LaunchedJob(
                Sample.price + Sample.rows(9, daysAgo: 1), policy: Sample.policy(Sample.rule(), head: head))
            // The first run counts them, too.
            #expect(try job.retention("run", "--json").output.contains("\"rows\": 9,"))
            let end = try job.retention("run", "--json")
            #expect(end.output.contains("\"rows\": \(rows),"), "\(end)")
        }
    }

    @Test func aPageIsNotAlsoText() throws {
        let job = try job()
        let end = try job.retention("report", "--html", "page.html", "--format", "json")
        #expect(end.status == 64 && end.errors.contains("mutually exclusive"), "\(end)")
        #expect(try !job.listing().contains("page.html"))
    }
}
