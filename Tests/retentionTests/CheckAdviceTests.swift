import Foundation
import RetentionJob
import RetentionPolicy
import Testing

/// What `retention check` says beside mistakes.
struct CheckAdviceTests {
    private func check(_ rules: [String], head: String = "", sql: String = Sample.price, _ arguments: String...) throws
        -> LaunchedProgram.Ending
    {
        let job = try LaunchedJob(
            sql, policy: "version: 1\nstore: prices.sqlite\n\(head)\nrules:\n" + rules.map { "  - \($0)\n" }.joined())
        return try job.launch(["check"] + arguments)
    }

    /// References without a key are counted at the instant of `--as-of`, as all else.
    @Test func referencesAreCountedAtTheInstantThatIsAskedFor() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(3, daysAgo: 40) + Sample.rows(2, daysAgo: 0)
                + "CREATE TABLE Visit(id INTEGER PRIMARY KEY, price_id INTEGER); INSERT INTO Visit SELECT id, id FROM Price;",
            policy: Sample.policy(Sample.rule()))
        let now = try job.retention("check").output
        #expect(now.contains("3 rows of Visit would point"), "\(now)")
        let then = try job.retention("check", "--as-of", Sample.midnight(20)).output
        #expect(then.contains("0 rows of Visit would point"), "\(then)")
    }

    @Test func aFileWithoutAutoVacuumIsToldWithTheCure() throws {
        let end = try check([Sample.rule()])
        #expect(end.status == 0 && end.output.contains("PRAGMA auto_vacuum = INCREMENTAL; VACUUM"), "\(end)")
        #expect(end.output.contains("retention.yaml:2:8: advice: the file keeps the room"), "\(end)")
        #expect(try !check([Sample.rule("reclaim: none")]).output.contains("auto_vacuum"))
        let asked = try check([Sample.rule("reclaim: incremental")])
        #expect(
            asked.status == 0 && asked.output.contains("warning: the file was not made for incremental"), "\(asked)")
        #expect(
            try !check([Sample.rule()], sql: "PRAGMA auto_vacuum = INCREMENTAL;" + Sample.price).output.contains(
                "auto_vacuum"))
    }

    @Test func theCureOfTheFileCures() throws {
        let job = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule()))
        let cure = try #require(
            try job.retention("check").output.firstMatch(of: /PRAGMA auto_vacuum = INCREMENTAL; VACUUM/)
        ).0
        try job.change(String(cure))
        #expect(try !job.retention("check").output.contains("auto_vacuum"))
    }

    /// What a run refuses, `check` refuses with the same words.
    @Test func aUnitThatTheRunRefusesIsRefused() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(60, daysAgo: 40) + Sample.rows(5, daysAgo: 0),
            policy: Sample.policy(
                "{ name: gold, entity: Price, date_attribute: at, date_format: unix_milliseconds, max_age: 30d }"))
        let end = try job.retention("check")
        let newest = try job.number("SELECT max(at) FROM Price")
        let day = Date(timeIntervalSince1970: Double(newest)).formatted(.iso8601).prefix(10)
        #expect(end.status == 78 && end.output.contains("error: the dates look wrong (wrong_unit)"), "\(end)")
        #expect(end.output.contains("in unix_seconds it is \(day)"), "\(end)")
        #expect(try job.retention("run", "--dry-run").output.contains("in unix_seconds it is \(day)"))
    }

    @Test(arguments: [
        ("max_age: 60d", true), ("max_age: 10d", false), ("max_age: 30d", true),
        ("max_age: 60d, where: { symbol: XAUUSD }", true), ("max_age: 60d, keep_last: { count: 5 }", true),
        ("max_age: 60d, earliest: 1900-01-01", false), ("max_age: 60d, enabled: false", false),
    ])
    func aRuleThatDoesNothingOfItsOwnIsTold(second: String, isCovered: Bool) throws {
        let rule = "{ name: second, entity: price, date_attribute: at, date_format: unix_seconds, \(second) }"
        let end = try check([Sample.rule(), rule], "--offline")
        #expect(end.status == 0, "\(end)")
        let isTold = end.output.contains("advice: every row that 'second' deletes is deleted by 'gold', too")
        #expect(isTold == isCovered, "\(end)")
    }

    @Test func anEarlierRuleThatALaterOneCoversIsToldWithItsKeepLast() throws {
        let end = try check(
            [Sample.rule("keep_last: { count: 1 }", name: "spare", age: "60d"), Sample.rule()], "--offline")
        #expect(end.output.contains("every row that 'spare' deletes is deleted by 'gold', too, and what its keep_last"))
        #expect(!end.output.contains("that 'gold' deletes"), "\(end)")
    }

    @Test func ofTwoEqualRulesTheLaterIsTold() throws {
        let end = try check([Sample.rule(), Sample.rule(name: "again")], "--offline")
        #expect(end.output.contains("that 'again' deletes") && !end.output.contains("that 'gold' deletes"), "\(end)")
    }

    @Test func anAgeThatTheScheduleCannotKeepIsTold() throws {
        let end = try check([Sample.rule(age: "6h")], head: "expected_every: 1d", "--offline")
        #expect(end.status == 0 && end.output.contains("set expected_every: 6h"), "\(end)")
        #expect(try !check([Sample.rule(age: "1d")], head: "expected_every: 1d", "--offline").output.contains("advice"))
    }

    // MARK: Crontabs

    private func cron(
        _ text: String, path: String = "/etc/cron.d/retention", programs: Set<String> = ["/usr/local/bin/retention"]
    )
        -> [String]
    {
        CronCheck(path: path, text: text, hasUsers: true) { programs.contains($0) }
            .diagnostics(ownPath: "/usr/local/bin/retention").map { "\($0.mark.line):\($0.mark.column) \($0.message)" }
    }

    @Test func aLineThatDoesNotFindTheProgramIsToldWithTheCure() {
        let found = cron("# job\n17 3 * * *  root  retention run --quiet\n")
        #expect(found.count == 1 && found[0].hasPrefix("2:19 cron looks for retention in /usr/bin:/bin"), "\(found)")
        #expect(found[0].hasSuffix("or a line PATH=/usr/local/bin:/usr/bin:/bin above it"))
        #expect(cron("PATH=/usr/local/bin:/usr/bin:/bin\n17 3 * * *  root  retention run\n").isEmpty)
        #expect(cron("PATH = \"/usr/local/bin\"\n@daily root nice retention run\n").isEmpty)
        #expect(cron("0 0 * * * root /usr/local/bin/retention run\n").isEmpty)
        #expect(
            cron("0 0 * * * root cd /x && /opt/retention run\n").first?.contains("no program /opt/retention") == true)
        // Below the line it does not count.
        #expect(cron("0 0 * * * root retention run\nPATH=/usr/local/bin\n").count == 1)
    }

    @Test func otherThingsThatCronDoesNotDoAreTold() {
        let line = "0 0 * * * root /usr/local/bin/retention run"
        #expect(cron(line).first?.contains("no line end") == true)
        #expect(cron(line + " --as-of $(date +%F)\n").first?.contains("write \\%") == true)
        #expect(cron(line + " --as-of $(date +\\%F)\n").isEmpty)
        #expect(cron(line + "\n", path: "/etc/cron.d/retention.cron").first?.contains("with a dot") == true)
        #expect(cron("0 0 * * * root /usr/bin/other # retention\n").isEmpty)
        #expect(cron("0 0 * * * root ls /etc/retention\nMAILTO=root").isEmpty)
    }

    @Test func theShippedCrontabIsRight() throws {
        let text = try String(
            contentsOf: LaunchedProgram.project.appending(path: "cron/retention.cron"), encoding: .utf8)
        #expect(cron(text).isEmpty)
    }

    @Test func aUsersCrontabIsCheckedWhenNamed() throws {
        let job = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule()))
        try job.folder.write("0 0 * * * retention run\n", to: "mine")
        let end = try job.retention("check", "--crontab", "mine")
        #expect(end.status == 0 && end.output.contains("mine:1:11: warning: cron looks for retention"), "\(end)")
        #expect(try job.retention("check", "--crontab", "none").status == 66)
    }
}
