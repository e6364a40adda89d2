import Foundation
import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Random stores and rules against the judge, by every method; see ``Trials``.
struct RandomStoreTests {
    private static let trials = Trials(200, inPortionsOf: 20)

    @Test(arguments: trials.portions)
    func everyMethodDoesWhatTheJudgeSaysAndTheSurveyPredictsIt(_ seeds: Range<UInt64>) {
        Self.trials.run(seeds, on: Trial.init, story: \.story) { trial, found in
            defer { found = trial.found }
            try trial.run()
        }
    }

    /// The generator reaches what it is there for: without this, a change to it could silently leave tests empty.
    @Test func theGeneratorReachesRefusedAndUnrefusedRulesOfEveryKind() throws {
        var seen: Set<String> = []
        for seed in 1...150 as ClosedRange<UInt64> {
            seen.formUnion(try Trial(seed: seed).rules.kinds)
        }
        let expected = [
            "refused", "expired", "counted before", "cascaded", "nullified", "kept", "held", "held with others",
            "empties",
            "unreadable", "zone", "thinned", "candles kept", "kept from others", "kept beside others",
        ]
        #expect(seen.isSuperset(of: expected))
        #expect(seen.count == expected.count + DateEncoding.written.count)
    }
}

/// One random store and all that is tried on it.
private struct Trial {
    var random: RandomStore
    let store: TemporaryStore
    var reference: ReferenceStore
    let rules: JudgedRules
    var found: [String] = []

    init(seed: UInt64) throws {
        random = RandomStore(seed: seed)
        store = try TemporaryStore(inMemory: true)
        reference = try random.make(store)
        rules = JudgedRules(random.rules(), on: reference)
    }

    /// What the store and the rules are, for a failure.
    var story: String {
        let tables = random.tables.flatMap { [$0.sql] + $0.indexes }
        return (random.pragmas + tables + rules.story).map { "    " + $0 }.joined(separator: "\n")
    }

    mutating func run() throws {
        let surveys = try checkSurveys()
        for methods in JudgedRules.rounds(surveys.map(\.possibleMethods)) {
            guard found.isEmpty else { return }
            try carryOut(methods)
        }
        guard found.isEmpty else { return }
        try checkOrder(surveys)
    }

