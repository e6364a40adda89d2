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

    @Test func theTrialsRestoreRowsAndReferences() throws {
        let kinds: Set = ["rows", "references", "nothing"]
        var seen: Set<String> = []
        // References are rare: in few stores the rows that have them stay.
        for seed in 301...1000 as ClosedRange<UInt64> where seen != kinds {
            var trial = try Trial(seed: seed)
            try trial.run()
            #expect(trial.found == [])
            seen.formUnion(trial.seen.intersection(kinds))
        }
        #expect(seen == kinds)
    }
}

private struct Trial {
    var random: RandomStore
    let store: TemporaryStore
    let rules: JudgedRules
    var found: [String] = []
    var seen: Set<String> = []

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
        let dangling = try store.rows("PRAGMA foreign_key_check").count
        let requests = rules.requests.enumerated().filter { rules.isCarriedOut($0.offset) }.map(\.element)
        let reader = try store.reader()
        for request in requests {
            guard try reader.archiveObstacle(of: request) == nil, try reader.survey(request).unsupported == nil
            else { return }
        }
        var trial = RestorationTrial(&random)
        trial.left = ["audit"]
        trial.hasDangling = dangling > 0
        try trial.run(requests, on: archived)
        (found, seen) = (trial.found, trial.seen)
        if try store.rows("PRAGMA foreign_key_check").count > dangling { found.append("rows are left dangling") }
        if try store.rows("PRAGMA integrity_check") != ["ok"] { found.append("the file is damaged") }
    }
}
