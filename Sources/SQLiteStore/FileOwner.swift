import GRDB
import PriceStore

/// A program that owns a file: the file carries the program's application ID and contains only its tables.
///
/// So the program never writes to a table of the same name in someone else's database, and no trigger or view in the file can change what
/// it writes.
package struct FileOwner: Hashable, Sendable {
    /// The ID in the file's header. Source: sqlite.org/pragma.html#pragma_application_id.
    package let applicationID: Int32
    /// The exact names of the only tables that the file may contain, or nil if its contents are not checked.
    package let tables: Set<String>?
    /// What messages call the file: `ledger of retention`.
    package let title: String

    /// Makes an owner.
    package init(applicationID: Int32, tables: Set<String>?, title: String) {
        self.applicationID = applicationID
        self.tables = tables
        self.title = title
    }
}

extension SQLiteFile {
    /// Throws unless the file belongs to the owner or is empty. Writes nothing.
    ///
    /// - Returns: whether the file is empty.
    @discardableResult
    func check(_ owner: FileOwner) throws(StoreError) -> Bool {
        try run("checking which program the file belongs to") { db in
            try snapshot(db) {
                let isEmpty = try Int64.fetchOne(db, sql: "PRAGMA main.page_count") == 0
                if !isEmpty { try check(owner, db) }
                return isEmpty
            }
        }
    }

    /// Marks an empty file as the owner's. Throws if the file belongs to another program.
    func claim(for owner: FileOwner) throws(StoreError) {
        guard try check(owner) else { return }
        do {
            try transaction(.normal) {
                try run("creating the file") { db in
                    // Another process may have created the file meanwhile. The first change gives an empty file a page.
                    if try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema") == 0,
                        try Int32.fetchOne(db, sql: "PRAGMA main.application_id") == 0
                    {
                        try db.execute(sql: "PRAGMA main.application_id = \(owner.applicationID)")
                    }
                    try check(owner, db)
                }
            }
        } catch {
            throw StoreError(error, store: name, doing: "creating the file")
        }
    }

    /// Throws unless the file carries the owner's ID and contains only its tables.
    private func check(_ owner: FileOwner, _ db: Database) throws {
        let applicationID = try Int32.fetchOne(db, sql: "PRAGMA main.application_id")
        let entries = try Row.fetchAll(
            db, sql: "SELECT type, name, coalesce(rootpage, 0) > 0 FROM main.sqlite_schema ORDER BY rowid")
        guard applicationID == owner.applicationID else {
            throw failure(
                .inputOutput, "the file is a database of another program, not a \(owner.title)",
                hint: "nothing was written to it; name a path without a file, and the file is created")
        }
        guard let tables = owner.tables else { return }
        for entry in entries {
            let (type, entryName): (String, String) = (entry[0], entry[1])
            // SQLite reserves these names for its own tables and indexes. A virtual table has no page.
            let isInternal = entryName.folded.hasPrefix("sqlite_") && ["table", "index"].contains(type)
            let isOwn = type == "table" && tables.contains(entryName) && entry[2]
            guard isInternal || isOwn else {
                throw failure(
                    .inputOutput,
                    "the \(owner.title) holds \(type == "index" ? "an index" : "a \(type)") that does not belong to it: "
                        + entryName,
                    hint: "find out who added it and why before you remove it; move the file away to start a new one")
            }
        }
    }
}
