import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// Random databases, whose rows are deleted with an archive and restored again: every value is what it was.
@Suite(.needsPostgres)
struct RandomRestorationTests {
    private static let trials = Trials(100, inPortionsOf: 20)
    private static let layoutTrials = Trials(20, inPortionsOf: 20)

    @Test(arguments: trials.portions)
    func aDatabaseIsAfterAnUndoWhatItWasBeforeTheRun(_ seeds: Range<UInt64>) throws {
        try Self.run(Self.trials, seeds, in: try TestDatabase(), nil)
    }

    @Test(arguments: TableLayout.installed)
    func everyLayoutIsAfterAnUndoWhatItWasBeforeTheRun(_ layout: TableLayout) throws {
        let database = try layout.makeDatabase()
        for seeds in Self.layoutTrials.portions { try Self.run(Self.layoutTrials, seeds, in: database, layout) }
    }

    @Test func theTrialsRestoreRowsAndReferencesOfEveryKind() throws {
        let archived = try ArchivedDatabase(try TestDatabase())
        let kinds: Set = ["rows", "references", "several tables", "no key", "nothing"]
        var seen: Set<String> = []
        for seed in 1...200 as ClosedRange<UInt64> where seen != kinds {
            var trial = try Trial(seed: seed, archived, nil)
            try trial.run()
            #expect(trial.found == [])
            seen.formUnion(trial.seen)
        }
        #expect(seen == kinds)
    }

    private static func run(
        _ trials: Trials, _ seeds: Range<UInt64>, in database: TestDatabase, _ layout: TableLayout?
    ) throws {
        let archived = try ArchivedDatabase(database)
        trials.run(seeds, on: { try Trial(seed: $0, archived, layout) }, story: \.story) { trial, found in
            defer { found = trial.found }
            try trial.run()
        }
    }
}

private struct Trial {
    var random: RandomDatabase
    let rules: JudgedRules
    let archived: ArchivedDatabase
    var found: [String] = []
    /// What was restored.
    var seen: Set<String> = []

    init(seed: UInt64, _ archived: ArchivedDatabase, _ layout: TableLayout?) throws {
        random = RandomDatabase(seed: seed, layout: layout)
        var archived = archived
        archived.run = "01KAAAAAAAAAAAAAAAAAAAA" + String(1000 + seed % 9000).suffix(3)
        self.archived = archived
        let reference = try random.make(try archived.database.connection())
        rules = JudgedRules(random.rules(), on: reference)
    }

    var story: String {
        (random.tables.flatMap { [$0.sql] + $0.indexes } + rules.story).map { "    " + $0 }.joined(separator: "\n")
    }

    mutating func run() throws {
        let writer = try archived.database.writer(zone: random.zone)
        defer { try? writer.removeArchive(of: archived.run, in: ArchivedDatabase.schema) }
        var (requests, methods): ([SurveyRequest], [String?]) = ([], [])
        for (index, request) in rules.requests.enumerated() where rules.isCarriedOut(index) {
            var archivedRequest = request
            archivedRequest.deleting.archiveRule = "r\(requests.count)"
            guard try writer.archiveObstacle(of: archivedRequest) == nil else { return }
            let findings = try writer.findings(archivedRequest)
            guard findings.survey.unsupported == nil else { return }
            requests.append(request)
            methods.append(findings.possibleMethods.randomElement(using: &random.random)?.rawValue)
        }
        var trial = RestorationTrial(&random)
        trial.methods = methods
        try trial.run(requests, on: archived, writer)
        (found, seen) = (trial.found, trial.seen)
        if random.main.constraints.isEmpty, random.main.column(.key)?.rest == "" { seen.insert("no key") }
    }
}
