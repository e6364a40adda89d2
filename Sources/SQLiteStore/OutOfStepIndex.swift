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

    /// The words of a statement, without quotes and in lower case.
    private static func names(_ statement: String) -> [String] {
        var scanner = SchemaText.Scanner(statement)
        var names: [String] = []
        while let token = scanner.next() { names.append(SchemaText.name(token).folded) }
        return names
    }

    /// The virtual tables that a failed statement can have changed: by the triggers of the tables that it names if there are
    /// such, else by any trigger, else all.
    static func suspects(_ statement: String, _ db: Database) throws -> [OutOfStepIndex] {
        let tables = try Row.fetchAll(
            db, sql: "SELECT name, sql FROM main.sqlite_schema WHERE type = 'table' AND rootpage = 0 ORDER BY rowid"
        ).map { OutOfStepIndex(name: $0[0], definition: $0[1]) }
        let triggers = try Row.fetchAll(db, sql: "SELECT tbl_name, sql FROM main.sqlite_schema WHERE type = 'trigger'")
        // A word may be of a schema and a table: `main.price`.
        let named = Set(names(statement).flatMap { [$0] + $0.split(separator: ".").map(String.init) })
        let fired = triggers.filter { named.contains(($0[0] as String).folded) }
        for triggers in [fired, triggers] {
            let changed = Set(triggers.flatMap { TriggerText($0[1]).effects?.changes.map(\.table) ?? [] })
            let found = tables.filter { changed.contains($0.name.folded) }
            if !found.isEmpty { return found }
        }
        return tables
    }
}

extension SQLiteFileConnection {
    /// The error of a statement. One of a virtual table has its name, and the statement that repairs it.
    func storeError(_ error: any Error, doing what: String, _ db: Database) -> StoreError {
        var named = StoreError(error, store: name, doing: what)
        guard let error = error as? DatabaseError, error.extendedResultCode == .SQLITE_CORRUPT_VTAB,
            let suspects = try? OutOfStepIndex.suspects(error.sql ?? "", db), !suspects.isEmpty
        else { return named }
        let names = suspects.map(\.name).joined(separator: ", ")
        let which = suspects.count == 1 ? "the virtual table \(names) is" : "one of the virtual tables \(names) is"
        named.message = "\(what): \(which) out of step with the rows that it indexes"
        let remedies = suspects.compactMap(\.remedy)
        named.hint =
            remedies.isEmpty
            ? "make it again from its rows, and run again" : "run \(remedies.joined(separator: "; ")), and run again"
        return named
    }
}
