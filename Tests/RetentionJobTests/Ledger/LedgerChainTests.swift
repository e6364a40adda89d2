import PriceStore
import RetentionJob
import RetentionPolicy
import SQLiteStore
import Testing

struct LedgerChainTests {
    /// A ledger of four runs: completed, crashed, completed, completed with two rules.
    private func ledgerOfFour() throws -> LedgerFile {
        let file = try LedgerFile()
        let first = try file.ledger()
        try first.begin(LedgerFile.report("01A", hour: 0))
        try first.finish(LedgerFile.report("01A", hour: 0))
        try file.ledger().begin(LedgerFile.report("01B", hour: 2))
        for (id, hour, rules) in [
            ("01C", Int64(4), [ReportSample.gold]), ("01D", 6, [ReportSample.gold, ReportSample.refused]),
        ] {
            let ledger = try file.ledger()
            try ledger.markCrashed()
            try ledger.begin(LedgerFile.report(id, hour: hour, rules: rules))
            try ledger.finish(LedgerFile.report(id, hour: hour, rules: rules))
        }
        return file
    }

    @Test func anUntouchedLedgerIsWhole() throws {
        let file = try ledgerOfFour()
        let verification = try file.verification()
        #expect(verification.fault == nil, "\(verification)")
        // Four starts, three ends, and one word on the run that died.
        #expect(verification.linkCount == 8 && verification.runCount == 4 && verification.uncoveredCount == 0)
        #expect(try verification.head == file.ledger().chainHead())
        #expect(verification.text.hasPrefix("The ledger is whole: 8 links, 4 runs.\n"))
    }

    @Test(arguments: [
        ("UPDATE run SET config_sha256 = 'other' WHERE number = 1", "changed", "01A"),
        ("UPDATE run SET user = 'nobody' WHERE number = 2", "changed", "01B"),
        ("UPDATE run SET deleted = deleted + 1 WHERE number = 3", "changed", "01C"),
        ("UPDATE run SET exit_code = NULL WHERE number = 3", "changed", "01C"),
        ("UPDATE run_rule SET cutoff_us = cutoff_us + 1 WHERE run_number = 4 AND position = 1", "changed", "01D"),
        ("UPDATE run SET outcome = 'completed' WHERE number = 2", "changed", "01B"),
        ("DELETE FROM run_rule WHERE run_number = 4 AND position = 1", "changed", "01D"),
        ("INSERT INTO run_rule(run_number, position, name) VALUES (1, 7, 'x')", "changed", "01A"),
        ("DELETE FROM run WHERE number = 3", "removed", "number 3"),
        ("DELETE FROM link WHERE position = 5", "removed", "link 5"),
        (
            "UPDATE link SET position = -1 WHERE position = 4; UPDATE link SET position = 4 WHERE position = 5;"
                + "UPDATE link SET position = 5 WHERE position = -1", "reordered", "links 4 and 5"
        ),
        ("INSERT INTO run(number, run, outcome) VALUES (5, '01E', 'completed')", "added", "01E"),
        ("UPDATE link SET hash = 'x' WHERE position = 2", "changed", "01A"),
        ("DELETE FROM link WHERE position = 8", "changed", "01D"),
    ])
    func findsWhatWasTamperedWith(sql: String, kind: String, name: String) throws {
        let file = try ledgerOfFour()
        try file.tamper(sql)
        let fault = try #require(try file.verification().fault, "\(sql)")
        #expect(fault.kind.rawValue == kind && fault.message.contains(name), "\(sql): \(fault)")
    }

    @Test func theFirstFaultIsTold() throws {
        let file = try ledgerOfFour()
        try file.tamper("UPDATE run SET host = 'x' WHERE number IN (3, 4)")
        let verification = try file.verification()
        #expect(verification.fault?.message.contains("01C") == true && verification.linkCount == 4, "\(verification)")
    }

    @Test func swappedRunsAreFound() throws {
        let file = try ledgerOfFour()
        try file.tamper(
            "UPDATE run SET number = -1 WHERE number = 3; UPDATE run SET number = 3 WHERE number = 4;"
                + "UPDATE run SET number = 4 WHERE number = -1")
        #expect(try file.verification().fault?.kind == .changed)
    }

    @Test func theHeadShowsThatTheEndWasCutOff() throws {
        let file = try ledgerOfFour()
        let head = try file.verification().head
        try file.tamper("DELETE FROM link WHERE position > 6; DELETE FROM run WHERE number = 4")
        let verification = try file.verification()
        #expect(verification.fault == nil && verification.head != head)
    }

    @Test func theChainOfAnOldLedgerBeginsWhereItBegins() throws {
        let file = try ledgerOfFour()
        try file.tamper("DROP TABLE link; ALTER TABLE run DROP COLUMN uid; ALTER TABLE run_rule DROP COLUMN digest")
        #expect(try file.verification().head == nil && file.verification().uncoveredCount == 4)
        #expect(try file.verification().text.contains("no chain yet"))
        #expect(try file.runs().count == 4)
        let ledger = try file.ledger()
        try ledger.begin(LedgerFile.report("01E", hour: 8))
        try ledger.finish(LedgerFile.report("01E", hour: 8))
        let verification = try file.verification()
        #expect(verification.fault == nil && verification.runCount == 1 && verification.uncoveredCount == 4)
        // Nothing can be said of the runs before, whatever became of them.
        try file.tamper("UPDATE run SET user = 'x' WHERE number = 2")
        #expect(try file.verification().fault == nil)
    }

