import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// What `keepLast` keeps while another program changes the store between two batches.
struct KeptRowsTests {
    private static let date = DateAttribute(name: "at", encoding: .unixSeconds)

    /// Ten rows of each of five symbols, the newest of a symbol last, and one row of a sixth.
    private func store(_ index: String = "CREATE INDEX price_at ON price (at)") throws -> TemporaryStore {
        try TemporaryStore(
            "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT)", index,
            "CREATE TABLE note (id INTEGER)", "PRAGMA journal_mode = WAL",
            """
            WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 49)
            INSERT INTO price SELECT n, 86400 * (400 + n), 'S' || (n % 5) FROM n
            """,
            "INSERT INTO price VALUES (90, 86400 * 400, 'F')")
    }

    private func request(_ count: Int, per groups: [String], cutoff day: Int64 = 1000) -> SurveyRequest {
        SurveyRequest(
            entity: "price", date: Self.date, cutoff: Instant(unixSeconds: 86_400 * day),
            keepLast: KeepLast(count: count, groupedBy: groups, among: .all, date: Self.date))
    }

    /// One row a year is kept.
    private func thinned(
        _ pick: Thinning.Pick, per groups: [String] = [], where filter: StorePredicate = .all
    ) -> SurveyRequest {
        var request = SurveyRequest(
            entity: "price", date: Self.date, cutoff: Instant(unixSeconds: 86_400 * 1000), filter: filter)
        request.keepers.thinning = Thinning(
            tiers: [.init(.year, since: .distantPast)], pick: pick, groupedBy: groups, among: filter, date: Self.date)
        return request
    }

    /// What another program does after the first batch, and what must be left then, of each symbol.
    struct Change: CustomTestStringConvertible {
        var statement: String
        var count: Int
        var groups: [String]
        /// Nil: rows of one group, of which nothing goes any more.
        var untouched: String?
        var testDescription: String { "keep_last \(count) per \(groups): \(statement)" }

        init(_ count: Int, per groups: [String], _ statement: String, untouched: String? = nil) {
            (self.statement, self.count, self.groups, self.untouched) = (statement, count, groups, untouched)
        }
    }

    static let changes = [
        Change(1, per: ["symbol"], "DELETE FROM price WHERE id = 49", untouched: "S4"),
        Change(1, per: ["symbol"], "UPDATE price SET at = at - 86400 * 45 WHERE id = 49", untouched: "S4"),
        Change(1, per: ["symbol"], "UPDATE price SET symbol = 'S0' WHERE id = 49", untouched: "S4"),
        Change(2, per: ["symbol"], "DELETE FROM price WHERE id IN (49, 44)", untouched: "S4"),
        Change(2, per: ["symbol"], "UPDATE price SET at = NULL WHERE id = 44", untouched: "S4"),
        Change(1, per: [], "DELETE FROM price WHERE id = 49"), Change(3, per: [], "DELETE FROM price WHERE id = 48"),
    ]

