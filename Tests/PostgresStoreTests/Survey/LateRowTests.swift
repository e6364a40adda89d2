import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// Rows that arrive late beside deleted ones, where the server's log of changes alone does not tell them.
@Suite(.needsPostgres, .needsTimescale)
struct LateRowTests {
    private func compress(_ table: String, _ database: TestDatabase) throws {
        try database.run(
            "ALTER \(table == "days" ? "MATERIALIZED VIEW" : "TABLE") \(table) SET (timescaledb.compress"
                + (table == "q"
                    ? ", timescaledb.compress_orderby = 'at', timescaledb.compress_segmentby = 'kind')" : ")"))
        try database.run("SELECT compress_chunk(c) FROM show_chunks('\(table)') c")
        try database.waitForTransactions()
    }

    struct Case: CustomTestStringConvertible, Sendable {
        var chunk = "7 days"
        var bucket = "1 day"
        var cutoff = "2026-01-17T12:00:00Z"
        var late = "2026-01-17 17:30Z"
        var next = "2026-01-18T12:00:00Z"
        /// The row is written before the refresh, and committed after it.
        var spansRefresh = false
        var compressed: [String] = []
        var testDescription: String {
            "\(chunk), \(bucket), \(cutoff), \(late), \(spansRefresh), \(compressed.joined(separator: " and "))"
        }
    }

