import GRDB
import PriceStore

/// A file that one program has to itself: it carries an application id and holds that program's tables alone.
///
/// A table of the same name in someone else's database is then never written, and nothing in the file can change what
/// is written into it: no trigger, no view.
package struct FileOwner: Hashable, Sendable {
    /// The id in the file's header. Source: sqlite.org/pragma.html#pragma_application_id.
    package let applicationID: Int32
    /// The only tables that the file may hold, by their exact names; nil: what it holds is not checked.
    package let tables: Set<String>?
    /// What the file is, for messages: `ledger of retention`.
    package let title: String

    /// Makes an owner.
    package init(applicationID: Int32, tables: Set<String>?, title: String) {
        self.applicationID = applicationID
        self.tables = tables
        self.title = title
    }
}

extension SQLiteFileConnection {
    /// Throws unless the file is the owner's or empty; nothing is written.
    ///
    /// - Returns: whether it is empty.
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

    /// Gives an empty file to the owner, and throws if the file is another's.
    func claim(for owner: FileOwner) throws(StoreError) {
        guard try check(owner) else { return }
        do {
            try transaction(.normal) {
                try run("making the file") { db in
                    // Another process may have made it meanwhile; the first change gives an empty file a page.
                    if try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema") == 0,
                        try Int32.fetchOne(db, sql: "PRAGMA main.application_id") == 0
                    {
                        try db.execute(sql: "PRAGMA main.application_id = \(owner.applicationID)")
                    }
                    try check(owner, db)
                }
            }
        } catch {
            throw StoreError(error, store: name, doing: "making the file")
        }
    }

    /// Throws unless the file carries the owner's id and holds nothing but its tables.
    private func check(_ owner: FileOwner, _ db: Database) throws {
        let applicationID = try Int32.fetchOne(db, sql: "PRAGMA main.application_id")
        let entries = try Row.fetchAll(db, sql: "SELECT type, name, rootpage FROM main.sqlite_schema ORDER BY rowid")
        guard applicationID == owner.applicationID else {
            throw StoreError(
                .inputOutput, store: name, message: "the file is a database of another program, not a \(owner.title)",
                hint: "nothing was written to it; name a path without a file, and the file is created")
        }
        guard let tables = owner.tables else { return }
        for entry in entries {
            let (type, entryName): (String, String) = (entry[0], entry[1])
            // SQLite's own tables and indexes; such names are reserved. A virtual table has no page.
            let isInternal = entryName.folded.hasPrefix("sqlite_") && ["table", "index"].contains(type)
            let isOwn = type == "table" && tables.contains(entryName) && (entry[2] as Int64? ?? 0) > 0
            guard isInternal || isOwn else {
                throw StoreError(
                    .inputOutput, store: name,
                    message: "the \(owner.title) holds a \(type) that does not belong to it: \(entryName)",
                    hint: "find out who added it and why before you remove it; move the file away to start a new one")
            }
        }
    }
}
