import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// Random databases and rules against the judge that the SQLite engine obeys too, by every method; see ``Trials``.
@Suite(.needsPostgres)
struct RandomDatabaseTests {
    private static let trials = Trials(100, inPortionsOf: 20)
    private static let layoutTrials = Trials(30, inPortionsOf: 30)

    @Test(arguments: trials.portions)
    func everyMethodDoesWhatTheJudgeSaysAndTheSurveyPredictsIt(_ seeds: Range<UInt64>) throws {
        let database = try TestDatabase()
        Self.trials.run(seeds, on: { try Trial(seed: $0, database) }, story: \.story) { trial, found in
            defer { found = trial.found }
            try trial.run()
        }
    }

    /// The same rules, and rows as on SQLite, for which the judge stands, on each kind of table.
    @Test(arguments: TableLayout.installed)
    func everyLayoutDoesWhatTheJudgeSays(_ layout: TableLayout) throws {
        let database = try layout.makeDatabase()
        for seeds in Self.layoutTrials.portions {
            Self.layoutTrials.run(seeds, on: { try Trial(seed: $0, database, layout) }, story: \.story) {
                trial, found in
                defer { found = trial.found }
                try trial.run()
            }
        }
    }

    @Test func theGeneratorReachesRefusedAndUnrefusedRulesOfEveryKind() throws {
        let database = try TestDatabase()
        var seen: Set<String> = []
        for seed in 1...150 as ClosedRange<UInt64> {
            let trial = try Trial(seed: seed, database)
            seen.formUnion(trial.rules.kinds)
            if !trial.random.main.rest.isEmpty { seen.insert("partitioned") }
        }
        let expected = [
            "refused", "expired", "counted before", "cascaded", "nullified", "kept", "held", "held with others",
            "empties",
            "unreadable", "zone", "thinned", "candles kept", "kept from others", "kept beside others",
            "partitioned",
        ]
        #expect(seen.isSuperset(of: expected))
        #expect(seen.count == expected.count + DateEncoding.written.count + 1)
    }
}

/// One random database and all that is tried on it.
private struct Trial {
    var random: RandomDatabase
    let database: TestDatabase
    let rules: JudgedRules
    var found: [String] = []
    private let origin: RandomDatabase

    init(seed: UInt64, _ database: TestDatabase, _ layout: TableLayout? = nil) throws {
        random = RandomDatabase(seed: seed, layout: layout)
        origin = random
        self.database = database
        let reference = try random.make(try database.connection())
        rules = JudgedRules(random.rules(), on: reference)
    }

    /// What the store and the rules are, for a failure.
    var story: String {
        (random.tables.flatMap { [$0.sql] + $0.indexes } + rules.story).map { "    " + $0 }.joined(separator: "\n")
    }

    mutating func run() throws {
        let reader = try database.reader(zone: random.zone)
        let surveys = try reader.transaction(.normal) { try rules.requests.map { try reader.findings($0) } }
        for (index, survey) in surveys.enumerated() {
            found += rules.differences(survey.survey, ofRule: index)
        }
        for (round, methods) in JudgedRules.rounds(surveys.map(\.possibleMethods)).enumerated() {
            guard found.isEmpty else { return }
            try carryOut(methods, isFirst: round == 0)
        }
    }

    private mutating func carryOut(_ methods: [DeleteMethod], isFirst: Bool) throws {
        if !isFirst {
            var again = origin
            _ = try again.make(try database.connection())
        }
        let writer = try database.writer(zone: random.zone)
        // Without an index batches are as large as the cost of one asks for.
        var planned: [Findings] = []
        for (index, request) in rules.requests.enumerated() {
            let survey = try writer.findings(request)
            planned.append(survey)
            found += rules.differences(survey.survey, ofRule: index).map { "planned by the writer, " + $0 }
        }
        for (index, request) in rules.requests.enumerated() where rules.isCarriedOut(index) {
            let method = methods[index]
            let batchRows = method == .whole ? nil : random.pick([1, 2, 3, 7, 20])
            let execution = try Laws.carryOut(
                request, after: planned[index].answer, method: method.rawValue, batchRows: batchRows, on: writer)
            found += Laws.differences(
                execution, rules.verdicts[index], batchRows: batchRows,
                isBounded: method != .partitions && (method != .range || planned[index].index.name != nil)
                    && random.layout.map { $0 == .plain || $0 == .partitioned } != false
            )
            .map { "rule \(index) by \(method) in batches of \(batchRows ?? 0): " + $0 }
        }
        let connection = try database.connection()
        for table in random.tables {
            let rows = try RandomDatabase.read(table, connection).rows
            found += rules.differences(rows, in: table.name).map { "by \(methods), " + $0 }
        }
        for (index, request) in rules.requests.enumerated() where rules.isCarriedOut(index) {
            var again = request
            again.preceding = []
            let left = try writer.findings(again).expiredAloneCount
            if left != 0 { found.append("rule \(index) by \(methods[index]): \(left) rows expire in a second run") }
        }
    }
}