    @Test func aCrashOfAnOldRunIsLinked() throws {
        let file = try LedgerFile()
        try file.ledger().begin(LedgerFile.report("01A", hour: 0))
        try file.tamper("DELETE FROM link")
        let ledger = try file.ledger()
        #expect(try ledger.markCrashed() == 1)
        try ledger.begin(LedgerFile.report("01B", hour: 1))
        let verification = try file.verification()
        #expect(verification.fault == nil && verification.uncoveredCount == 1 && verification.linkCount == 2)
    }

    @Test func anAttributeThatALaterVersionAddsChangesNothing() throws {
        let file = try ledgerOfFour()
        try file.tamper("ALTER TABLE run ADD COLUMN later TEXT; ALTER TABLE run_rule ADD COLUMN more INTEGER")
        #expect(try file.verification().fault == nil)
        try file.tamper("UPDATE run SET later = 'x' WHERE number = 3")
        #expect(try file.verification().fault != nil)
    }

    @Test func storesThatShareALedgerShareItsChain() throws {
        let file = try LedgerFile()
        let (one, other) = (try file.ledger(), try file.ledger(store: "/data/other.sqlite"))
        try one.begin(LedgerFile.report("01A", hour: 0))
        try other.begin(LedgerFile.report("01B", hour: 0))
        try one.finish(LedgerFile.report("01A", hour: 0))
        try other.finish(LedgerFile.report("01B", hour: 0))
        let verification = try file.verification()
        #expect(verification.fault == nil && verification.linkCount == 4 && verification.runCount == 2)
    }

    @Test func valuesThatDifferHaveDifferentRecords() {
        let records: [[String: StoreValue]] = [
            ["a": .integer(1)], ["a": .text("1")], ["a": .real(1)], ["b": .integer(1)], [:], ["a": .text("")],
            ["a": .text("1\nb=i1:1")], ["a": .text("1"), "b": .integer(1)], ["a": .blob([1])],
        ]
        #expect(Set(records.map(LedgerRecord.text)).count == records.count)
        #expect(LedgerRecord.text(["b": .text("é"), "a": .integer(-5), "c": .null]) == "a=i2:-5\nb=t2:é\n")
    }

    // MARK: Its own retention

    private func age(days: Int) -> MaxAge {
        var age = MaxAge(written: "\(days)d")
        age.days = days
        return age
    }

    private func ledger(of count: Int, keep: MaxAge?) throws -> LedgerFile {
        let file = try LedgerFile()
        let ledger = try file.ledger(keep: keep)
        for index in 0..<count {
            let report = LedgerFile.report("R\(index)", hour: Int64(index) * 24)
            try ledger.begin(report)
            try ledger.finish(report)
        }
        return file
    }

    @Test func recordsOlderThanTheLedgerKeepsGo() throws {
        let file = try ledger(of: 130, keep: age(days: 110))
        let runs = try file.runs()
        // The last run ended on day 129 at one o'clock; the cutoff is day 19 at that time.
        #expect(runs.first?.number == 21 && runs.last?.number == 130, "\(runs.map(\.number))")
        let verification = try file.verification()
        #expect(verification.fault == nil && verification.trimmedThroughRun == 20, "\(verification)")
        #expect(verification.runCount == 110 && verification.uncoveredCount == 0)
        #expect(verification.text.contains("Runs up to number 20 were older"))
        try file.tamper("UPDATE run SET user = 'x' WHERE number = 21")
        #expect(try file.verification().fault?.message.contains("R20") == true)
    }

    @Test func theNewestHundredStayHoweverOldTheyAre() throws {
        let file = try ledger(of: 105, keep: age(days: 1))
        #expect(try file.runs().map(\.number).first == 6)
        #expect(try file.verification().fault == nil)
    }

    @Test func withoutAnAgeAllStay() throws {
        #expect(try ledger(of: 120, keep: nil).runs().count == 120)
    }

    @Test func aDoubtedClockRemovesNothing() throws {
        let file = try ledger(of: 120, keep: nil)
        var rule = ReportSample.refused
        rule.refusal = .clockJumped
        let ledger = try file.ledger(keep: age(days: 1))
        let report = LedgerFile.report("R", hour: 1_000_000, rules: [rule])
        try ledger.begin(report)
        try ledger.finish(report)
        #expect(try file.runs().count == 121)
    }

    @Test func removingWhatWasTrimmedAndMoreIsFound() throws {
        let file = try ledger(of: 130, keep: age(days: 110))
        try file.tamper("DELETE FROM run WHERE number = 21; DELETE FROM link WHERE run_number = 21")
        #expect(try file.verification().fault?.kind == .removed)
    }

    @Test func aRunThatOutlastsALaterOneOfAnotherStoreStays() throws {
        let file = try LedgerFile()
        let long = try file.ledger(store: "/data/other.sqlite")
        try long.begin(LedgerFile.report("LONG", hour: 0))
        let ledger = try file.ledger()
        for index in 0..<110 {
            let report = LedgerFile.report("R\(index)", hour: Int64(index) * 24)
            try ledger.begin(report)
            try ledger.finish(report)
        }
        try long.finish(LedgerFile.report("LONG", hour: 0))
        let last = try file.ledger(keep: age(days: 5))
        try last.begin(LedgerFile.report("LAST", hour: 111 * 24))
        try last.finish(LedgerFile.report("LAST", hour: 111 * 24))
        #expect(try file.runs().first?.report.runID == "LONG")
        #expect(try file.verification().fault == nil)
    }
}
