import Foundation
import PostgresCluster
import PriceStore
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.needsPostgres)
struct OtherUsersTests {
    @Test func othersThatWorkAreNoticedAndIdleOnesAreNot() throws {
        let database = try TestDatabase("CREATE TABLE q (at timestamptz);")
        let other = try database.connection()
        let writer = try database.writer()
        try other.execute("BEGIN")
        #expect(try writer.isInUseByOthers())
        try other.execute("COMMIT")
        // Who has just ended a transaction goes on working for a second.
        #expect(try writer.isInUseByOthers())
        #expect(try eventually { try !writer.isInUseByOthers() })
    }

    @Test func withoutStandbysNothingIsWaitedFor() throws {
        let database = try TestDatabase()
        let writer = try PostgresWriter(database.address, maxReplicationLag: .milliseconds(1))
        #expect(try writer.waitReason() == nil)
    }

    @Test func onlyVacuumCleansTheTablesThatLostRows() throws {
        let database = try TestDatabase(
            "CREATE TABLE q (at timestamptz) WITH (autovacuum_enabled = off); CREATE TABLE other (at timestamptz); "
                + "INSERT INTO q SELECT '2020-01-01' FROM generate_series(1, 1000);")
        let writer = try database.writer()
        let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-01"))
        _ = try writer.execute(
            BatchDeleteRequest(
                fetchRequest: StoreFetchRequest(entity: "q", predicate: request.expired), resultType: .count)
        )
        let vacuums = "SELECT coalesce(max(vacuum_count), 0) FROM pg_stat_user_tables WHERE relname = "
        for mode in [ReclaimMode.none, .auto, .incremental] {
            #expect(try writer.reclaim(ReclaimRequest(mode: mode)).warning == nil)
        }
        let size = "SELECT pg_relation_size('q')"
        #expect(try database.run(size) != ["0"])
        #expect(try writer.reclaim(ReclaimRequest(mode: .vacuum)).warning == nil)
        // All rows were dead, so that the file is empty now.
        #expect(try database.run(size) == ["0"])
        #expect(try database.run(vacuums + "'other'") == ["0"])
    }
}