    /// One row is missing in the aggregate; those that are beside deleted ones are not.
    @Test(arguments: [
        Case(), Case(spansRefresh: true), Case(compressed: ["q"]), Case(compressed: ["days"]),
        Case(compressed: ["q", "days"]), Case(spansRefresh: true, compressed: ["q", "days"]),
        // A bucket longer than a chunk.
        Case(chunk: "1 day", bucket: "7 days", cutoff: "2026-01-17", late: "2026-01-18 05:30Z", next: "2026-01-20"),
        Case(
            chunk: "1 day", bucket: "7 days", cutoff: "2026-01-17", late: "2026-01-18 05:30Z", next: "2026-01-20",
            compressed: ["q", "days"]),
        // The first bucket behind a dropped chunk.
        Case(cutoff: "2026-01-15", late: "2026-01-15 05:30Z", next: "2026-01-16", compressed: ["days"]),
        Case(cutoff: "2026-01-15", late: "2026-01-15 05:30Z", next: "2026-01-16", spansRefresh: true),
    ])
    func aRowThatCameLateIsRefused(_ its: Case) throws {
        let database = try TestDatabase.hours(chunk: its.chunk, bucket: its.bucket)
        for table in its.compressed { try compress(table, database) }
        let note = try database.dryAndReal(SurveyRequest.hours(before: its.cutoff)).1.note
        try database.refreshElsewhere()
        #expect(
            try database.reader().survey(SurveyRequest.hours(before: its.next, note: note)).losses.aggregates == nil)
        let insert = "INSERT INTO q (id, at, kind) VALUES (-1, '\(its.late)', 1)"
        if its.spansRefresh {
            let other = try PostgresWriter(database.address)
            try other.transaction(.normal) {
                try other.execute(SQLFragment(insert))
                try database.refreshElsewhere()
            }
        } else {
            try database.run(insert)
        }
        for _ in 1...2 {
            let survey = try database.reader().survey(SurveyRequest.hours(before: its.next, note: note))
            #expect(survey.losses.aggregates?.hasPrefix("1 of \(survey.expiredCount)") == true)
            try database.refreshElsewhere()
        }
    }

    /// The rows that the server moves when the job deletes from a compressed chunk are not late, even if a transaction from
    /// before the first of its runs is still open.
    @Test(arguments: [false, true]) func rowsMovedByTheJobAreNotLate(besideAnOpenTransaction: Bool) throws {
        let database = try TestDatabase.hours()
        try compress("q", database)
        let other = try PostgresWriter(database.address)
        if besideAnOpenTransaction {
            try other.execute("BEGIN")
            try other.execute("SELECT pg_current_xact_id()")
        }
        var note: String?
        for day in 17...25 {
            let request = SurveyRequest.hours(before: "2026-01-\(day)T12:00:00Z", note: note)
            let (survey, execution) = try database.dryAndReal(request)
            #expect(survey.losses.aggregates == nil)
            note = execution.note ?? note
            try database.refreshElsewhere()
        }
        #expect(try database.run("SELECT sum(count) FROM days") == ["1440"])
    }

    /// Within one run: the log of its first batches reaches over later ones.
    @Test(arguments: [false, true]) func aRowThatArrivesDuringTheRunStays(isCompressed: Bool) throws {
        let database = try TestDatabase.hours(chunk: "1 day", bucket: "30 days")
        if isCompressed { try compress("days", database) }
        let writer = try database.writer()
        let request = SurveyRequest.hours(before: "2026-02-10T12:00:00Z")
        let deletion = try writer.deletion(of: request)
        _ = try deletion.deleteNext(DeletionBounds(rows: 20))
        try database.run("INSERT INTO q (id, at, kind) VALUES (-1, '2026-02-10 05:30Z', 1)")
        try database.refreshElsewhere()
        let error = storeError {
            while try deletion.deleteNext(DeletionBounds(rows: 20)).hasMore {}
        }
        #expect(error?.message.contains("1 of the rows to delete from q changed after the plan") == true)
        #expect(try database.run("SELECT count(*) FROM q WHERE id = -1") == ["1"])
    }

    /// What was missing before stays missing, and an aggregate that is newer than the note has nothing.
    @Test func whatANoteDoesNotKnowIsRefused() throws {
        let database = try TestDatabase.hours()
        let note = try #require(try database.dryAndReal(SurveyRequest.hours(before: "2026-01-17T12:00:00Z")).1.note)
        try database.run(
            "CREATE MATERIALIZED VIEW more WITH (timescaledb.continuous) AS SELECT time_bucket('1 day', at) AS at, "
                + "min(kind) FROM q GROUP BY 1 WITH NO DATA")
        let survey = try database.reader().survey(SurveyRequest.hours(before: "2026-01-18T12:00:00Z", note: note))
        #expect(
            survey.losses.aggregates?.hasPrefix(
                "24 of 24 expired rows are not materialized in the continuous aggregate more") == true)
        try database.run("DROP MATERIALIZED VIEW more")
        // A damaged note is none; so is that of another server, which is ahead of this one.
        try database.refreshElsewhere()
        let state = try #require(RollupMemory(note)?.state)
        let rest = note.drop { $0 != " " }
        let others = [
            ServerState(database: "1/2", timeline: state.timeline, oldest: state.oldest, next: state.next),
            ServerState(database: state.database, timeline: "0000000F", oldest: state.oldest, next: state.next),
            ServerState(database: state.database, timeline: state.timeline, oldest: state.oldest, next: 99_999_999_999),
        ].map { $0.text + rest }
        for other in ["", "1:2", "1:2:x:4  ", note.replacing("=", with: "-")] + others {
            let survey = try database.reader().survey(SurveyRequest.hours(before: "2026-01-18T12:00:00Z", note: other))
            #expect(survey.losses.aggregates?.hasPrefix("12 of 24") == true, "\(other)")
        }
    }

    /// A late row that was refused, and then materialized, is no obstacle to the nights that follow.
    @Test func aRefusalEndsWithTheRefresh() throws {
        let database = try TestDatabase.hours()
        var note = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-15")).1.note
        try database.run(
            "INSERT INTO q (id, at, kind) VALUES (-1, '2026-01-15 05:30Z', 1), (-2, '2026-01-20 05:30Z', 1)")
        try database.refreshElsewhere()
        let obstacle = try #require(
            try database.reader().survey(SurveyRequest.hours(before: "2026-01-16", note: note)).losses.aggregates)
        let call = try #require(obstacle.firstRange(of: "CALL"))
        try database.run(String(obstacle[call.lowerBound...]))
        for day in 16...20 {
            note = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-\(day)", note: note)).1.note
            try database.refreshElsewhere()
        }
        #expect(
            try database.reader().survey(SurveyRequest.hours(before: "2026-01-21", note: note)).losses.aggregates?
                .hasPrefix("1 of 25")
                == true)
        try database.run("CALL refresh_continuous_aggregate('days', '2026-01-20', '2026-01-21')")
        _ = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-21", note: note))
        #expect(try database.run("SELECT sum(count) FROM days") == ["1442"])
    }

    /// A row of a savepoint shows another number than the transaction, which the server's list of open ones does not have.
    @Test func aRowOfASavepointIsLate() throws {
        let database = try TestDatabase.hours()
        let other = try PostgresWriter(database.address)
        var note: String?
        try other.transaction(.normal) {
            _ = try other.transaction(.normal) {
                try other.execute("INSERT INTO q (id, at) VALUES (-1, '2026-01-17 17:30Z')")
            }
            try database.run("CREATE TABLE unrelated (id int)")
            note = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-17T12:00:00Z")).1.note
        }
        let next = SurveyRequest.hours(before: "2026-01-18T12:00:00Z", note: note)
        #expect(try database.reader().survey(next).losses.aggregates?.hasPrefix("1 of 25") == true)
    }

    /// Deletes all rows by what was planned before `change`.
    private func afterThePlan(
        _ request: SurveyRequest, of database: TestDatabase, _ change: String...
    ) throws -> (error: StoreError?, note: String?) {
        let writer = try database.writer()
        #expect(try writer.survey(request).losses.aggregates == nil)
        for statement in change { try database.run(statement) }
        var note: String?
        let error = storeError {
            let deletion = try writer.deletion(of: request)
            while case let part = try deletion.deleteNext(DeletionBounds(rows: 200)), part.hasMore { note = part.note }
        }
        return (error, note)
    }

    @Test(arguments: [BatchDeleteRequest.RelationshipRule.cascade, .nullify])
    func aRowThatArrivesAfterThePlanStaysWhereRowsReferToIt(rule: BatchDeleteRequest.RelationshipRule) throws {
        let database = try TestDatabase.hours()
        try database.run("ALTER TABLE q ADD UNIQUE (id, at)")
        try database.run(
            "CREATE TABLE child (id int PRIMARY KEY, q int, at timestamptz, FOREIGN KEY (q, at) REFERENCES q (id, at))")
        var request = SurveyRequest.hours(before: "2026-01-17T12:00:00Z")
        request.relationships = rule
        let (error, _) = try afterThePlan(
            request, of: database, "INSERT INTO q (id, at) VALUES (-1, '2026-01-15 17:30Z')")
        #expect(error?.message.contains("changed after the plan") == true)
        #expect(try database.run("SELECT count(*) FROM q WHERE id = -1") == ["1"])
    }

    @Test(arguments: ["2026-01-15", "2026-01-17T12:00:00Z"]) func anAggregateThatIsCreatedAfterThePlanIsFilled(
        cutoff: String
    ) throws {
        let database = try TestDatabase.hours()
        try database.run("DROP MATERIALIZED VIEW days")
        let (error, _) = try afterThePlan(
            SurveyRequest.hours(before: cutoff), of: database,
            "CREATE MATERIALIZED VIEW days WITH (timescaledb.continuous) AS SELECT time_bucket('1 day', at) AS at, count(*) "
                + "FROM q GROUP BY 1 WITH NO DATA")
        #expect(error?.message.contains("changed after the plan") == true)
        #expect(try database.run("SELECT count(*) FROM q") == ["1440"])
    }

    /// A delete from a compressed chunk would move the row in a transaction of the job.
    @Test func aRowThatIsCompressedDuringTheRunIsLate() throws {
        let database = try TestDatabase.hours()
        try compress("q", database)
        let (error, note) = try afterThePlan(
            SurveyRequest.hours(before: "2026-01-17T12:00:00Z"), of: database,
            "INSERT INTO q (id, at, kind) VALUES (-1, '2026-01-20 05:30Z', 1)",
            "SELECT compress_chunk(c) FROM show_chunks('q') c")
        #expect(error == nil && note != nil)
        let next = SurveyRequest.hours(before: "2026-01-21T12:00:00Z", note: note)
        #expect(try database.reader().survey(next).losses.aggregates != nil)
    }

    /// What a trigger writes in a transaction of the job is in no aggregate.
    @Test func rowsThatATriggerWritesAreLate() throws {
        let database = try TestDatabase.hours()
        try database.run("CREATE TABLE old (id int, at timestamptz NOT NULL, kind int)")
        try database.run("SELECT create_hypertable('old', by_range('at', interval '7 days'))")
        try database.run("INSERT INTO old SELECT id, at, kind FROM q WHERE at < '2026-01-15Z'")
        try compress("old", database)
        try database.run(
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO q (id, at) VALUES (-1, OLD.at); "
                + "RETURN NULL; END $$")
        try database.run("CREATE TRIGGER t AFTER DELETE ON old FOR EACH ROW EXECUTE FUNCTION f()")
        let writer = try database.writer()
        let request = SurveyRequest.hours(before: "2026-01-16")
        #expect(try writer.survey(request).losses.aggregates == nil)
        var first = request
        first.entity = "old"
        _ = try Laws.carryOut(first, batchRows: 1000, on: writer)
        #expect(try database.run("SELECT count(*) FROM q WHERE id = -1") == ["336"])
        let error = storeError { _ = try Laws.carryOut(request, batchRows: 1000, on: writer) }
        #expect(error?.message.contains("changed after the plan") == true)
    }

    /// The call that the refusal gives covers a day of 25 hours, and the last day of October.
    @Test(arguments: [("1 day", "2025-10-26 22:30Z"), ("1 month", "2025-10-31 22:30Z")])
    func theCallCoversABucketOfAZone(bucket: String, late: String) throws {
        let database = try TestDatabase.hours()
        try database.run(
            "CREATE MATERIALIZED VIEW local WITH (timescaledb.continuous) AS SELECT time_bucket('\(bucket)', at, 'Europe/Berlin') "
                + "AS at, count(*) FROM q GROUP BY 1 WITH NO DATA")
        for view in ["days", "local"] {
            try database.run("CALL refresh_continuous_aggregate('\(view)', NULL, '2026-03-01')")
        }
        try database.run("INSERT INTO q (id, at) VALUES (-1, '\(late)')")
        try database.run("CALL refresh_continuous_aggregate('days', NULL, NULL)")
        let request = SurveyRequest.hours(before: "2026-01-02")
        let obstacle = try #require(try database.reader().survey(request).losses.aggregates)
        try database.run(String(obstacle[try #require(obstacle.firstRange(of: "CALL")).lowerBound...]))
        #expect(try database.reader().survey(request).losses.aggregates == nil)
    }

    /// Rows between late ones are not late, unless there are too many of these.
    @Test(arguments: [(2, "2 of 26"), (200, "216 of 224")]) func rowsBetweenLateOnesAreNotLate(
        count: Int, words: String
    ) throws {
        let database = try TestDatabase.hours()
        let note = try database.dryAndReal(SurveyRequest.hours(before: "2026-01-17T12:00:00Z")).1.note
        try database.run(
            "INSERT INTO q (id, at, kind) SELECT -n, timestamptz '2026-01-17 17:30Z' + n * interval '16 hours' / \(count), 1 "
                + "FROM generate_series(0, \(count - 1)) n")
        try database.refreshElsewhere()
        let next = SurveyRequest.hours(before: "2026-01-18T12:00:00Z", note: note)
        let obstacle = try database.reader().survey(next).losses.aggregates
        #expect(obstacle?.hasPrefix(words) == true, "\(obstacle ?? "")")
        // Deleted by hand, they are no obstacle to rows of other dates.
        guard count == 2 else { return }
        try database.run("DELETE FROM q WHERE id <= 0 AND at > '2026-01-17 17:00Z'")
        #expect(try database.reader().survey(next).losses.aggregates == nil)
    }

    /// One statement cannot have more than 65,535 values.
    @Test(arguments: ["timestamptz", "timestamp", "date", "bigint"]) func manyChangesAreRead(type: String) throws {
        let isNumber = type == "bigint"
        let database = try isNumber ? TestDatabase.numbers() : TestDatabase.hours(type: type)
        let note = isNumber ? nil : try database.dryAndReal(SurveyRequest.hours(before: "2026-01-10")).1.note
        // Two values apart, so that they are as many ranges; in January, and behind all rows.
        let start = isNumber ? 1_700_001_000 : Int64(1_768_435_200_000_000)
        try database.run(
            """
            INSERT INTO _timescaledb_catalog.continuous_aggs_hypertable_invalidation_log SELECT id, x, x
            FROM _timescaledb_catalog.hypertable, generate_series(\(start), \(start + 99_998), 2) x WHERE table_name = 'q'
            """)
        var request = SurveyRequest.hours(before: "2026-01-17", note: note)
        if isNumber {
            request.date = .of("at", .unixSeconds)
            request.cutoff = Instant(unixSeconds: 1_700_001_500)
        }
        let survey = try database.reader().survey(request)
        // A row that was visible when the note was made is not missing.
        let missing = isNumber ? "250 of 1500" : nil
        #expect(survey.losses.aggregates.map { String($0.prefix(missing?.count ?? 0)) } == missing)
        request.deleting.note = nil
        let all = isNumber ? "250 of 1500" : type == "date" ? "24 of 168" : "1 of 168"
        #expect(try database.reader().survey(request).losses.aggregates?.hasPrefix(all) == true)
    }
}

struct RollupMemoryTests {
    private func ranges(_ pairs: (Int64, Int64)...) -> [TimeRange] { pairs.map { TimeRange(low: $0.0, high: $0.1) } }

    @Test func rangesAreMergedAndCut() {
        let all = ranges((0, 9), (20, 29), (30, 39)).merged
        #expect(all == ranges((0, 9), (20, 39)))
        #expect(ranges((5, 5), (.min, 2), (3, 4)).merged == ranges((.min, 5)))
        #expect(ranges((7, .max), (3, 9)).merged == ranges((3, .max)))
        #expect(all.common(with: ranges((5, 24), (39, .max))) == ranges((5, 9), (20, 24), (39, 39)))
        #expect(all.without(ranges((5, 24), (39, .max))) == ranges((0, 4), (25, 38)))
        #expect(all.without(ranges((.min, .max))).isEmpty && all.without([]) == all)
        #expect(ranges((.min, .max)).without(ranges((0, 9))) == ranges((.min, -1), (10, .max)))
    }

    private let state = ServerState(
        database: "7/16384", timeline: "00000001", oldest: 8_589_934_597, next: 8_589_934_600)

    @Test func theLineIsReadBack() throws {
        var memory = RollupMemory(state)
        #expect(RollupMemory(memory.text) == memory)
        memory.ownXIDs = ["8", "9"]
        memory.missing = [3: [], 5: ranges((.min, -5), (10, .max))]
        #expect(RollupMemory(memory.text) == memory)
        memory.missing[5] = (0..<1000).map { TimeRange(low: $0 * 10, high: $0 * 10 + 5) }
        let read = try #require(RollupMemory(memory.text)?.missing[5])
        #expect(read.count == 500 && read.last == TimeRange(low: 4990, high: 9995))
    }

    @Test func ownTransactionsAreCarriedOnWhileRowsCanBeComparedWithThem() {
        var former = RollupMemory(state)
        // The state's numbers as rows show them: 5 and 8.
        former.ownXIDs = ["4", "5", "9"]
        #expect(RollupMemory(state, after: former).ownXIDs == ["5", "9"])
        let later = ServerState(database: state.database, timeline: state.timeline, oldest: state.next, next: 1 << 40)
        #expect(RollupMemory(later, after: former).ownXIDs == ["9"])
        former.ownXIDs = ["4294967295", "1"]
        let wrapped = ServerState(database: "", timeline: "", oldest: (3 << 32) - 3, next: 3 << 32)
        #expect(RollupMemory(wrapped, after: former).ownXIDs == ["4294967295", "1"])
    }

    @Test func aStateIsComparedWithLaterOnesOfItsServer() {
        func later(_ database: String? = nil, _ timeline: String = "00000001", by numbers: Int64 = 0) -> ServerState {
            ServerState(
                database: database ?? state.database, timeline: timeline, oldest: 1,
                next: UInt64(Int64(state.next) + numbers))
        }
        #expect(state.isComparable(at: later()) && state.isComparable(at: later(by: 1 << 30)))
        #expect(state.isComparable(at: later(nil, "")))
        #expect(!state.isComparable(at: later(by: -1)) && !state.isComparable(at: later(by: 1 << 31)))
        #expect(!state.isComparable(at: later(nil, "00000002")) && !state.isComparable(at: later("7/16385")))
    }
}
