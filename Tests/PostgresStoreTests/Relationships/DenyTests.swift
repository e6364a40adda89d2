import Foundation
@preconcurrency import Glibc
import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// `relationships: deny` while another session writes: rows that come to refer to expired ones after the survey are found in the
/// transaction of each batch.
@Suite(.needsPostgres)
struct DenyTests {
    static let actions = ["ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE SET DEFAULT", "", "ON DELETE RESTRICT"]

    /// Rows 1 to 6 are expired, 7 to 9 are not.
    private static func family(_ action: String, _ more: String = "") throws -> TestDatabase {
        try TestDatabase(
            """
            CREATE TABLE p (id int PRIMARY KEY, at timestamptz);
            CREATE INDEX ON p (at);
            CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p \(action));
            INSERT INTO p SELECT n, timestamptz '2026-01-01' + n * interval '1 hour' FROM generate_series(1, 6) n;
            INSERT INTO p SELECT n, timestamptz '2026-06-01' + n * interval '1 hour' FROM generate_series(7, 9) n;
            INSERT INTO c VALUES (1, 7);
            \(more)
            """)
    }

    private static let request = SurveyRequest(
        entity: "p", date: .of("at"), cutoff: at("2026-03-10"), relationships: .deny)

    @Test(arguments: actions, ["range", "windows", "whole"])
    func childrenThatArriveDuringTheRunStay(_ action: String, _ method: String) throws {
        let database = try Self.family(action)
        let writer = try database.writer()
        var request = Self.request
        request.deleting.method = method
        #expect(try writer.survey(request).related.obstacles.isEmpty)
        let deletion = try writer.deletion(of: request)
        let rows = method == "whole" ? nil : 2
        if rows != nil { #expect(try deletion.deleteNext(DeletionBounds(rows: 2)).result.deletedCount == 2) }
        try database.run("INSERT INTO c VALUES (2, 4), (3, 4)")
        let error = storeError { while try deletion.deleteNext(DeletionBounds(rows: rows)).hasMore {} }
        #expect(error?.kind == .constraint, "\(error as Any)")
        if method == "whole" || action.contains("CASCADE") || action.contains("NULL") {
            #expect(
                error?.message
                    == "rows of p that would be deleted are referenced by 2 rows of c (p), and deny does not allow that"
            )
        }
        #expect(try database.run("SELECT id FROM p WHERE id IN (3, 4)") == ["3", "4"])
        #expect(try database.run("SELECT id, p FROM c ORDER BY id") == ["1|7", "2|4", "3|4"])
        try database.run("DELETE FROM c WHERE id > 1")
        _ = try deletion.remainingCount(besides: [])
        while try deletion.deleteNext(DeletionBounds(rows: rows)).hasMore {}
        #expect(try database.run("SELECT count(*) FROM p") == ["3"])
    }

    /// A child whose session commits while the batch waits for it.
    @Test(arguments: ["range", "whole"]) func aChildThatArrivesDuringABatchStays(_ method: String) throws {
        let database = try Self.family("ON DELETE CASCADE")
        try database.run("CREATE TABLE told (n int)")
        let other = database
        let (began, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread {
            defer { ended.signal() }
            guard let adding = try? other.connection() else { return }
            _ = try? adding.execute(script: ["BEGIN", "INSERT INTO c VALUES (2, 4)"])
            began.signal()
            if other.hasWaiter() { _ = try? other.run("INSERT INTO told VALUES (1)") }
            _ = try? adding.execute(script: ["COMMIT"])
        }.start()
        began.wait()
        var request = Self.request
        request.deleting.method = method
        let error = storeError {
            _ = try Laws.carryOut(request, batchRows: method == "whole" ? nil : 100, on: database.writer())
        }
        ended.wait()
        #expect(try database.run("SELECT count(*) FROM told") == ["1"])
        #expect(error?.kind == .constraint && error?.message.contains("1 row of c (p)") == true, "\(error as Any)")
        #expect(try database.run("SELECT (SELECT count(*) FROM p), (SELECT count(*) FROM c)") == ["9|2"])
    }

    /// Expired rows may refer to each other; a row that arrives and is not expired stays.
    @Test(arguments: ["ON DELETE CASCADE", "ON DELETE SET NULL"], [false, true])
    func rowsOfTheRuleMayReferToEachOther(_ own: String, _ isSavedPlan: Bool) throws {
        let database = try Self.family(
            "ON DELETE CASCADE",
            "ALTER TABLE p ADD up int REFERENCES p \(own); UPDATE p SET up = id - 1 WHERE id BETWEEN 2 AND 6;")
        let writer = try database.writer()
        let survey = try writer.findings(Self.request)
        #expect(survey.method == .whole && survey.related.obstacles.isEmpty && survey.expiredCount == 6)
        let deletion = try writer.deletion(of: Self.request)
        func next() throws {
            guard isSavedPlan else { return _ = try deletion.deleteNext(DeletionBounds()) }
            for end in 2...7 {
                let only = StorePredicate.compare("id", .less, .integer(Int64(end)))
                _ = try deletion.deleteNext(DeletionBounds(rows: 1, only: only))
            }
        }
        try database.run("UPDATE p SET up = 6 WHERE id = 8")
        let error = storeError { try next() }
        #expect(error?.kind == .constraint && error?.message.contains("1 row of p (up)") == true, "\(error as Any)")
        #expect(try database.run("SELECT id, up FROM p WHERE id > 6 ORDER BY id") == ["7|", "8|6", "9|"])
        try database.run("UPDATE p SET up = 9 WHERE id = 8")
        try next()
        #expect(try database.run("SELECT count(*) FROM p") == ["3"])
    }

    /// What a trigger changes is no row that refers to a deleted one.
    @Test func aTriggerMayChangeOtherRows() throws {
        let database = try Self.family(
            "ON DELETE SET NULL",
            """
            CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE c SET id = id + 1; RETURN NULL; END';
            CREATE TRIGGER touch AFTER DELETE ON p FOR EACH STATEMENT EXECUTE FUNCTION touch();
            """)
        let writer = try database.writer()
        #expect(try writer.findings(Self.request).method == .whole)
        let execution = try Laws.carryOut(Self.request, batchRows: nil, on: writer)
        #expect(execution.total.deletedCount == 6)
        #expect(try database.run("SELECT p FROM c") == ["7"])
    }

    /// The rows that an earlier rule deletes, or the rule itself, would make others meet the condition.
    @Test func aChoiceThatARelationshipChangesIsRefused() throws {
        let database = try Self.family(
            "", "ALTER TABLE p ADD up int REFERENCES p ON DELETE SET NULL; UPDATE p SET up = 1 WHERE id = 2;")
        var request = SurveyRequest(entity: "p", date: .of("at"), cutoff: at("2026-03-10"), filter: .isNull("up"))
        let reason = try database.reader().survey(request).unsupported
        #expect(reason != nil)
        request.preceding = [BatchDeleteRequest(request)]
        #expect(try database.reader().survey(request).remedy == Survey.aloneRemedy)
        try database.run("UPDATE p SET up = NULL")
        #expect(try database.reader().survey(request).unsupported == nil)
    }

    @Test func aServerThatDoesNotCountRefusesTheRule() throws {
        let database = try Self.family("ON DELETE CASCADE")
        try database.run(
            "ALTER DATABASE \(database.run("SELECT quote_ident(current_database())")[0]) SET track_counts = off")
        let reason = try database.reader().survey(Self.request).unsupported
        #expect(reason?.contains("track_counts is off") == true, "\(reason ?? "-")")
    }
}
