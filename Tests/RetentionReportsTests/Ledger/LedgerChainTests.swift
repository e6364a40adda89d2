import Foundation
import PriceStore
import RetentionPolicy
import SQLiteStore
import Testing

@testable import RetentionJob
@testable import RetentionReports

/// The chain of the records, and which of them go. What is found in a ledger that somebody has changed is in the cases
/// `ledger-that-was-tampered-with` and `ledger-head-as-a-witness`.
struct LedgerChainTests {
    /// A ledger of four runs: completed, crashed, completed, completed with two rules.
    private func ledgerOfFour() throws -> LedgerFile { try LedgerFile(Self.four.get()) }

    private static let four = Result {
        let file = try LedgerFile()
        let first = try file.ledger()
        try first.record(LedgerFile.report("01A", hour: 0))
        try file.ledger().begin(LedgerFile.report("01B", hour: 2))
        for (id, hour, rules) in [
            ("01C", Int64(4), [ReportSample.gold]), ("01D", 6, [ReportSample.gold, ReportSample.refused]),
        ] {
            let ledger = try file.ledger()
            try ledger.markCrashed()
            try ledger.record(LedgerFile.report(id, hour: hour, rules: rules))
        }
        return try Data(contentsOf: URL(filePath: file.path))
    }

    /// An undo asks for its run alone.
    @Test func oneRunIsVerifiedByItsOwnHash() throws {
        let file = try ledgerOfFour()
        try file.tamper("UPDATE run SET deleted = deleted + 1 WHERE number = 3")
        let reader = try SQLiteReader(path: file.path)
        #expect(try LedgerVerification.fault(ofRuns: [4], reader) == nil)
        let fault = try LedgerVerification.fault(ofRuns: [3], reader)
        #expect(fault?.message == "run 01C (number 3) is not what was recorded")
        // One that is in progress has no hash, and no more than its beginning may be in it.
        try file.ledger().begin(LedgerFile.report("01E", hour: 8))
        #expect(try LedgerVerification.fault(ofRuns: [5], reader) == nil)
        try file.tamper("UPDATE run SET finished_us = 1 WHERE number = 5")
        #expect(try LedgerVerification.fault(ofRuns: [5], reader)?.kind == .added)
    }

    @Test func aLedgerWithoutRunsIsEmpty() throws {
        let file = try LedgerFile()
        _ = try file.ledger()
        #expect(try file.verification().text == "No run is recorded yet.\n")
        #expect(try file.verification(witness: LedgerChain.origin).fault?.kind == .removed)
    }

    /// What a trigger in the ledger would do: the file holds something else than what was written. Nothing of it stays.
    @Test(arguments: [
        "CREATE TRIGGER t AFTER UPDATE ON run BEGIN UPDATE run SET deleted = deleted + 1 WHERE number = new.number; END",
        "CREATE TRIGGER t AFTER INSERT ON run_rule BEGIN UPDATE run_rule SET deleted = deleted + 1; END",
        "CREATE TRIGGER t AFTER INSERT ON run BEGIN UPDATE run SET user = 'ann' WHERE number = new.number; END",
        "CREATE TRIGGER t AFTER UPDATE ON run BEGIN DELETE FROM run_rule; END",
    ])
    func whatTheRunKnowsIsRecorded(trigger: String) throws {
        let file = try ledgerOfFour()
        let ledger = try file.ledger()
        // Added during a run, after it opened its ledger.
        try file.tamper(trigger)
        try ledger.begin(LedgerFile.report("01E", hour: 8))
        let error = #expect(throws: StoreError.self) { try ledger.finish(LedgerFile.report("01E", hour: 8)) }
        #expect(error?.description.contains("does not hold what was recorded") == true, "\(String(describing: error))")
        try file.tamper("DROP TRIGGER t")
        #expect(try file.verification().fault == nil && file.verification().openCount == 1)
    }