    /// Surveys through a connection that only reads, against the judge and against the bytes of the file.
    private mutating func checkSurveys() throws -> [Findings] {
        let before = try store.bytes()
        let reader = try store.reader()
        let surveys = try rules.requests.map { try reader.findings($0) }
        for (index, survey) in surveys.enumerated() {
            found += rules.differences(survey.survey, ofRule: index)
        }
        if try store.bytes() != before { found.append("the survey changed the file") }
        return surveys
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

    /// Whether a later rule may clear references by which `keepLast` or the thinning of a rule makes groups.
    private func changesGroups(of request: SurveyRequest) -> Bool {
        let groups = (request.keepers.keepLast?.groupedBy ?? []) + (request.keepers.thinning?.groupedBy ?? [])
        return reference.relationships.contains { key in
            key.source == request.entity && !groups.filter(key.sourceAttributes.contains).isEmpty
        }
    }

    private mutating func carryOut(_ methods: [DeleteMethod]) throws {
        let copy = try store.copy()
        let dangling = try copy.rows("PRAGMA foreign_key_check").count
        // Whoever else has the store open and has read it changes nothing, but for a file that is replaced.
        let other = methods.contains(.rebuild) ? nil : try other(of: copy)
        defer { try? other?.close() }
        let writer = try copy.writer()
        // A store that keeps its history must be treated as any other.
        var history = random.seed.isMultiple(of: 3) ? try HistoryReplay(writer) : nil
        // As a run does it: all rules are planned before the first delete.
        var planned: [Findings] = []
        let requests = try archived(rules.requests, in: writer)
        if requests.contains(where: { $0.deleting.archiveRule != nil }) {
            try writer.beginArchive(
                ArchiveRequest(
                    place: copy.folder.path, run: "RUN",
                    rules: requests.map {
                        .init(name: $0.deleting.archiveRule ?? "", entity: $0.entity, cutoff: $0.cutoff)
                    }))
        }
        for (index, request) in requests.enumerated() {
            let survey = try writer.findings(request)
            planned.append(survey)
            found += rules.differences(survey.survey, ofRule: index).map { "planned by the writer, " + $0 }
        }
        for (index, request) in requests.enumerated() where rules.isCarriedOut(index) {
            // A history or an archive rules some out.
            let method = planned[index].possibleMethods.contains(methods[index]) ? methods[index] : .whole
            let batchRows = method.isInBatches ? random.pick([1, 2, 3, 7, 20]) : nil
            let execution = try Laws.carryOut(
                request, after: planned[index].answer, method: method.rawValue, batchRows: batchRows, on: writer)
            found += Laws.differences(
                execution, rules.verdicts[index], batchRows: batchRows,
                isBounded: !cascadesToItself(request.entity) && request.relationships == .asDeclared
            ).map { "rule \(index) by \(method) in batches of \(batchRows ?? 0): " + $0 }
        }
        if let archive = try writer.completeArchive() { try checkArchive(archive, copy) }
        try checkRest(copy, "by \(methods)")
        found += try history?.differences() ?? []
        let reader = try copy.reader()
        for (index, request) in rules.requests.enumerated()
        where rules.isCarriedOut(index) && !changesGroups(of: request) {
            var again = request
            again.preceding = []
            let survey = try reader.findings(again)
            if survey.expiredAloneCount != 0 {
                found.append(
                    "rule \(index) by \(methods[index]): \(survey.expiredAloneCount) rows expire in a second run")
            }
        }
        if try copy.rows("PRAGMA integrity_check") != ["ok"] { found.append("the file is damaged") }
        if try copy.rows("PRAGMA foreign_key_check").count > dangling { found.append("rows are left dangling") }
        if random.logsDeletes {
            let logged = Set(try copy.rows("SELECT n FROM audit").compactMap { Int64($0) })
            let gone = Set(reference.tables[random.main.name]?.rows.map(\.id) ?? [])
                .subtracting(rules.after.tables[random.main.name]?.rows.map(\.id) ?? [])
            if logged != gone { found.append("the trigger saw \(logged.sorted()), gone are \(gone.sorted())") }
        }
    }

    /// The requests with an archive, for some seeds: all, or none if one of them cannot be archived.
    private func archived(_ requests: [SurveyRequest], in reader: SQLiteFile) throws -> [SurveyRequest] {
        guard random.seed % 3 == 1 else { return requests }
        let archived = requests.map { request in
            var archived = request
            archived.deleting.archiveRule = "rule"
            return archived
        }
        return try archived.allSatisfy { try reader.archiveObstacle(of: $0) == nil } ? archived : requests
    }

    /// The archive and the store together hold every row that there was, equal in value and type, and the archive no other.
    private mutating func checkArchive(_ archive: ArchiveResult, _ copy: TemporaryStore) throws {
        found += try copy.change { db in
            try db.execute(sql: "ATTACH ? AS archive", arguments: [archive.path])
            try db.execute(sql: "ATTACH ? AS earlier", arguments: [store.path])
            func count(_ query: String) throws -> Int { try Int.fetchOne(db, sql: query) ?? 0 }
            var found: [String] = []
            for row in try Row.fetchAll(
                db, sql: "SELECT store_table, archive_table, columns FROM archive.retention_tables WHERE kind = 'rows'")
            {
                let (name, kept): (String, String) = (
                    RandomStore.quoted(row[0]), RandomStore.quoted(row[1])
                )
                let columns = try JSONDecoder().decode([String].self, from: Data((row[2] as String).utf8))
                    .map { "quote(\(RandomStore.quoted($0)))" }.joined(separator: ", ")
                let sums = try [
                    count("SELECT count(*) FROM earlier.\(name)"), count("SELECT count(*) FROM main.\(name)"),
                ]
                let number = try count("SELECT count(*) FROM archive.\(kept)")
                if number != sums[0] - sums[1] { found.append("\(sums) rows before and after, \(number) archived") }
                let isCleared = try Bool.fetchOne(
                    db, sql: "SELECT 1 FROM archive.retention_tables WHERE kind = 'references' AND store_table = ?",
                    arguments: [row[0] as String])
                if isCleared == nil {
                    let others = try count(
                        "SELECT count(*) FROM (SELECT \(columns) FROM archive.\(kept) EXCEPT SELECT \(columns) FROM earlier.\(name))"
                    )
                    if others != 0 { found.append("\(others) archived rows of \(name) were not in the store") }
                }
            }
            return found
        }
    }

    /// A second connection to the store, for every other seed.
    private func other(of copy: TemporaryStore) throws -> DatabaseQueue? {
        guard random.seed.isMultiple(of: 2) else { return nil }
        let queue = try DatabaseQueue(path: copy.path)
        _ = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
        return queue
    }

    /// The rows that are left, with all their values.
    private mutating func checkRest(_ copy: TemporaryStore, _ how: String) throws {
        for table in random.tables {
            let rows = try copy.change { try RandomStore.read(table, $0).rows }
            found += rules.differences(rows, in: table.name).map { "\(how), " + $0 }
            if found.isEmpty,
                zip(rows, rules.after.tables[table.name]?.rows ?? []).contains(where: { $0.values != $1.values })
            {
                found.append("\(how), \(table.name): values differ")
            }
        }
    }

    /// Stops range batches anywhere and looks at what is left.
    private mutating func checkOrder(_ surveys: [Findings]) throws {
        guard let first = rules.requests.first, let table = reference.tables[first.entity], rules.isCarriedOut(0),
            surveys[0].possibleMethods.contains(.range), surveys[0].expiredCount > 1,
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
            first, method: "range", batchRows: batchRows, stopAfter: batchCount, on: copy.writer())
        guard let made = random.tables.first(where: { $0.name == first.entity }) else { return }
        let left = Set(try copy.change { try RandomStore.read(made, $0).rows }.map(\.id))
        found += Laws.orderBreaches(first, table, expired: rules.verdicts[0].deleted, left: left).map {
            "after \(batchCount) range batches of \(batchRows): " + $0
        }
        let gone = table.rows.count - left.count
        if gone != execution.total.deletedCount || gone != min(batchCount * batchRows, surveys[0].expiredCount) {
            found.append("\(batchCount) range batches of \(batchRows) deleted \(gone) rows")
        }
    }
}
