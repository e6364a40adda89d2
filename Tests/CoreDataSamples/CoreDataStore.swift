import Foundation
import GRDB

/// Creates a SQLite file as Core Data does for a model: tables, keys, metadata and the model's archive.
///
/// The version hashes, by which Apple's framework recognises its model, cannot be computed here. The metadata have
/// bytes of the right length instead, so a program on a Mac would not accept the file.
struct CoreDataStore {
    let path: String
    let model: ModelDescription
    /// Whether the store tracks its history: then every row has a change of kind insert.
    var hasHistory = false
    /// When the rows were saved, in seconds since 2001-01-01T00:00:00Z.
    var savedAtAppleSeconds = 0.0

    /// Creates the file, in WAL journal mode and with incremental auto-vacuum. There must be no older file of that
    /// name.
    ///
    /// - Parameter fill: inserts the rows, within the one transaction. Indexes are created afterwards.
    /// - Throws: what SQLite reports or `fill` throws; then an incomplete file is left behind.
    func write(_ fill: (Database, CoreDataLayout) throws -> Void) throws {
        let layout = CoreDataLayout(model)
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { db in
            // An incomplete file is discarded after a crash, so nothing of it needs to be durable.
            try db.execute(
                sql: """
                    PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; \
                    PRAGMA cache_size = -65536
                    """)
            try db.inTransaction {
                for table in layout.tables { try db.execute(sql: table.sql) }
                for join in layout.joins { for statement in join.sql { try db.execute(sql: statement) } }
                try fill(db, layout)
                for index in layout.tables.flatMap(\.indexes) { try db.execute(sql: index) }
                try writeKeys(db, layout)
                if hasHistory { try CoreDataHistory(savedAtAppleSeconds: savedAtAppleSeconds).write(db, layout) }
                try writeDescription(db, layout)
                return .commit
            }
            try db.execute(sql: "PRAGMA journal_mode = WAL")
        }
        try queue.close()
    }

    /// The number of each entity, and the greatest key of each table.
    private func writeKeys(_ db: Database, _ layout: CoreDataLayout) throws {
        try db.execute(
            sql:
                "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)")
        for table in layout.tables {
            let greatest = try Int.fetchOne(db, sql: "SELECT max(Z_PK) FROM \(table.name.quotedDatabaseIdentifier)")
            for entity in model.family(table.root) {
                try db.execute(
                    sql: "INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, ?)",
                    arguments: [
                        layout.numbers[entity.name], entity.name, entity.parent.flatMap { layout.numbers[$0] } ?? 0,
                        entity.parent == nil ? greatest ?? 0 : 0,
                    ])
            }
        }
    }

    /// The metadata and the model.
    private func writeDescription(_ db: Database, _ layout: CoreDataLayout) throws {
        let hashes = model.entities.map { entity in
            (entity.name, PropertyListValue.data((0..<32).map { _ in UInt8.random(in: 0...255) }))
        }
        let metadata = PropertyListValue.dictionary([
            "NSPersistenceFrameworkVersion": .integer(1344), "NSStoreModelVersionHashesVersion": .integer(3),
            "NSStoreModelVersionHashes": .dictionary(Dictionary(uniqueKeysWithValues: hashes)),
            "NSStoreModelVersionIdentifiers": .array([]), "NSStoreType": .string("SQLite"),
            "_NSAutoVacuumLevel": .string("2"),
        ])
        try db.execute(
            sql: "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)")
        try db.execute(
            sql: "INSERT INTO Z_METADATA VALUES (1, ?, ?)",
            arguments: [UUID().uuidString, Data(metadata.binary)])
        try db.execute(sql: "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
        try db.execute(
            sql: "INSERT INTO Z_MODELCACHE VALUES (?)", arguments: [Data(ModelArchiveWriter.stream(model))])
    }
}
