import Foundation
import PostgresCluster
import PriceStore
import TestSupport
import Testing

@testable import PostgresStore

/// A primary and a standby that follows it.
@Suite(.needsPostgres, .serialized)
struct StandbyTests {
    private let primary: PostgresCluster
    private let standby: PostgresCluster
    private let url: String

    init() throws {
        primary = try PostgresCluster()
        url = try primary.makeDatabase(ExpiringRows.schema)
        standby = try PostgresCluster(standbyOf: primary)
    }

    private var name: String { PostgresCluster.database(of: url) }

    /// Whether the standby has replayed all that was committed until now, synced or not.
    private func hasReplayed() throws -> Bool {
        // A message is synced, and what was written before it with it.
        let end =
            try primary.run(
                "SELECT NULL FROM pg_logical_emit_message(TRUE, 'retention', 'end'); SELECT pg_current_wal_insert_lsn()",
                url: url
            ).split(separator: "\n").last ?? ""
        return try eventually {
            try primary.run("SELECT replay_lsn >= '\(end)' FROM pg_stat_replication", url: url) == "t"
        }
    }

    @Test func batchesWaitForAStandbyThatIsBehindUntilItHasCaughtUp() throws {
        #expect(try hasReplayed())
        let writer = try PostgresWriter(PostgresAddress(url: url), maxReplicationLag: .milliseconds(100))
        #expect(try writer.waitReason() == nil)
        // It goes on receiving what is written, and answers, but replays nothing.
        try standby.run("SELECT pg_wal_replay_pause()", database: name)
        #expect(
            try eventually {
                try standby.run("SELECT pg_get_wal_replay_pause_state()", database: name) == "paused"
            })
        #expect(try writer.execute(ExpiringRows.batch()).deletedCount == 50)
        #expect(try eventually { try writer.waitReason() == "a standby behind max_replication_lag" })
        try standby.run("SELECT pg_wal_replay_resume()", database: name)
        #expect(try eventually { try writer.waitReason() == nil })
        #expect(try writer.execute(ExpiringRows.batch()).deletedCount == 50)
        #expect(try hasReplayed())
        #expect(try standby.run("SELECT count(*) FROM q", database: name) == "400")
    }

    @Test func withoutALimitNoStandbyIsWaitedFor() throws {
        let writer = try PostgresWriter(PostgresAddress(url: url))
        try standby.run("SELECT pg_wal_replay_pause()", database: name)
        #expect(try writer.execute(ExpiringRows.batch()).deletedCount == 50)
        #expect(
            try eventually {
                try primary.run("SELECT replay_lag > interval '100 ms' FROM pg_stat_replication", url: url) == "t"
            })
        #expect(try writer.waitReason() == nil)
    }

    @Test func aStandbyIsReadAndRefusedForARun() throws {
        #expect(try hasReplayed())
        let address = PostgresAddress(url: standby.url(database: name))
        #expect(try PostgresReader(address).survey(ExpiringRows.request).expiredCount == 299)
        let told = storeError { _ = try PostgresWriter(address) }
        #expect(told?.kind == .permission && told?.engineCode == "SQLSTATE 25006")
        #expect(told?.message.contains("refusing to run: the server is a standby") == true)
    }

    @Test func aRunGoesOnWithTheStandbyThatTookOverIfItsAddressNamesBoth() throws {
        let both =
            "postgresql://retention@/\(name)?host=\(primary.socketFolder),\(standby.socketFolder)&target_session_attrs=read-write"
        let writer = try PostgresWriter(PostgresAddress(url: both))
        try writer.takeRunLock()
        var request = ExpiringRows.batch()
        let first = try writer.execute(request)
        #expect(first.deletedCount == 50)
        #expect(try hasReplayed())
        try primary.stop()
        try standby.promote()
        request.continuation = first.continuation
        var deleted = 50
        for _ in 0..<20 {
            let result = try writer.execute(request)
            deleted += result.deletedCount
            guard let next = result.continuation else { break }
            request.continuation = next
        }
        #expect(deleted == 299)
        #expect(try standby.run("SELECT count(*), min(id) FROM q", database: name) == "201|300")
        #expect(try PostgresReader(PostgresAddress(url: both)).isRunLockHeld())
    }
}

struct StandbyDelayTests {
    /// A standby that stands still is behind since what it lacks was first seen, however long it has been idle before.
    @Test func theDelayIsCountedFromTheFirstPlaceThatIsNotReplayed() {
        let start = ContinuousClock.now
        var delay = StandbyDelay()
        func after(_ seconds: Int, written: Int, replayed: Int) -> Duration {
            delay.delay(at: start + .seconds(seconds), written: written, replayed: replayed)
        }
        #expect(after(0, written: 10, replayed: 10) == .zero)
        #expect(after(100, written: 20, replayed: 10) == .zero)
        #expect(after(103, written: 20, replayed: 10) == .seconds(3))
        #expect(after(104, written: 30, replayed: 10) == .seconds(4))
        // It has replayed the mark, and 30 is the next one.
        #expect(after(105, written: 30, replayed: 20) == .zero)
        #expect(after(106, written: 40, replayed: 25) == .seconds(1))
        #expect(after(107, written: 40, replayed: 40) == .zero)
        #expect(after(9000, written: 50, replayed: 40) == .zero)
    }
}
