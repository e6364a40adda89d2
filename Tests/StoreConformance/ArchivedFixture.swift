package import PriceStore
package import Testing

/// A store whose deletes are archived, as the tests of every engine use it.
package protocol ArchivedFixture {
    associatedtype Writer: RetentionWriter
    associatedtype Reader: RetentionReader

    /// Where archives are made.
    var place: String { get }
    /// The archive as an undo names it.
    var archive: String { get }
    var run: String { get }
    func writer() throws -> Writer
    func reader() throws -> Reader
    /// Whether each part of a deletion archives just the rows that it deletes, and not also rows whose references it clears.
    static var archivesByPart: Bool { get }
    /// A rule that expires the oldest rows of a table by its column `at`.
    static func request(_ entity: String) -> SurveyRequest
    /// All rows of all tables but some, as text that shows every digit and letter.
    func contents(without left: Set<String>) throws -> [String: [String]]
}

/// What a restoration did, all in all.
package struct RestorationOutcome: Equatable {
    package var tables: [String: RestoredTable] = [:]
    package var skipped: [SkippedRow] = []
    package var byTriggers: [String: TriggeredRows] = [:]

    package var total: RestoredTable { tables.values.reduce(into: RestoredTable()) { $0.add($1) } }

    fileprivate mutating func add(_ other: RestorationOutcome) {
        for (table, counts) in other.tables { tables[table, default: RestoredTable()].add(counts) }
        skipped += other.skipped
        for (table, rows) in other.byTriggers { byTriggers[table, default: TriggeredRows()].add(rows) }
    }
}

extension ArchivedFixture {
    /// The run of a store of which no test asks for another.
    package static var run: String { "01KAAAAAAAAAAAAAAAAAAAAAAA" }

    package func contents() throws -> [String: [String]] { try contents(without: []) }

    /// Deletes the rows of requests with an archive; the rules are named `r0`, `r1`, ….
    @discardableResult
    package func delete(
        _ requests: [SurveyRequest], methods: [String?] = [], batchRows: Int? = nil, on writer: Writer? = nil,
        isComplete: Bool = true
    ) throws -> ArchiveResult? {
        let writer = try writer ?? self.writer()
        let rules = requests.enumerated().map {
            ArchiveRequest.Rule(name: "r\($0)", entity: $1.entity, cutoff: $1.cutoff)
        }
        try writer.beginArchive(
            ArchiveRequest(place: place, run: run, facts: ["policy_sha256": "a'b\"c,{}"], rules: rules))
        let requests = requests.enumerated().map { index, request in
            var request = request
            request.deleting.archiveRule = "r\(index)"
            request.deleting.method = methods.indices.contains(index) ? methods[index] : nil
            return request
        }
        // As a run does it: all rules are surveyed before the first delete.
        let surveys = try requests.map { try writer.survey($0) }
        for (request, survey) in zip(requests, surveys) {
            let deletion = try writer.deletion(of: request, after: survey)
            var hasMore = true
            while hasMore {
                let part = try deletion.deleteNext(
                    DeletionBounds(rows: deletion.outline.isInBatches ? batchRows : nil))
                let goneCount = part.result.deletedCount + part.result.cascadedCount
                guard part.result.archivedCount == goneCount || !Self.archivesByPart else {
                    throw StoreError(.defect, store: "", message: "not all that was deleted is archived: \(part)")
                }
                hasMore = part.hasMore
            }
        }
        return isComplete ? try writer.completeArchive() : nil
    }

    /// Deletes the oldest rows of tables.
    @discardableResult
    package func delete(_ entities: String..., batchRows: Int? = nil) throws -> ArchiveResult? {
        try delete(entities.map(Self.request), batchRows: batchRows)
    }

    package func request(_ rules: [String] = [], triggers: TriggerChoice? = nil) -> RestorationRequest {
        RestorationRequest(archive: archive, run: run, rules: rules, triggers: triggers)
    }

    /// Restores to the end, or some parts only.
    @discardableResult
    package func undo(
        rules: [String] = [], rows: Int = 1000, parts: Int = .max, on writer: Writer? = nil,
        triggers: TriggerChoice? = nil
    ) throws -> RestorationOutcome {
        let restoration = try (writer ?? self.writer()).restoration(of: request(rules, triggers: triggers))
        var outcome = RestorationOutcome()
        for _ in 0..<parts {
            let part = try restoration.restoreNext(rows: rows)
            outcome.add(
                RestorationOutcome(tables: part.tables, skipped: part.skipped, byTriggers: part.byTriggers))
            guard part.hasMore else { break }
        }
        return outcome
    }

    /// Restores rule by rule, the last one of the run first.
    package func undoEachRule(
        of requests: [SurveyRequest], rows: Int = 1000, triggers: TriggerChoice? = nil
    ) throws -> RestorationOutcome {
        try requests.indices.reversed().reduce(into: RestorationOutcome()) {
            $0.add(try undo(rules: ["r\($1)"], rows: rows, triggers: triggers))
        }
    }

