import PostgresCluster
import PriceStore
import StoreConformance
import Testing

@testable import PostgresStore

/// What no batch can do is refused, whoever asks for it.
@Suite(.needsPostgres)
struct RefusedDeleteTests {
    @Test func whatABatchCannotDoIsRefused() throws {
        let database = try TestDatabase(
            ExpiringRows.schema
                + """
                CREATE TABLE child (q int REFERENCES q); INSERT INTO child VALUES (1);
                CREATE TABLE p (id int, at timestamptz); CREATE TABLE kid () INHERITS (p);
                CREATE TABLE m (id int, at timestamptz) PARTITION BY RANGE (at); CREATE TABLE m_1 PARTITION OF m DEFAULT;
                CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                CREATE TRIGGER f BEFORE DELETE ON m FOR EACH STATEMENT EXECUTE FUNCTION f();
                """)
        let rollup = Rollup(
            target: "q", buckets: CandleBuckets(.unit(.day), zone: .utc), groupedBy: [],
            source: .prices("id", volume: nil), names: CandleNames(), date: .of("at"))
        let cases: [(String, (inout DeleteWork) -> Void)] = [
            ("reports counts, not IDs, and has no offset", { $0.fetchRequest.fetchOffset = 1 }),
            ("cannot be read in the order of their date", { $0.fetchRequest.predicate = .all }),
            ("are not deleted by the method windows", { ($0.method, $0.rollup) = (.windows, rollup) }),
            ("are not deleted by the method partitions", { ($0.method, $0.rollup) = (.partitions, rollup) }),
            ("no archive was started", { $0.archiveRule = "r" }),
            ("in the order of its rows' places", { ($0.method, $0.fetchRequest.entity) = (.windows, "p") }),
            ("partition by partition: the trigger f", { ($0.method, $0.fetchRequest.entity) = (.windows, "m") }),
            ("`relationships: cascade` is carried out in one statement", { $0.relationships = .cascade }),
            (
                "become candles only if no other rows refer to them",
                { ($0.method, $0.relationships, $0.rollup) = (.whole, .cascade, rollup) }
            ),
        ]
        for (reason, change) in cases {
            var work = ExpiringRows.batch()
            change(&work)
            let told = storeError { _ = try database.writer().execute(work) }
            #expect(told?.kind == .unsupported && told?.message.contains(reason) == true, "\(reason): \(told as Any)")
        }
        var denied = ExpiringRows.batch(nil).request
        denied.relationships = .deny
        let told = storeError { _ = try database.writer().execute(denied) }
        #expect(told?.kind == .constraint && told?.message.contains("1 row of child (q)") == true, "\(told as Any)")
        #expect(try database.writer().execute(BatchDeleteRequest(objectIDs: [])).deletedCount == 0)
        #expect(try database.run("SELECT count(*) FROM q") == ["500"])
    }
}