    @Test(
        arguments: changes, ["CREATE INDEX price_at ON price (at)", "CREATE INDEX price_by ON price (symbol, at)", ""])
    func aGroupThatLosesAKeptRowLosesNoMore(_ change: Change, _ index: String) throws {
        let store = try store(index)
        let request = request(change.count, per: change.groups)
        let writer = try store.writer()
        let deletion = try writer.deletion(of: request)
        _ = try deletion.deleteNext(DeletionBounds(rows: 5))
        try store.change(change.statement)
        let rows = "SELECT symbol, count(at) FROM price GROUP BY symbol ORDER BY symbol"
        let before = try store.rows(rows)
        while try deletion.deleteNext(DeletionBounds(rows: 5)).hasMore {}
        let after = try store.rows(rows)
        guard let symbol = change.untouched else { return #expect(after == before) }
        #expect(after.filter { $0.hasPrefix(symbol) } == before.filter { $0.hasPrefix(symbol) })
        // The others go on.
        #expect(after.filter { $0.hasPrefix("S1") } == ["S1|\(change.count)"])
        // The next deletion finds what is kept again.
        _ = try Laws.carryOut(request, batchRows: 5, on: writer)
        #expect(try store.rows(rows).filter { $0.hasPrefix(symbol) } == ["\(symbol)|\(change.count)"])
    }

    /// They are found again by a deletion if the store has changed since the survey.
    @Test(arguments: changes)
    func aKeptRowThatGoesWhileTheyAreFoundKeepsItsGroup(_ change: Change) throws {
        let store = try store()
        let request = request(change.count, per: change.groups)
        let writer = try store.writer()
        let survey = try writer.survey(request)
        try store.change("INSERT INTO note VALUES (1)")
        let rows = "SELECT symbol, count(at) FROM price GROUP BY symbol ORDER BY symbol"
        var before: [String]?
        writer.trace = { statement, _ in
            // The statements after the one that reads the table.
            guard before == nil, statement.contains("rowid - place") || statement.hasPrefix("SELECT value, (")
            else { return }
            try? store.change(change.statement)
            before = try? store.rows(rows)
        }
        let deletion = try writer.deletion(of: request, after: survey)
        while try deletion.deleteNext(DeletionBounds(rows: 5)).hasMore {}
        let after = try store.rows(rows)
        guard let symbol = change.untouched else { return #expect(after == before) }
        #expect(before != nil && after.filter { $0.hasPrefix(symbol) } == before?.filter { $0.hasPrefix(symbol) })
        #expect(after.filter { $0.hasPrefix("S1") } == ["S1|\(change.count)"])
    }

    /// The kept rows are newer than the cutoff, so that none of the rows in question is one of them when they are found.
    @Test func groupsWhoseNewRowsGoKeepTheirOldOnes() throws {
        let store = try store()
        let request = request(1, per: ["symbol"], cutoff: 440)
        let writer = try store.writer()
        #expect(try writer.survey(request).expiredCount == 40)
        let deletion = try writer.deletion(of: request)
        _ = try deletion.deleteNext(DeletionBounds(rows: 5))
        try store.change("DELETE FROM price WHERE id >= 40 AND symbol <> 'S1' AND symbol <> 'F'")
        while try deletion.deleteNext(DeletionBounds(rows: 5)).hasMore {}
        let left = try store.rows("SELECT symbol, count(*) FROM price GROUP BY symbol ORDER BY symbol")
        #expect(left == ["F|1", "S0|7", "S1|2", "S2|7", "S3|7", "S4|7"])
    }

    /// Rows arrive in a group that has fewer rows than the rule keeps, and in a new one.
    @Test func aGroupThatIsSmallOrNewLosesNothing() throws {
        let store = try store()
        let request = request(2, per: ["symbol"])
        let writer = try store.writer()
        let deletion = try writer.deletion(of: request)
        _ = try deletion.deleteNext(DeletionBounds(rows: 5))
        try store.change(
            "INSERT INTO price VALUES (91, 86400 * 399, 'F'), (92, 86400 * 399, 'N'), (93, 86400 * 398, 'N')")
        while try deletion.deleteNext(DeletionBounds(rows: 5)).hasMore {}
        #expect(
            try store.rows("SELECT symbol, count(*) FROM price WHERE symbol IN ('F', 'N') GROUP BY symbol")
                == ["F|2", "N|2"])
    }

    @Test func aCommitThatIsAboutOtherRowsKeepsNone() throws {
        let store = try store()
        for groups in [["symbol"], []] {
            let request = request(1, per: groups)
            let writer = try store.writer()
            let expired = try writer.survey(request).expiredCount
            let execution = try Laws.carryOut(
                request, batchRows: 5, meanwhile: { try store.change("INSERT INTO note VALUES (1)") }, on: writer)
            #expect(execution.total.deletedCount == expired && expired > 0)
        }
    }

    /// Another rule's cascade takes the kept row, on the same connection.
    @Test func aKeptRowThatACascadeTakesKeepsItsGroup() throws {
        let store = try TemporaryStore(
            "CREATE TABLE source (id INTEGER PRIMARY KEY, at INTEGER)",
            "CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, source INTEGER REFERENCES source ON DELETE CASCADE)",
            "CREATE INDEX price_at ON price (at)", "CREATE INDEX price_source ON price (source)",
            "INSERT INTO source VALUES (1, 86400 * 400), (2, 86400 * 2000)",
            """
            WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 19)
            INSERT INTO price SELECT n, 86400 * (400 + n), iif(n = 19, 1, 2) FROM n
            """)
        let writer = try store.writer()
        let kept = request(1, per: [])
        let deletion = try writer.deletion(of: kept)
        _ = try deletion.deleteNext(DeletionBounds(rows: 5))
        _ = try writer.execute(
            BatchDeleteRequest(
                fetchRequest: StoreFetchRequest(entity: "source", predicate: .compare("id", .equal, .integer(1)))))
        while try deletion.deleteNext(DeletionBounds(rows: 5)).hasMore {}
        #expect(try store.rows("SELECT count(*) FROM price") == ["14"])
    }

    /// A trigger of the store takes rows that the rule keeps, in the transaction that deletes others.
    @Test(arguments: [true, false]) func aBatchWhoseTriggerTakesAKeptRowIsUndone(_ thins: Bool) throws {
        let store = try store()
        try store.change(
            "CREATE TRIGGER x AFTER DELETE ON price BEGIN DELETE FROM price WHERE id IN (45, 46); END")
        let request = thins ? thinned(.last, per: ["symbol"]) : request(1, per: ["symbol"])
        let writer = try store.writer()
        let deletion = try writer.deletion(of: request)
        let error = #expect(throws: StoreError.self) { try deletion.deleteNext(DeletionBounds(rows: 5)) }
        #expect(
            error?.kind == .constraint && error?.message.contains("2 rows of price that thin") == true,
            "\(error as Any)")
        #expect(try store.rows("SELECT count(*) FROM price") == ["51"])
    }