    /// Deletes ticks, and candles of ticks, that become candles, and undoes it in parts: the store is what it was, and no tick
    /// is counted twice or not at all meanwhile.
    ///
    /// - Parameters:
    ///   - rows: how many rows a part of the undo restores.
    ///   - count: the ticks in the store, in rows and in candles.
    package func expectUndoInParts(
        _ requests: [SurveyRequest], batchRows: Int, rows: Int, count: () throws -> Int,
        at place: SourceLocation = #_sourceLocation
    ) throws {
        let before = try contents()
        let total = try count()
        let result = try #require(try delete(requests, batchRows: batchRows), sourceLocation: place)
        let after = try contents()
        #expect(try count() == total && after != before, sourceLocation: place)
        #expect(result.rowCount > 150, sourceLocation: place)

        let dry = try reader().restorable(request())
        #expect(try contents() == after, sourceLocation: place)
        #expect(
            dry.allSatisfy { $0.changedCandleCount + $0.blockedCount + $0.conflictCount + $0.presentCount == 0 },
            "\(dry)", sourceLocation: place)
        // An undo that is stopped after each part goes on.
        var done = RestoredTable()
        for _ in 0..<1000 {
            let restoration = try writer().restoration(of: request())
            #expect(
                restoration.tables.allSatisfy { $0.changedCandleCount + $0.blockedCount == 0 }, "\(restoration.tables)",
                sourceLocation: place)
            var part = RestorationPart()
            while part.hasMore, part.tables.values.allSatisfy({ $0.restoredCount == 0 }) {
                part = try restoration.restoreNext(rows: rows)
            }
            for counts in part.tables.values { done.add(counts) }
            #expect(try count() == total, sourceLocation: place)
            guard part.hasMore else { break }
        }
        #expect(try contents() == before, sourceLocation: place)
        #expect(
            done.deletedCandleCount == dry.reduce(0) { $0 + $1.deletedCandleCount } && done.deletedCandleCount > 5,
            sourceLocation: place)
        #expect(
            done.restoredCandleCount == dry.reduce(0) { $0 + $1.restoredCandleCount } && done.restoredCandleCount > 5,
            sourceLocation: place)
        #expect(done.restoredCount == result.rowCount && done.skippedCount == 0, sourceLocation: place)

        let again = try undo().total
        #expect(
            again.presentCount == result.rowCount
                && again.restoredCount + again.deletedCandleCount + again.restoredCandleCount == 0,
            sourceLocation: place)
        #expect(try contents() == before, sourceLocation: place)
    }

    /// Two rules make candles in one table: the first cannot be undone without the second.
    ///
    /// - Parameters:
    ///   - request: the rule of all ticks.
    ///   - part: which of them the first rule deletes.
    ///   - count: the ticks in the store, in rows and in candles.
    package func expectSharedCandlesAreFound(
        _ request: SurveyRequest, part: StorePredicate, count: () throws -> Int,
        at place: SourceLocation = #_sourceLocation
    ) throws {
        let before = try contents()
        let total = try count()
        var first = request
        first.filter = first.filter && part
        try delete([first, request], batchRows: 40)
        #expect(try reader().count(StoreFetchRequest(entity: request.entity)) == 0, sourceLocation: place)
        let tables = try reader().restorable(self.request(["r0"]))
        #expect(tables.map(\.changedCandleCount).reduce(0, +) > 5, "\(tables)", sourceLocation: place)
        #expect(throws: StoreError.self, sourceLocation: place) { try undo(rules: ["r0"]) }
        #expect(try count() == total, sourceLocation: place)
        try undo(rules: ["r1"])
        try undo(rules: ["r0"])
        #expect(try contents() == before, sourceLocation: place)
    }

    /// Only longer candles are undone: then the candles that late ticks have made again are in the way.
    ///
    /// - Parameters:
    ///   - longer: the rule of the candles that become longer ones.
    ///   - ticks: the rule of the ticks that become candles.
    ///   - count: the ticks in the store, in rows and in candles.
    package func expectTheLastIsUndoneFirst(
        longer: SurveyRequest, ticks: SurveyRequest, count: () throws -> Int,
        at place: SourceLocation = #_sourceLocation
    ) throws {
        let before = try contents()
        let total = try count()
        try delete([longer, ticks], batchRows: 20)
        let after = try contents()
        let blocked = try reader().restorable(request(["r0"]))
        #expect(
            blocked.first { $0.table == longer.entity }?.blockedCount ?? 0 > 0, "\(blocked)", sourceLocation: place)
        #expect(throws: StoreError.self, sourceLocation: place) { try undo(rules: ["r0"]) }
        #expect(try count() == total, sourceLocation: place)
        #expect(try contents()[ticks.entity] == after[ticks.entity], sourceLocation: place)
        try undo(rules: ["r1"])
        try undo(rules: ["r0"])
        #expect(try contents() == before, sourceLocation: place)
    }
}
