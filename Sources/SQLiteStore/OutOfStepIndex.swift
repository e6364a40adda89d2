import GRDB
import PriceStore

/// A virtual table that its own module calls damaged: what it has stored does not agree with the rows that it indexes.
///
/// SQLite has one code for that and another for a damaged file. Only what changes the table's rows fails.
struct OutOfStepIndex {
    let name: String
    private let definition: String

    /// The statement that makes it again from the rows; nil: its module has none.
    /// Source: sqlite.org/fts5.html#the_rebuild_command and sqlite.org/fts3.html#rebuild.
    var remedy: String? {
        let words = Self.names(definition)
        guard let using = words.firstIndex(of: "using"), words.indices.contains(using + 1),
            ["fts3", "fts4", "fts5"].contains(words[using + 1]),
            // Without rows of its own or of another table there is nothing to make it from.
            !["content=\'\'", "content=\"\""].contains(where: definition.folded.filter { !$0.isWhitespace }.contains)
        else { return nil }
        let quoted = name.standardIdentifier
        return "INSERT INTO \(quoted)(\(quoted)) VALUES('rebuild')"
    }

    /// Whether its rows are its own, and not those of another table: then they cannot be made again from that table.
    private var hasOwnRows: Bool {
        let text = definition.folded.filter { !$0.isWhitespace }
        return !text.contains("(content=") && !text.contains(",content=")
    }

    /// The table as one that triggers of another table keep in step.
    func following(_ table: String) -> FollowingIndex {
        guard let remedy, !hasOwnRows else {
            return FollowingIndex(
                name: name, remedy: "write into \(name) what the triggers of \(table) would have written")
        }
        return FollowingIndex(name: name, remedy: "execute " + remedy)
    }

    /// The words of a statement, without quotes and in lower case.
    private static func names(_ statement: String) -> [String] {
        var scanner = SchemaText.Scanner(statement)
        var names: [String] = []
        while let token = scanner.next() { names.append(SchemaText.name(token).folded) }
        return names
    }

    /// The virtual tables that a failed statement can have changed: by the triggers of the tables that it names if there are
    /// such, else by any trigger, else all.
    static func suspects(
        _ statement: String, _ connection: SQLiteFileConnection, _ db: Database
    ) throws -> [OutOfStepIndex] {
        let tables = try all(db)
        let triggers = try connection.storeTriggers(db)
        // A word may be of a schema and a table: `main.price`.
        let named = Set(names(statement).flatMap { [$0] + $0.split(separator: ".").map(String.init) })
        let fired = triggers.filter { named.contains($0.table) }
        for triggers in [fired, triggers] {
            let changed = Set(triggers.flatMap { $0.body?.changed ?? [] })
            let found = tables.filter { changed.contains($0.name.folded) }
            if !found.isEmpty { return found }
        }
        return tables
    }

    /// The virtual tables of a store.
    private static func all(_ db: Database) throws -> [OutOfStepIndex] {
        try Row.fetchAll(
            db, sql: "SELECT name, sql FROM main.sqlite_schema WHERE type = 'table' AND rootpage = 0 ORDER BY rowid"
        ).map { OutOfStepIndex(name: $0[0], definition: $0[1]) }
    }

    /// The virtual tables that some triggers write, themselves or by triggers that they set off.
    static func written(
        byTriggers names: [String], _ connection: SQLiteFileConnection, _ db: Database
    ) throws -> [OutOfStepIndex] {
        guard !names.isEmpty else { return [] }
        let triggers = try connection.storeTriggers(db)
        var waiting = triggers.filter { names.contains($0.name) }
        var seen: Set<TriggerText.Change> = []
        while let trigger = waiting.popLast() {
            for change in trigger.body?.changes ?? [] where seen.insert(change).inserted {
                waiting += triggers.filter { $0.table == change.table && $0.text.fires(on: change.event) }
            }
        }
        return try all(db).filter { index in seen.contains { $0.table == index.name.folded } }
    }
}

extension DatabaseError {
    /// Whether a virtual table is damaged, or does not agree with the rows that it indexes. A constraint that has no name is one of
    /// its module: SQLite names its own.
    var isOfVirtualTable: Bool {
        extendedResultCode == .SQLITE_CORRUPT_VTAB
            || resultCode == .SQLITE_CONSTRAINT && message == "constraint failed"
    }
}

extension SQLiteFileConnection {
    /// The error of a statement. One of a virtual table has its name, and the statement that repairs it.
    func storeError(_ error: any Error, doing what: String, _ db: Database) -> StoreError {
        var named = StoreError(error, store: name, doing: what)
        guard let index = outOfStepIndex(error, db) else { return named }
        named.message = "\(what): \(index.fact)"
        named.hint = index.remedy + ", and run again"
        return named
    }

    /// Which virtual table an error is about, and what repairs it, each as a clause; nil: it is about none.
    func outOfStepIndex(_ error: any Error, _ db: Database) -> (fact: String, remedy: String)? {
        guard let error = error as? DatabaseError, error.isOfVirtualTable,
            let suspects = try? OutOfStepIndex.suspects(error.sql ?? "", self, db), !suspects.isEmpty
        else { return nil }
        let names = suspects.map(\.name).joined(separator: ", ")
        let which = suspects.count == 1 ? "the virtual table \(names) is" : "one of the virtual tables \(names) is"
        let remedies = suspects.compactMap(\.remedy)
        return (
            "\(which) out of step with the rows that it indexes",
            remedies.isEmpty ? "make it again from its rows" : "execute \(remedies.joined(separator: "; "))"
        )
    }
}
