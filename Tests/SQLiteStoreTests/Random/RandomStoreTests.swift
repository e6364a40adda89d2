import Foundation
import GRDB
import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// Random stores and rules against the judge, by every strategy. A failure names its seed: repeat it with
/// `RETENTION_SEED=… RETENTION_STORES=1`. `RETENTION_STORES` says how many stores are tried.
struct RandomStoreTests {
    static let firstSeed = ProcessInfo.processInfo.environment["RETENTION_SEED"].flatMap(UInt64.init) ?? 1
    static let storeCount = ProcessInfo.processInfo.environment["RETENTION_STORES"].flatMap(Int.init) ?? 200
    /// Stores in one test case, so that a report is not one line a store.
    static let portions = Array(stride(from: 0, to: storeCount, by: 20))

    @Test(arguments: portions)
    func everyStrategyDoesWhatTheJudgeSaysAndTheSurveyForetellsIt(_ first: Int) throws {
        for offset in first..<min(first + 20, Self.storeCount) {
            let seed = Self.firstSeed &+ UInt64(offset)
            var trial = try Trial(seed: seed)
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

    /// The generator reaches what it is there for: without this, a change to it could silently leave tests empty.
    @Test func theGeneratorReachesRefusedAndUnrefusedRulesOfEveryKind() throws {
        var seen: Set<String> = []
        for seed in 1...150 as ClosedRange<UInt64> {
            var trial = try Trial(seed: seed)
            try trial.judge()
            for (request, verdict) in zip(trial.requests, trial.verdicts) {
                if verdict.isRefused { seen.insert("refused") }
                if verdict.survey.expiredCount > 0 { seen.insert("expired") }
                if verdict.survey.expiredCount < verdict.survey.expiredAloneCount { seen.insert("counted before") }
                if verdict.survey.cascadedCount > 0 { seen.insert("cascaded") }
                if verdict.survey.nullifiedCount > 0 { seen.insert("nullified") }
                if verdict.survey.keptByRuleCount > 0 { seen.insert("kept") }
                if !verdict.survey.leavesReadableRows { seen.insert("empties") }
                if verdict.survey.unreadable.count > 2 { seen.insert("unreadable") }
                if request.zone != .utc { seen.insert("zone") }
                seen.insert(request.date.encoding.rawValue)
            }
        }
        let expected = [
            "refused", "expired", "counted before", "cascaded", "nullified", "kept", "empties", "unreadable", "zone",
        ]
        #expect(seen.isSuperset(of: expected))
        #expect(seen.count == expected.count + DateEncoding.allCases.count - 1)
    }
}

extension SurveyRequest {
    fileprivate var zone: CalendarZone { date.zone }
}

/// One random store and all that is tried on it.
private struct Trial {
    var random: RandomStore
    let store: TemporaryStore
    var reference: ReferenceStore
    /// The rules as they are asked, with what the rules before them delete.
    var requests: [SurveyRequest] = []
    var verdicts: [ReferenceJudge.Verdict] = []
    var found: [String] = []

    init(seed: UInt64) throws {
        random = RandomStore(seed: seed)
        store = try TemporaryStore(inMemory: true)
        reference = try random.make(store)
    }

    /// What the store and the rules are, for a failure.
    var story: String {
        let rules = requests.map {
            "\($0.entity): \($0.date.name) \($0.date.encoding) \($0.date.zone.identifier) before \($0.cutoff.rfc3339) earliest \($0.date.earliest.rfc3339) latest \($0.date.latest?.rfc3339 ?? "-") where \($0.filter) keep \($0.keepLast.map { "\($0.count) per \($0.groupedBy)" } ?? "-") relationships \($0.relationships)"
        }
        let tables = random.tables.flatMap { [$0.sql] + $0.indexes }
        return (random.pragmas + tables + rules).map { "    " + $0 }.joined(separator: "\n")
    }

    /// Makes the rules and the verdicts on them.
    mutating func judge() throws {
        var judge = ReferenceJudge(reference)
        for rule in random.rules() {
            var request = rule
            request.preceding = judge.preceding
            requests.append(request)
            verdicts.append(judge.judge(request))
        }
        after = judge.current
    }

    var after = ReferenceStore(tables: [:])

    mutating func run() throws {
        try judge()
        let surveys = try checkSurveys()
        guard found.isEmpty else { return }
        let strategyCount = surveys.map(\.possibleTechniques.count).max() ?? 0
        for index in 0...strategyCount {
            let strategies = surveys.map { survey in
                index < strategyCount && !survey.possibleTechniques.isEmpty
                    ? survey.possibleTechniques[index % survey.possibleTechniques.count] : .whole
            }
            try carryOut(strategies)
            guard found.isEmpty else { return }
        }
        try checkOrder(surveys)
    }

    /// Surveys through a connection that only reads, against the judge and against the bytes of the file.
    private mutating func checkSurveys() throws -> [Findings] {
        let before = try store.bytes()
        let reader = try store.reader()
        let surveys = try requests.map { try reader.findings($0) }
        for (index, survey) in surveys.enumerated() {
            found += differences(survey.survey, verdicts[index]).map { "rule \(index): " + $0 }
        }
        if try store.bytes() != before { found.append("the survey changed the file") }
        return surveys
    }

    private func differences(_ survey: Survey, _ verdict: ReferenceJudge.Verdict) -> [String] {
        if verdict.dependsOnNullified {
            return survey.unsupported == nil ? ["a rule whose rows a relationship changes is not refused"] : []
        }
        if let reason = survey.unsupported { return ["unsupported: \(reason)"] }
        return Laws.differences(survey, verdict.survey)
    }

    /// Whether cascades from the rule's entity come back to it.
    private func cascadesToItself(_ entity: String) -> Bool {
        var reached: Set<String> = []
        var waiting = [entity]
        while let next = waiting.popLast() {
            for key in reference.relationships where key.destination == next && key.deleteRule == .cascade {
                if reached.insert(key.source).inserted { waiting.append(key.source) }
            }
        }
        return reached.contains(entity)
    }

    private mutating func carryOut(_ strategies: [Technique]) throws {
        let copy = try store.copy()
        let dangling = try copy.rows("PRAGMA foreign_key_check").count
        // Whoever else has the store open and has read it changes nothing, but for a file that is replaced.
        let company = strategies.contains(where: \.isRebuild) ? nil : try company(of: copy)
        defer { try? company?.close() }
        let writer = try copy.writer()
        // A store that keeps its history must be treated as any other.
        var history = random.seed.isMultiple(of: 3) ? try HistoryReplay(writer) : nil
        // As a run does it: all rules are planned before the first delete.
        var possible: [[Technique]] = []
        for (index, request) in requests.enumerated() {
            let survey = try writer.findings(request)
            possible.append(survey.possibleTechniques)
            found += differences(survey.survey, verdicts[index]).map { "rule \(index), planned by the writer: " + $0 }
        }
        for (index, request) in requests.enumerated() where isCarriedOut(index) {
            // A history rules some out.
            let strategy = possible[index].contains(strategies[index]) ? strategies[index] : .whole
            let batchRows = strategy.isInBatches ? random.pick([1, 2, 3, 7, 20]) : nil
            let execution = try Laws.carryOut(request, technique: strategy.rawValue, batchRows: batchRows, on: writer)
            found += Laws.differences(
                execution, verdicts[index], batchRows: batchRows,
                isBounded: !cascadesToItself(request.entity) && request.relationships == .asDeclared
            ).map { "rule \(index) by \(strategy) in batches of \(batchRows ?? 0): " + $0 }
        }
        try checkRest(copy, "by \(strategies)")
        found += try history?.differences() ?? []
        let reader = try copy.reader()
        for (index, request) in requests.enumerated() where isCarriedOut(index) {
            var again = request
            again.preceding = []
            let survey = try reader.findings(again)
            if survey.expiredAloneCount != 0 {
                found.append(
                    "rule \(index) by \(strategies[index]): \(survey.expiredAloneCount) rows expire in a second run")
            }
        }
        if try copy.rows("PRAGMA integrity_check") != ["ok"] { found.append("the file is damaged") }
        if try copy.rows("PRAGMA foreign_key_check").count > dangling { found.append("rows are left dangling") }
        if random.logsDeletes {
            let logged = Set(try copy.rows("SELECT n FROM audit").compactMap { Int64($0) })
            let gone = Set(reference.tables[random.main.name]?.rows.map(\.id) ?? [])
                .subtracting(after.tables[random.main.name]?.rows.map(\.id) ?? [])
            if logged != gone { found.append("the trigger saw \(logged.sorted()), gone are \(gone.sorted())") }
        }
    }

    /// A second connection to the store, for every other seed.
    private func company(of copy: TemporaryStore) throws -> DatabaseQueue? {
        guard random.seed.isMultiple(of: 2) else { return nil }
        let queue = try DatabaseQueue(path: copy.path)
        _ = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
        return queue
    }

    private func isCarriedOut(_ index: Int) -> Bool {
        // As a run: where the survey finds nothing, no batch is sent.
        !verdicts[index].isRefused && !verdicts[index].dependsOnNullified && verdicts[index].survey.expiredCount > 0
    }

    /// The rows that are left, with all their values.
    private mutating func checkRest(_ copy: TemporaryStore, _ how: String) throws {
        for table in random.tables {
            let rows = try copy.change { try RandomStore.read(table, $0).rows }
            let right = after.tables[table.name]?.rows ?? []
            let (left, expected) = (Set(rows.map(\.id)), Set(right.map(\.id)))
            if left != expected {
                found.append(
                    "\(how), \(table.name): rows \(left.subtracting(expected).sorted()) should be gone, "
                        + "\(expected.subtracting(left).sorted()) should be there")
            } else if zip(rows, right).contains(where: { $0.values != $1.values }) {
                found.append("\(how), \(table.name): values differ")
            }
        }
    }

    /// Stops range batches anywhere and looks at what is left.
    private mutating func checkOrder(_ surveys: [Findings]) throws {
        guard let first = requests.first, let table = reference.tables[first.entity], isCarriedOut(0),
            surveys[0].possibleTechniques.contains(.range), surveys[0].expiredCount > 1,
            !cascadesToItself(first.entity),
            // The rule's own cascade follows a reference to the same table, whatever it declares.
            first.relationships != .cascade
                || !reference.relationships.contains(where: { $0.source == first.entity && $0.source == $0.destination }
                )
        else { return }
        let copy = try store.copy()
        let batchRows = random.pick([1, 2, 3, 5])
        let batchCount = Int.random(in: 1...(surveys[0].expiredCount / batchRows + 1), using: &random.random)
        let execution = try Laws.carryOut(
            first, technique: "range", batchRows: batchRows, stopAfter: batchCount, on: copy.writer())
        guard let made = random.tables.first(where: { $0.name == first.entity }) else { return }
        let left = Set(try copy.change { try RandomStore.read(made, $0).rows }.map(\.id))
        found += Laws.orderBreaches(first, table, expired: verdicts[0].deleted, left: left).map {
            "after \(batchCount) range batches of \(batchRows): " + $0
        }
        let gone = table.rows.count - left.count
        if gone != execution.total.deletedCount || gone != min(batchCount * batchRows, surveys[0].expiredCount) {
            found.append("\(batchCount) range batches of \(batchRows) deleted \(gone) rows")
        }
    }
}
