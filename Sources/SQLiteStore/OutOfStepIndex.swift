import GRDB
import PriceStore

/// A virtual table that its own module reports as damaged: its contents do not agree with the rows that it indexes.
///
/// SQLite distinguishes this from a damaged file by its code. Only statements that change rows of the table fail.
struct OutOfStepIndex {
    let name: String
    private let definition: String

    /// The statement that rebuilds the table from the rows, or nil if its module has none.
    var remedy: String? {
        let words = Self.names(definition)
        guard let using = words.firstIndex(of: "using"), words.indices.contains(using + 1),
            ["fts3", "fts4", "fts5"].contains(words[using + 1]),
            // A contentless table has no rows to rebuild it from.
            !["content=\'\'", "content=\"\""].contains(where: definition.folded.filter { !$0.isWhitespace }.contains)
        else { return nil }
        let quoted = name.standardIdentifier
        return "INSERT INTO \(quoted)(\(quoted)) VALUES('rebuild')"
    }

    /// Whether the table stores its own rows. Then it cannot be rebuilt from another table.
    private var hasOwnRows: Bool {
        let text = definition.folded.filter { !$0.isWhitespace }
        return !text.contains("(content=") && !text.contains(",content=")
    }

    /// The table, described as one that triggers of another table keep in step.
    func following(_ table: String) -> FollowingIndex {
        guard let remedy, !hasOwnRows else {
            return FollowingIndex(
                name: name, remedy: "write into \(name) what the triggers of \(table) would have written")
        }
        return FollowingIndex(name: name, remedy: "execute " + remedy)
    }

    /// The words of a statement, unquoted and in lower case.
    private static func names(_ statement: String) -> [String] {
        var scanner = SchemaText.Scanner(statement)
        var names: [String] = []
        while let token = scanner.next() { names.append(SchemaText.name(token).folded) }
        return names
    }

    /// The virtual tables that a failed statement can have changed: those that triggers of the tables it names change, otherwise those that
    /// any trigger changes, otherwise all.
    static func suspects(
        _ statement: String, _ connection: SQLiteFile, _ db: Database
    ) throws -> [OutOfStepIndex] {
        let tables = try all(connection, db)
        let triggers = try connection.storeTriggers(db)
        let named = Set(names(statement))
        let fired = triggers.filter { named.contains($0.table) }
        for triggers in [fired, triggers] {
            let changed = Set(triggers.flatMap { $0.body?.changed ?? [] })
            let found = tables.filter { changed.contains($0.name.folded) }
            if !found.isEmpty { return found }
        }
        return tables
    }

    private static func all(_ connection: SQLiteFile, _ db: Database) throws -> [OutOfStepIndex] {
        try connection.catalog.schema(db).entries("table").filter { !$0.isStoredTable }
            .map { OutOfStepIndex(name: $0.name, definition: $0.sql) }
    }

    /// The virtual tables that triggers write, directly or through triggers that they fire.
    static func written(
        byTriggers names: [String], _ connection: SQLiteFile, _ db: Database
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
        return try all(connection, db).filter { index in seen.contains { $0.table == index.name.folded } }
    }
}

extension DatabaseError {
    /// Whether a virtual table is damaged or does not agree with the rows that it indexes. SQLite names its own constraints, so one without
    /// a name comes from a module.
    var isOfVirtualTable: Bool {
        extendedResultCode == .SQLITE_CORRUPT_VTAB
            || resultCode == .SQLITE_CONSTRAINT && message == "constraint failed"
    }
}

extension SQLiteFile {
    /// The error of a statement. If it is about a virtual table, it names the table and the statement that repairs it.
    func storeError(_ error: any Error, doing what: String, _ db: Database) -> StoreError {
        var named = StoreError(error, store: name, doing: what)
        guard let index = outOfStepIndex(error, db) else { return named }
        named.message = "\(what): \(index.fact)"
        named.hint = index.remedy + ", and run again"
        return named
    }

    /// The virtual table that an error is about and its repair, each as a clause, or nil if the error is about none.
    func outOfStepIndex(_ error: any Error, _ db: Database) -> (fact: String, remedy: String)? {
        guard let error = error as? DatabaseError, error.isOfVirtualTable,
            let suspects = try? OutOfStepIndex.suspects(error.sql ?? "", self, db), !suspects.isEmpty
        else { return nil }
        let names = suspects.map(\.name).list
        let which = suspects.count == 1 ? "the virtual table \(names) is" : "one of the virtual tables \(names) is"
        let remedies = suspects.compactMap(\.remedy)
        return (
            "\(which) out of step with the rows that it indexes",
            remedies.isEmpty ? "rebuild it from its rows" : "execute \(remedies.joined(separator: "; "))"
        )
    }
}
