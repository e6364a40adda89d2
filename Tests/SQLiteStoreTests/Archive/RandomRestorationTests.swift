import Foundation
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Random stores, whose rows are deleted with an archive and restored again: every value is what it was.
struct RandomRestorationTests {
    private static let trials = Trials(200, inPortionsOf: 20)

    @Test(arguments: trials.portions)
    func aStoreIsAfterAnUndoWhatItWasBeforeTheRun(_ seeds: Range<UInt64>) {
        Self.trials.run(seeds, on: Trial.init, story: \.story) { trial, found in
            defer { found = trial.found }
            try trial.run()
        }
    }
}

private struct Trial {
    var random: RandomStore
    let store: TemporaryStore
    let rules: JudgedRules
    var found: [String] = []

    init(seed: UInt64) throws {
        random = RandomStore(seed: seed)
        store = try TemporaryStore(inMemory: true)
        let reference = try random.make(store)
        rules = JudgedRules(random.rules(), on: reference)
    }

    var story: String {
        let tables = random.tables.flatMap { [$0.sql] + $0.indexes }
        return (random.pragmas + tables + rules.story).map { "    " + $0 }.joined(separator: "\n")
    }

    mutating func run() throws {
        let archived = try ArchivedStore(store)
        let left: Set<String> = ["audit"]
        let before = try archived.contents(without: left)
        let dangling = try store.rows("PRAGMA foreign_key_check").count
        let requests = rules.requests.enumerated().filter { rules.isCarriedOut($0.offset) }.map(\.element)
        do {
            let reader = try store.reader()
            for request in requests {
                guard try reader.archiveObstacle(of: request) == nil, try reader.survey(request).unsupported == nil
                else { return }
            }
        }
        guard try archived.delete(requests, batchRows: random.pick([nil, nil, 1, 3, 20])) != nil else {
            if try archived.contents(without: left) != before {
                found.append("rows are deleted, and there is no archive")
            }
            return
        }
        let deleted = try archived.contents(without: left)
        let prediction = try store.reader().restorable(archived.request())
        if try archived.contents(without: left) != deleted { found.append("the survey changed the store") }

        // A stop anywhere, and once more to the end.
        let rows = random.pick([1, 2, 7, 1000])
        if random.chance(50) { try archived.undo(rows: rows, parts: Int.random(in: 1...4, using: &random.random)) }
        let outcome = try archived.undo(rows: rows)
        let after = try archived.contents(without: left)
        compare(before, after, allowed: dangling > 0 ? outcome.skipped : [])
        if dangling == 0, outcome.total.skippedCount + outcome.total.skippedReferenceCount > 0 {
            found.append("skipped \(outcome.skipped.prefix(3))")
        }
        if try store.rows("PRAGMA foreign_key_check").count > dangling { found.append("rows are left dangling") }
        if try store.rows("PRAGMA integrity_check") != ["ok"] { found.append("the file is damaged") }

        let again = try archived.undo(rows: rows)
        if try archived.contents(without: left) != after { found.append("a second undo changes rows") }
        if again.total.restoredCount + again.total.referenceCount > 0 {
            found.append("a second undo restores rows: \(again.tables)")
        }
        if again.total.skippedCount != outcome.total.skippedCount {
            found.append("a second undo skips other rows: \(again.skipped.prefix(3))")
        }
        for table in prediction where dangling == 0 && table.conflictCount + table.presentCount > 0 {
            found.append("the survey of \(table.table) finds rows that are gone: \(table)")
        }
    }

    /// Compares all tables; rows that were skipped may be missing.
    private mutating func compare(_ before: [String: [String]], _ after: [String: [String]], allowed: [SkippedRow]) {
        for (name, rows) in before.sorted(by: { $0.key < $1.key }) {
            let (missing, added) = (Set(rows).subtracting(after[name] ?? []), Set(after[name] ?? []).subtracting(rows))
            let skips = allowed.filter { $0.table == name }.count
            // A reference to a row that was skipped is not restored either.
            if allowed.isEmpty ? !added.isEmpty : added.count > missing.count {
                found.append("\(name) has new rows: \(added.prefix(3))")
            }
            if allowed.isEmpty ? !missing.isEmpty : missing.count > skips + added.count {
                found.append("\(name) lacks rows: \(missing.prefix(3)), \(skips) skipped")
            }
        }
    }
}