    /// Every value of every row, changed in every way that a column allows.
    @Test func everyValueIsCovered() throws {
        let file = try LedgerFile()
        // One that was killed, and one that ended.
        try file.ledger().begin(LedgerFile.report("01A", hour: 0))
        let ledger = try file.ledger()
        try ledger.markCrashed()
        var report = LedgerFile.report("01B", hour: 2, rules: [ReportSample.full, ReportSample.refused])
        report.archive = .init(
            path: "/a", rows: 1, references: 2, sizeBytes: 3, sha256: "cd", isComplete: true, until: report.asOf)
        try ledger.record(report)
        #expect(try file.verification().fault == nil)
        let writer = try SQLiteWriter(path: file.path)
        var count = 0
        for name in ["run", "run_rule"] {
            let entity = try #require(try writer.entity(named: name))
            let columns = entity.attributes.map(\.name)
            for row in try writer.fetchRows(StoreFetchRequest(entity: name), attributes: columns) {
                for (column, old) in zip(columns, row.values) {
                    for new in Self.others(old) where !(entity.primaryKey.contains(column) && new == .null) {
                        struct Undo: Error {}
                        try? writer.transaction(.normal) {
                            guard let isSet = try? writer.updateObject(row.objectID, set: [column: new], ifStill: [:]),
                                isSet
                            else { throw Undo() }
                            count += 1
                            let fault = try LedgerVerification.read(writer).fault
                            #expect(fault != nil, "\(name).\(column): \(old) to \(new)")
                            throw Undo()
                        }
                    }
                }
            }
        }
        #expect(count > 500, "\(count)")
    }

    /// Values that a column of a number or a text holds as something else than the old one.
    private static func others(_ old: StoreValue) -> [StoreValue] {
        switch old {
        case .null: [.text(""), .integer(0), .blob([])]
        case .integer(let number): [.integer(number &+ 1), .null, .blob(Array("\(number)".utf8)), .real(0.5)]
        case .text(let text): [.text(text + " "), .null, .text(""), .blob(Array(text.utf8))].filter { $0 != old }
        case .real, .blob: [.null]
        }
    }

