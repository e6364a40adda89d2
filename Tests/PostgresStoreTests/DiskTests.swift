import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// Disks of the server that are full: memory disks of some megabytes, which only root can make.
@Suite(.needsPostgres, .enabled("only root can make a disk for it") { geteuid() == 0 }, .serialized)
struct DiskTests {
    private static let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-02-01T00:00:00Z"))

    private static func batch(_ rows: Int) -> DeleteWork { ExpiringRows.batch(rows, of: request) }

    private static let schema = """
        CREATE TABLE q (id int PRIMARY KEY, at timestamptz, note text); CREATE INDEX ON q (at);
        INSERT INTO q SELECT n, timestamptz '2026-01-01 00:00:00+00' + n * interval '1 minute', repeat('x', 400)
        FROM generate_series(1, 6000) n;
        """

    /// What goes is kept elsewhere by a trigger, on a disk that is too small for all of it.
    @Test func aDeleteThatFindsTheDiskFullUndoesItsBatchAndKeepsThoseBefore() throws {
        let cluster = try PostgresCluster()
        let space = try cluster.makeDisk(megabytes: 1)
        try cluster.run("CREATE TABLESPACE small LOCATION '\(space)'", database: "postgres")
        let url = try cluster.makeDatabase(
            Self.schema + """
                CREATE TABLE archive (LIKE q) TABLESPACE small;
                CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
                    $$BEGIN INSERT INTO archive SELECT OLD.*; RETURN NULL; END$$;
                CREATE TRIGGER keep AFTER DELETE ON q FOR EACH ROW EXECUTE FUNCTION keep();
                """)
        let writer = try PostgresWriter(PostgresAddress(url: url))
        var deleted = 0
        var request = Self.batch(500)
        let told = storeError {
            while true {
                let result = try writer.execute(request)
                deleted += result.deletedCount
                request.continuation = result.continuation
            }
        }
        #expect(told?.kind == .inputOutput && told?.engineCode == "SQLSTATE 53100")
        #expect(told?.hint?.contains("what was committed before stays committed") == true)
        #expect(deleted > 0 && deleted < 6000 && deleted % 500 == 0)
        #expect(try cluster.run("SELECT count(*) FROM q", url: url) == "\(6000 - deleted)")
        #expect(try cluster.run("SELECT count(*), max(id) FROM archive", url: url) == "\(deleted)|\(deleted)")
        // The session is whole: with room again the same batch goes well.
        try cluster.run("ALTER TABLE archive SET TABLESPACE pg_default", url: url)
        #expect(try writer.execute(request).deletedCount == 500)
    }

    @Test func newRowsThatFindTheDiskFullLeaveNothingBehind() throws {
        let cluster = try PostgresCluster()
        let space = try cluster.makeDisk(megabytes: 1)
        try cluster.run("CREATE TABLESPACE small LOCATION '\(space)'", database: "postgres")
        let url = try cluster.makeDatabase("CREATE TABLE q (id int, note text) TABLESPACE small;")
        let writer = try PostgresWriter(PostgresAddress(url: url))
        let rows: [[String: StoreValue]] = (0..<4000).map {
            ["id": .integer($0), "note": .text(String(repeating: "y", count: 500))]
        }
        let told = storeError { _ = try writer.insert(entity: "q", rows: rows, onConflict: .fail) }
        #expect(told?.kind == .inputOutput && told?.engineCode == "SQLSTATE 53100")
        #expect(try cluster.run("SELECT count(*) FROM q", url: url) == "0")
        // What was begun still takes all the room there.
        try cluster.run("ALTER TABLE q SET TABLESPACE pg_default", url: url)
        #expect(try writer.insert(entity: "q", rows: Array(rows.prefix(5)), onConflict: .fail) == 5)
    }

    /// Without room for its log the server itself goes down, and cannot come back by itself.
    @Test func aServerWithoutRoomForItsLogIsGoneAndTheNextRunDeletesTheRest() throws {
        let cluster = try PostgresCluster(settings: ["wal_keep_size = '500MB'"], diskMegabytes: 150)
        let url = try cluster.makeDatabase(Self.schema)
        let writer = try PostgresWriter(PostgresAddress(url: url), patience: .seconds(1))
        var deleted = try writer.execute(Self.batch(500)).deletedCount
        try cluster.run("CHECKPOINT", url: url)
        try cluster.fillDisk(leavingKilobytes: 50)
        let told = storeError {
            // Each batch is more log, and none of it may go.
            for _ in 0..<5000 { deleted += try writer.execute(Self.batch(1)).deletedCount }
        }
        #expect([.inputOutput, .unreachable].contains(told?.kind), "\(String(describing: told))")
        try cluster.fillDisk(leavingKilobytes: nil)
        var found: PostgresWriter?
        _ = try eventually {
            try cluster.start()
            found = try? PostgresWriter(PostgresAddress(url: url))
            return found != nil
        }
        let next = try #require(found)
        var rest = 0
        var request = Self.batch(500)
        while true {
            let result = try next.execute(request)
            rest += result.deletedCount
            guard let place = result.continuation else { break }
            request.continuation = place
        }
        // Batches that were not synced may be back, and go again.
        #expect(deleted + rest >= 6000)
        #expect(try cluster.run("SELECT count(*) FROM q", url: url) == "0")
    }
}