    /// Another program changes a row that a second rule keeps, so that it is none of that rule's rows any more. The first rule may take it.
    @Test func aKeptRowThatNoRuleKeepsAnyMoreMayGo() throws {
        let store = try store()
        try store.change(
            """
            CREATE TABLE child (price INTEGER REFERENCES price ON DELETE CASCADE);
            CREATE INDEX child_price ON child (price);
            """)
        let second = thinned(.first, where: .compare("symbol", .equal, .text("S1")))
        var first = thinned(.first)
        first.keepApart(from: [second])
        let writer = try store.writer()
        // Rows 0 and 1 stay: the first row of all, and that of the symbol.
        #expect(try writer.survey(first).expiredCount == 49)
        let deletion = try writer.deletion(of: first)
        try store.change("UPDATE price SET symbol = 'S2' WHERE id = 1")
        while try deletion.deleteNext(DeletionBounds(rows: 5)).hasMore {}
        #expect(try store.rows("SELECT count(*) FROM price WHERE id = 1") == ["0"])
    }

    /// Where a rule may not empty its entity, the batch that would do it is undone, although nothing was to be seen when it was planned.
    @Test(arguments: ["CREATE INDEX price_at ON price (at)", ""])
    func theLastReadableRowStays(_ index: String) throws {
        let store = try store(index)
        var request = SurveyRequest.rows(of: "price", before: 86_400 * 440)
        request.deleting.mayEmpty = false
        let writer = try store.writer()
        #expect(try writer.survey(request).expiredCount == 41)
        let deletion = try writer.deletion(of: request)
        _ = try deletion.deleteNext(DeletionBounds(rows: 20))
        try store.change(
            "DELETE FROM price WHERE id >= 40 AND symbol <> 'F'; INSERT INTO price VALUES (95, NULL, 'U')")
        let error = #expect(throws: StoreError.self) {
            while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
        }
        #expect(error?.kind == .constraint && error?.message.contains("no readable row of price would be left") == true)
        #expect(try store.rows("SELECT count(*) FROM price WHERE at IS NOT NULL") == ["1"])
    }
}
