import Foundation
import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// What a reader predicts of new rows is what a writer does with them; see ``Trials``.
struct RehearsalTests {
    private static let trials = Trials(200, inPortionsOf: 60, times: 3)

    @Test(arguments: trials.portions)
    func foretellsEveryRowAndWhatIsExpiredThen(_ seeds: Range<UInt64>) {
        Self.trials.run(seeds, on: RandomPending.init, story: Self.story) {
            $1 += try [Self.compare($0)].compactMap(\.self)
        }
    }

    /// Nothing is read from the store any more.
    @Test(arguments: ["DELETE", "WAL"])
    func anotherProgramWritesDuringARehearsal(_ journal: String) throws {
        let store = try TemporaryStore(
            "PRAGMA journal_mode = \(journal)", "CREATE TABLE t (id INTEGER PRIMARY KEY, at)")
        let reader = try store.reader()
        let request = SurveyRequest.rows(of: "t", before: 20)
        try reader.rehearse {
            for id in 1...3 {
                let values: [String: StoreValue] = ["id": .integer(Int64(id)), "at": .integer(1)]
                #expect(try reader.insert(entity: "t", values: values, onConflict: .fail) == .saved)
                try store.change { try $0.execute(sql: "INSERT INTO t VALUES (?, 2)", arguments: [id + 10]) }
            }
            #expect(try reader.survey(request).expiredCount == 3)
        }
        #expect(try store.rows("SELECT id FROM t ORDER BY id") == ["11", "12", "13"])
    }

    /// The copy has another journal than the store.
    @Test(arguments: ["DELETE", "WAL"])
    func whatIsAskedOfTheFileIsAskedOfTheStore(_ journal: String) throws {
        let store = try TemporaryStore("PRAGMA journal_mode = \(journal)", "CREATE TABLE t (at)")
        let reader = try store.reader()
        let defects = try reader.knownDefects()
        try reader.rehearse {
            #expect(try reader.knownDefects() == defects)
            let hasWAL = try reader.run("reading the journal mode") { try reader.hasWAL($0) }
            #expect(hasWAL == (journal == "WAL"))
        }
    }

    static func story(_ pending: RandomPending) -> String {
        (["\(pending.policy)"] + pending.statements + pending.rows.map { "\($0.sorted { $0.key < $1.key })" })
            .joined(separator: "\n    ")
    }

    /// Says what differs, or nil.
    static func compare(_ pending: RandomPending) throws -> String? {
        let store = try TemporaryStore(inMemory: true)
        try store.change { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            for statement in pending.statements {
                do { try db.execute(sql: statement) } catch  where statement.hasPrefix("INSERT") {}
            }
        }
        let before = try store.bytes()
        let reader = try store.reader()
        let predicted: [InsertOutcome]
        do {
            predicted = try insert(pending, into: reader)
        } catch let error as StoreError where error.kind == .unsupported {
            // What cannot be predicted is said so, for reasons that are known.
            let reasons = ["trigger on", "expression", "may change id of t", "does not refer to", "largest possible"]
            return reasons.contains { error.message.contains($0) } ? nil : "unsupported: \(error.message)"
        }
        let expected = try state(of: reader)
        guard try store.bytes() == before else { return "the rehearsal changed the file" }
        let writer = try store.writer()
        let done = try insert(pending, into: writer)
        if let index = zip(predicted, done).enumerated().first(where: { $1.0 != $1.1 })?.offset {
            return "row \(index) is predicted as \(predicted[index]) and became \(done[index])"
        }
        let real = try state(of: writer)
        if expected.survey != real.survey { return "surveys differ: \(expected.survey) and \(real.survey)" }
        if expected.rows != real.rows { return "rows differ:\n  \(expected.rows)\n  \(real.rows)" }
        return nil
    }

    static func insert(_ pending: RandomPending, into store: some RetentionInserter) throws -> [InsertOutcome] {
        try store.rehearse {
            try store.transaction(.full) {
                try pending.rows.map { try store.insert(entity: "t", values: $0, onConflict: pending.policy) }
            }
        }
    }

    static func state(of store: some RetentionReader) throws -> (survey: Survey, rows: [String]) {
        let date = DateAttribute(name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1))
        let request = SurveyRequest(
            entity: "t", date: date, cutoff: Instant(unixSeconds: 500),
            keepLast: KeepLast(count: 1, groupedBy: ["b"], among: .all, date: date))
        let names = try store.entity(named: "t")?.attributes.map(\.name) ?? []
        let rows = try store.fetch(StoreFetchRequest(entity: "t"), attributes: names).map { "\($0)" }.sorted()
        var survey = try store.survey(request)
        // Which of several unreadable values is shown does not matter.
        for index in survey.unreadable.indices { survey.unreadable[index].example = .null }
        return (survey, rows)
    }
}
