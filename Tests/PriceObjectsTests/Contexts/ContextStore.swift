import Foundation
import GRDB
import PriceObjects
import PriceStore
import SQLiteStore

/// A SQLite file in a folder of its own, with items, prices, and shops that own shelves and lend out tools.
final class ContextStore {
    private let folder: URL
    let path: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "contexts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "store.sqlite").path
        try change(
            """
            CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0, note TEXT,
                label TEXT AS (name || '!'));
            CREATE TABLE price (time INTEGER NOT NULL, metal TEXT NOT NULL, price REAL NOT NULL);
            CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE shelf (id INTEGER PRIMARY KEY, shop INTEGER NOT NULL REFERENCES shop ON DELETE CASCADE);
            CREATE TABLE tool (id INTEGER PRIMARY KEY, shop INTEGER REFERENCES shop ON DELETE SET NULL, name TEXT);
            CREATE TABLE debt (id INTEGER PRIMARY KEY, shop INTEGER NOT NULL REFERENCES shop ON DELETE RESTRICT);
            CREATE TABLE account (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES account);
            CREATE TABLE word (word TEXT PRIMARY KEY, meaning TEXT) WITHOUT ROWID;
            """)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Another program's change.
    func change(_ statements: String) throws {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        try queue.writeWithoutTransaction { try $0.execute(sql: statements) }
    }

    /// The first column of a query, as text.
    func column(_ query: String) throws -> [String] {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        return try queue.read { try Row.fetchAll($0, sql: query) }.map { row in
            let value = row[0] as DatabaseValue
            return value.isNull ? "NULL" : "\(value.storage.value ?? "NULL")"
        }
    }

    func writer() throws -> SQLiteWriter { try SQLiteWriter(path: path) }
    func reader() throws -> SQLiteReader { try SQLiteReader(path: path) }
    func context() throws -> StoreContext { StoreContext(try writer()) }

    /// Items named `1`, `2` … with those numbers as keys.
    func addItems(_ count: Int) throws {
        try change(
            """
            WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < \(count))
            INSERT INTO item (id, name) SELECT n, CAST(n AS TEXT) FROM n;
            """)
    }
}

extension StoreContext {
    /// The item of a key.
    func item(_ key: Int64) -> ManagedObject { object(with: ObjectID(entity: "item", key: [.integer(key)])) }

    /// All rows of an entity, by key.
    func all(_ entity: String) throws -> [ManagedObject] { try fetch(StoreFetchRequest(entity: entity)) }
}

/// The kind of the error that an access to an object throws; nil: none.
func kind<T>(_ body: () throws -> T) -> ManagedObjectError.Kind? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? ManagedObjectError)?.kind
    }
}