    @Test(arguments: [Int64.max, Int64.max - 1])
    func numbersAtTheirEndAreAnErrorAndNoTrap(number: Int64) throws {
        let file = try ledgerOfFour()
        try file.tamper("UPDATE run SET place = \(number) WHERE place = 4")
        #expect(try file.verification().fault?.kind == .removed)
        let ledger = try file.ledger()
        #expect(throws: StoreError.self) {
            for hour in 8...10 {
                try ledger.record(LedgerFile.report("01E", hour: Int64(hour)))
            }
        }
        try file.tamper("UPDATE run SET number = \(number) WHERE number = 4")
        #expect(throws: StoreError.self) {
            for hour in 8...10 { try ledger.begin(LedgerFile.report("01F", hour: Int64(hour))) }
        }
        #expect(try file.verification().fault != nil)
    }

    @Test func aTextWithANulCharacterIsRecordedAsItIsKept() throws {
        let file = try LedgerFile()
        var rule = ReportSample.gold
        rule.name = "go\0ld"
        let ledger = try file.ledger()
        try ledger.begin(LedgerFile.report("01A", hour: 0))
        try ledger.finish(LedgerFile.report("01A", hour: 0, rules: [rule]))
        #expect(try file.verification().fault == nil)
    }

    // MARK: A witness

    /// Whoever rewrites the ledger can name any hash as the one before its first run.
    @Test func aHashThatAForgedTrimNamesIsNoWitness() throws {
        let file = try ledgerOfFour()
        let head = try #require(try file.verification().head)
        let (run, rules) = try (
            SQLiteReader(path: file.path).rows(of: "run", where: .compare("number", .equal, .integer(4))),
            LedgerChain.rules(ofRuns: [4], in: SQLiteReader(path: file.path))
        )
        var forged = try #require(run.first)
        (forged["place"], forged["previous_hash"], forged["trimmed_through"]) = (.integer(5), .text(head), .integer(4))
        let hash = LedgerChain.hash(of: forged, rules: rules[4] ?? [])
        try file.tamper(
            "DELETE FROM run WHERE number < 4; DELETE FROM run_rule WHERE run_number < 4;"
                + "UPDATE run SET place = 5, previous_hash = '\(head)', trimmed_through = 4, hash = '\(hash)'")
        #expect(try file.verification().fault == nil)
        #expect(try file.verification(witness: head).fault?.kind == .removed)
    }

    @Test func aWitnessFromBeforeATrimIsNotFound() throws {
        let file = try ledger(of: 101, keep: nil)
        let head = try #require(try file.verification().head)
        let first = try #require(
            SQLiteReader(path: file.path).rows(of: "run", where: .compare("number", .equal, .integer(1)))
                .first?["hash"]?.string)
        let last = try file.ledger(keep: age(days: 1))
        try last.record(LedgerFile.report("LAST", hour: 102 * 24))
        #expect(try file.verification().trimmedCount == 2)
        #expect(try file.verification(witness: head).countAfterWitness == 1)
        #expect(try file.verification(witness: first).fault?.message.contains("older than the ledger keeps") == true)
    }

    @Test func changedRecordsAreNotTrimmed() throws {
        let file = try ledger(of: 130, keep: nil)
        try file.tamper("UPDATE run_rule SET deleted = deleted + 1 WHERE run_number = 3")
        let last = try file.ledger(keep: age(days: 110))
        try last.record(LedgerFile.report("LAST", hour: 130 * 24))
        #expect(try file.runs().count == 131)
        #expect(try file.verification().fault?.message.contains("number 3") == true)
    }

    @Test func storesThatShareALedgerShareItsChain() throws {
        let file = try LedgerFile()
        let (one, other) = (try file.ledger(), try file.ledger(store: "/data/other.sqlite"))
        try one.begin(LedgerFile.report("01A", hour: 0))
        try other.begin(LedgerFile.report("01B", hour: 0))
        try one.finish(LedgerFile.report("01A", hour: 0))
        try other.finish(LedgerFile.report("01B", hour: 0))
        let verification = try file.verification()
        #expect(verification.fault == nil && verification.runCount == 2)
    }

    @Test func valuesThatDifferHaveDifferentRecords() {
        let records: [[String: StoreValue]] = [
            ["a": .integer(1)], ["a": .text("1")], ["a": .real(1)], ["b": .integer(1)], [:], ["a": .text("")],
            ["a": .text("1\nb=i1:1")], ["a": .text("1"), "b": .integer(1)], ["a": .blob([1])],
        ]
        #expect(Set(LedgerRecord.texts(of: records)).count == records.count)
        #expect(
            LedgerRecord.texts(of: [["b": .text("é"), "a": .integer(-5), "c": .null], ["c": .integer(1)]])
                == ["a=i2:-5\nb=t2:é\n", "c=i1:1\n"].map { Array($0.utf8) })
    }

    // MARK: Its own retention

    private func age(days: Int) -> MaxAge {
        var age = MaxAge(written: "\(days)d")
        age.days = Int128(days)
        return age
    }

    /// Without it the next run would delete the rows again that the undo has restored.
    @Test func theRecordOfAnUndoThatHoldsRulesStays() throws {
        func file(accepting: Bool, policy: String) throws -> LedgerFile {
            let file = try LedgerFile()
            let ledger = try file.ledger(keep: age(days: 1))
            for number in 0..<115 {
                var report = LedgerFile.report("01R\(number)", hour: Int64(number))
                report.configSHA256 = number < 20 ? "3f2a91c0" : policy
                if number == 10 {
                    var table = RunReport.Undo.Table(name: "t")
                    table.done.restoredCount = 1
                    (report.mode, report.rules) = (.undo, [])
                    report.undo = RunReport.Undo(run: "01R5", archive: "a", rules: ["r"], tables: [table])
                }
                if number == 12, accepting {
                    report.rules[0].name = "r"
                    report.rules[0].accepted = [.restoredRows]
                    report.rules[0].outcome = .completed
                    // The rule that was accepted, not another one that has its name later.
                    let rule = #"{"name": "r", "entity": "t", "date_attribute": "at", "max_age": "30d"}"#
                    report.ruleLines = ["none\t01R12\t0\t0\t0\t{\"timezone\": \"UTC\", \"rule\": " + rule + "}"]
                }
                try ledger.record(report)
            }
            #expect(try file.verification().fault == nil)
            return file
        }
        let held = try file(accepting: false, policy: "3f2a91c0")
        #expect(try held.runs().first?.report.runID == "01R5")
        #expect(try held.ledger().memory().restorations.map(\.run) == ["01R5"])
        #expect(try file(accepting: true, policy: "3f2a91c0").runs().count == 100)
        #expect(try file(accepting: false, policy: "another").runs().first?.report.runID == "01R5")
    }

    private func ledger(of count: Int, keep: MaxAge?) throws -> LedgerFile {
        let file = try LedgerFile()
        let ledger = try file.ledger(keep: keep)
        for index in 0..<count {
            try ledger.record(LedgerFile.report("R\(index)", hour: Int64(index) * 24))
        }
        return file
    }

    @Test func recordsOlderThanTheLedgerKeepsGo() throws {
        let file = try ledger(of: 130, keep: age(days: 110))
        let runs = try file.runs()
        // The last run ended on day 129 at one o'clock; the cutoff is day 19 at that time.
        #expect(runs.first?.number == 21 && runs.last?.number == 130, "\(runs.map(\.number))")
        let verification = try file.verification()
        #expect(verification.fault == nil && verification.trimmedCount == 20, "\(verification)")
        #expect(verification.runCount == 110)
        #expect(verification.text.contains("and removed: 20 runs"))
        try file.tamper("UPDATE run SET user = 'x' WHERE number = 21")
        #expect(try file.verification().fault?.message == "run R20 (number 21) is not what was recorded")
        try file.tamper("DELETE FROM run WHERE number = 21; DELETE FROM run_rule WHERE run_number = 21")
        #expect(try file.verification().fault?.kind == .removed)
    }

    @Test func theRecordOfAnArchiveThatIsKeptStays() throws {
        let file = try LedgerFile()
        let ledger = try file.ledger(keep: age(days: 1))
        for index in 0..<130 {
            var report = LedgerFile.report("R\(index)", hour: Int64(index) * 24)
            if index == 10 {
                report.archive = RunReport.Archive(
                    path: "R10.sqlite", rows: 1, references: 0, sizeBytes: 1, sha256: nil, isComplete: true,
                    until: LedgerFile.report("", hour: 120 * 24).started)
            }
            try ledger.record(report)
            guard index == 119 else { continue }
            #expect(try file.runs().map(\.number).min() == 11)
        }
        #expect(try file.runs().map(\.number).min() == 31)
        #expect(try file.verification().fault == nil)
    }

    /// Of many stores the first run of a night does not make the ledger forget the others.
    @Test func theNewestHundredStayForEachStore() throws {
        let file = try LedgerFile()
        for index in 0..<205 {
            let store = index == 0 ? "/data/a.sqlite" : "/data/b.sqlite"
            let ledger = try file.ledger(store: store, keep: age(days: 1))
            try ledger.record(LedgerFile.report("R\(index)", hour: Int64(index) * 24))
            if index == 199 { #expect(try file.runs().map(\.number).first == 1) }
        }
        #expect(try file.runs().map(\.number).first == 106)
        #expect(try file.verification().fault == nil)
    }

    /// A kill can leave a ledger in which only the first of its entities was created.
    @Test func aLedgerThatWasNotCompletedIsVerified() throws {
        let file = try LedgerFile()
        try file.writer().createEntity(LedgerRow.runEntity)
        #expect(try file.verification().fault == nil)
    }

    @Test func aDoubtedClockRemovesNothing() throws {
        let file = try ledger(of: 120, keep: nil)
        // Without an age all stay.
        #expect(try file.runs().count == 120)
        var rule = ReportSample.refused
        rule.refusal = .clockJumped
        let ledger = try file.ledger(keep: age(days: 1))
        try ledger.record(LedgerFile.report("R", hour: 1_000_000, rules: [rule]))
        #expect(try file.runs().count == 121)
    }

    @Test func aRunThatOutlastsALaterOneOfAnotherStoreStays() throws {
        let file = try LedgerFile()
        let long = try file.ledger(store: "/data/other.sqlite")
        try long.begin(LedgerFile.report("LONG", hour: 0))
        let ledger = try file.ledger()
        for index in 0..<110 {
            try ledger.record(LedgerFile.report("R\(index)", hour: Int64(index) * 24))
        }
        try long.finish(LedgerFile.report("LONG", hour: 0))
        let last = try file.ledger(keep: age(days: 5))
        try last.record(LedgerFile.report("LAST", hour: 111 * 24))
        #expect(try file.runs().first?.report.runID == "LONG")
        #expect(try file.verification().fault == nil)
    }
}
