import PriceStore
import StoreConformance
import Testing

@testable import SQLiteStore

/// Triggers that SQLite cannot compile: what they do is not known, so nothing is planned that fires them.
struct UnreadableTriggerTests {
    private static let reason = "what the trigger new does cannot be determined"
    private static let body = "BEGIN INSERT INTO missing VALUES (1); END"

    @Test func heldRowsAreNotSureBesideNewOnes() throws {
        let store = try TemporaryStore(
            "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE held (id INTEGER PRIMARY KEY)",
            "CREATE TRIGGER new AFTER INSERT ON p \(Self.body)")
        let hold = HeldRows(name: "audit", entity: "held", rows: .all)
        let reader = try store.reader()
        #expect(try reader.obstacle(to: [hold], insertingInto: "p", replacing: false)?.reason == Self.reason)
        #expect(try reader.obstacle(to: [hold], insertingInto: "held", replacing: false) == nil)
    }

    @Test func referencesAreNotRestoredWithIt() throws {
        let archived = try ArchivedStore(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER);
            CREATE TABLE c (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t ON DELETE SET NULL);
            INSERT INTO t VALUES (1, 1), (2, 90); INSERT INTO c VALUES (1, 1);
            """)
        let before = try archived.contents()
        try archived.delete("t")
        try archived.store.change("CREATE TRIGGER new AFTER UPDATE OF t ON c \(Self.body)")
        let error = #expect(throws: StoreError.self) { try archived.undo(triggers: .fire) }
        #expect(error?.message == Self.reason + ", which the undo restores")
        try archived.undo(triggers: .skip)
        #expect(try archived.contents() == before)
    }

    @Test func rowsDoNotBecomeCandlesWithIt() throws {
        let kind = CandleDeleteTests.Kind.byDate
        let store = try kind.make(1)
        let request = kind.request()
        try store.writer().createCandles(of: request)
        #expect(try store.reader().survey(request).unsupported == nil)
        #expect(try store.reader().archiveObstacle(of: request) == nil)
        try store.change("CREATE TRIGGER new AFTER INSERT ON candle \(Self.body)")
        #expect(try store.reader().survey(request).unsupported?.contains(Self.reason) == true)
        #expect(try store.reader().archiveObstacle(of: request) == Self.reason)
    }
}
