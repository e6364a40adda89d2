import Foundation
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// Random databases and rules against the judge that the SQLite engine obeys too, by every strategy. A failure names its
/// seed: repeat it with `RETENTION_SEED=… RETENTION_STORES=1`.
@Suite(.needsPostgres)
struct RandomDatabaseTests {
    static let firstSeed = ProcessInfo.processInfo.environment["RETENTION_SEED"].flatMap(UInt64.init) ?? 1
    static let storeCount = ProcessInfo.processInfo.environment["RETENTION_STORES"].flatMap(Int.init) ?? 100
    static let portions = Array(stride(from: 0, to: storeCount, by: 20))

    @Test(arguments: portions)
    func everyStrategyDoesWhatTheJudgeSaysAndTheSurveyForetellsIt(_ first: Int) throws {
        let database = try TestDatabase()
        for offset in first..<min(first + 20, Self.storeCount) {
            let seed = Self.firstSeed &+ UInt64(offset)
            var trial = try Trial(seed: seed, database)
            do {
                try trial.run()
            } catch {
                trial.found.append("throws \(error)")
            }
            if !trial.found.isEmpty {
                let text = trial.found.prefix(8).joined(separator: "\n  ")
                Issue.record("RETENTION_SEED=\(seed) RETENTION_STORES=1\n  \(text)\n\(trial.story)")
            }
        }
    }

    @Test func theGeneratorReachesRefusedAndUnrefusedRulesOfEveryKind() throws {
        let database = try TestDatabase()
        var seen: Set<String> = []
        for seed in 1...150 as ClosedRange<UInt64> {
            var trial = try Trial(seed: seed, database)
            trial.judge()
            for (request, verdict) in zip(trial.requests, trial.verdicts) {
                if verdict.isRefused { seen.insert("refused") }
                if verdict.survey.expiredCount > 0 { seen.insert("expired") }
                if verdict.survey.expiredCount < verdict.survey.expiredAloneCount { seen.insert("counted before") }
                if verdict.survey.cascadedCount > 0 { seen.insert("cascaded") }
                if verdict.survey.nullifiedCount > 0 { seen.insert("nullified") }
                if verdict.survey.keptByRuleCount > 0 { seen.insert("kept") }
                if verdict.survey.unreadable.count > 2 { seen.insert("unreadable") }
                if request.date.zone != .utc { seen.insert("zone") }
                if !trial.random.main.rest.isEmpty { seen.insert("partitioned") }
                seen.insert(request.date.encoding.rawValue)
            }
        }
        let expected = [
            "refused", "expired", "counted before", "cascaded", "nullified", "kept", "unreadable", "zone",
            "partitioned",
        ]
        #expect(seen.isSuperset(of: expected))
        #expect(seen.count == expected.count + DateEncoding.allCases.count)
    }
}

/// One random database and all that is tried on it.
private struct Trial {
    var random: RandomDatabase
    let database: TestDatabase
    var reference: ReferenceStore
    var requests: [SurveyRequest] = []
    var verdicts: [ReferenceJudge.Verdict] = []
    var found: [String] = []
    var after = ReferenceStore(tables: [:])
    private let origin: RandomDatabase

    init(seed: UInt64, _ database: TestDatabase) throws {
        random = RandomDatabase(seed: seed)
        origin = random
        self.database = database
        reference = try random.make(try database.connection())
    }

    /// What the store and the rules are, for a failure.
    var story: String {
        let rules = requests.map {
            "\($0.entity): \($0.date.name) \($0.date.encoding) \($0.date.zone.identifier) before \($0.cutoff.rfc3339) earliest \($0.date.earliest.rfc3339) latest \($0.date.latest?.rfc3339 ?? "-") where \($0.filter) keep \($0.keepLast.map { "\($0.count) per \($0.groupedBy)" } ?? "-") relationships \($0.relationships)"
        }
        return (random.tables.flatMap { [$0.sql] + $0.indexes } + rules).map { "    " + $0 }.joined(separator: "\n")
    }

    mutating func judge() {
        var judge = ReferenceJudge(reference)
        for rule in random.rules() {
            var request = rule
            request.preceding = judge.preceding
            requests.append(request)
            verdicts.append(judge.judge(request))
        }
        after = judge.current
    }

    mutating func run() throws {
        judge()
        let reader = try database.reader(zone: random.zone)
        let surveys = try reader.transaction(.normal) { try requests.map { try reader.findings($0) } }
        for (index, survey) in surveys.enumerated() {
            found += differences(survey.survey, verdicts[index]).map { "rule \(index): " + $0 }
        }
        guard found.isEmpty else { return }
        let strategyCount = surveys.map(\.possibleTechniques.count).max() ?? 0
        for index in 0...strategyCount {
            let strategies = surveys.map { survey in
                index < strategyCount && !survey.possibleTechniques.isEmpty
                    ? survey.possibleTechniques[index % survey.possibleTechniques.count] : .whole
            }
            try carryOut(strategies, isFirst: index == 0)
            guard found.isEmpty else { return }
        }
    }

    private func differences(_ survey: Survey, _ verdict: ReferenceJudge.Verdict) -> [String] {
        if verdict.dependsOnNullified {
            return survey.unsupported == nil ? ["a rule whose rows a relationship changes is not refused"] : []
        }
        if let reason = survey.unsupported { return ["unsupported: \(reason)"] }
        return Laws.differences(survey, verdict.survey)
    }

    private mutating func carryOut(_ strategies: [Technique], isFirst: Bool) throws {
        if !isFirst {
            var again = origin
            _ = try again.make(try database.connection())
        }
        let writer = try database.writer(zone: random.zone)
        for (index, request) in requests.enumerated() {
            let survey = try writer.findings(request)
            found += differences(survey.survey, verdicts[index]).map { "rule \(index), planned by the writer: " + $0 }
        }
        for (index, request) in requests.enumerated() where isCarriedOut(index) {
            let strategy = strategies[index]
            let batchRows = strategy == .whole ? nil : random.pick([1, 2, 3, 7, 20])
            let execution = try Laws.carryOut(request, technique: strategy.rawValue, batchRows: batchRows, on: writer)
            found += Laws.differences(
                execution, verdicts[index], batchRows: batchRows, isBounded: strategy != .partitions
            )
            .map { "rule \(index) by \(strategy) in batches of \(batchRows ?? 0): " + $0 }
        }
        let connection = try database.connection()
        for table in random.tables {
            let rows = try RandomDatabase.read(table, connection).rows
            let right = after.tables[table.name]?.rows ?? []
            let (left, expected) = (Set(rows.map(\.id)), Set(right.map(\.id)))
            if left != expected {
                found.append(
                    "by \(strategies), \(table.name): rows \(left.subtracting(expected).sorted()) should be gone, "
                        + "\(expected.subtracting(left).sorted()) should be there")
            }
        }
        for (index, request) in requests.enumerated() where isCarriedOut(index) {
            var again = request
            again.preceding = []
            let left = try writer.findings(again).expiredAloneCount
            if left != 0 { found.append("rule \(index) by \(strategies[index]): \(left) rows expire in a second run") }
        }
    }

    private func isCarriedOut(_ index: Int) -> Bool {
        !verdicts[index].isRefused && !verdicts[index].dependsOnNullified && verdicts[index].survey.expiredCount > 0
    }
}
