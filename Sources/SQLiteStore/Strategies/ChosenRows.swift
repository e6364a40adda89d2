import GRDB
import PriceStore

/// The rows that one batch deletes, noted by their keys in temporary tables before they are deleted.
///
/// There is a table for each entity that loses rows. It has the key's columns `k0`, `k1` …, and the `wave`, which is 0 for the
/// rows that the batch begins with, and one more for each step of a cascade. The tables may spill to a temporary file. They
/// are emptied for each batch, not made again.
struct ChosenRows {
    let request: BatchDeleteRequest
    let scope: RowScope
    let connection: SQLiteFileConnection
    let db: Database

    /// Notes the rows whose keys a query yields.
    init(
        _ keys: SQLFragment, of work: DeleteWork, _ scope: RowScope, _ connection: SQLiteFileConnection, _ db: Database
    )
        throws
    {
        request = work.request
        self.scope = scope
        self.connection = connection
        self.db = db
        for table in connection.temporaries.chosenRows.values { try execute("DELETE FROM temp.\(table)") }
        let table = try table(scope)
        try connection.execute(SQLFragment("INSERT INTO temp.\(table) SELECT *, 0 FROM (") + keys + ")", db)
    }

    /// Deletes the rows, and does to those that refer to them what the request and the schema say.
    ///
    /// - Parameter bound: roughly how many rows cascades may delete; nil: all of them.
    /// - Returns: whether all rows were deleted. If not, some rows that belong to them were, and the batch must be repeated.
    func delete(atMost bound: Int?) throws -> Bool {
        switch request.relationships {
        case .asDeclared, .cascade: break
        case .deny: try deny(scope, "deny does not allow that") { _ in true }
        case .nullify: try nullify()
        }
        try denyDefaults(scope)
        guard request.cascades(try connection.incoming(scope.table.name, of: request, db)) else {
            try connection.execute(SQLFragment("DELETE FROM \(scope.target()) WHERE ") + isChosen(scope), db)
            return true
        }
        return try deleteFamilies(atMost: bound)
    }

    /// The rows that the request's predicate names and that are deleted: how many, and their keys if they are to be listed.
    /// A trigger of the store may have kept some.
    func goneKeys(listed: Bool) throws -> (count: Int, keys: [[StoreValue]]) {
        let columns = Self.columns(scope)
        // Without a trigger no row is kept. The plus takes the affinity away, so that the store's key is searched and not
        // compared row by row.
        let same = zip(scope.key, columns).map { "\($0) = +chosen.\($1)" }.joined(separator: " AND ")
        let gone =
            " FROM temp.\(try table(scope)) AS chosen"
            + (scope.table.entity.deleteTriggers.isEmpty
                ? "" : " WHERE NOT EXISTS (SELECT 1 FROM \(scope.from()) WHERE \(same))")
        guard listed else { return (try connection.count(SQLFragment("SELECT count(*)" + gone), db), []) }
        let list = columns.joined(separator: ", ")
        let keys = try connection.rows(SQLFragment("SELECT \(list)" + gone + " ORDER BY \(list)"), db)
        return (keys.count, keys)
    }

    /// Makes the rows of the last wave those that the batch begins with, and forgets all others.
    func beginAgain(with entity: RowScope, wave: Int) throws {
        let table = try table(entity)
        for other in connection.temporaries.chosenRows.values where other != table {
            try execute("DELETE FROM temp.\(other)")
        }
        try connection.execute(SQLFragment("DELETE FROM temp.\(table) WHERE wave <> ?", [wave.databaseValue]), db)
        try execute("UPDATE temp.\(table) SET wave = 0")
    }

    // MARK: Rows that refer to chosen ones

    private var incoming: [Relationship] {
        get throws {
            let keys = scope.table.entity.incomingRelationships
            if let key = keys.first(where: {
                $0.destinationAttributes.count != $0.sourceAttributes.count || $0.sourceAttributes.isEmpty
            }) {
                throw StoreError(
                    .unsupported, store: connection.name,
                    message: "the foreign key of \(key.text) does not match a key of \(scope.table.name)")
            }
            return keys
        }
    }

    private func isOwn(_ key: Relationship) -> Bool { key.source.folded == scope.table.name.folded }

    /// Throws if a row would get another row to refer to. The plan has refused that, but such a row may have arrived since.
    func denyDefaults(_ parent: RowScope) throws {
        try deny(parent, "ON DELETE SET DEFAULT would make them refer to another row") { $0.deleteRule == .setDefault }
    }

    /// Throws if a row refers to a chosen one by one of some keys, whether it would be deleted itself or not.
    private func deny(_ parent: RowScope, _ reason: String, keys: (Relationship) -> Bool) throws {
        var obstacles: [String] = []
        for key in try connection.incoming(parent.table.name, of: request, db) where keys(key) {
            let rows = try pointing(key, sparingChosen: false)
            let number = try connection.count(
                SQLFragment("SELECT count(*) FROM (SELECT DISTINCT ") + rows + ")", db)
            if number > 0 { obstacles.append("\(number) \(number == 1 ? "row" : "rows") of \(key.text)") }
        }
        guard obstacles.isEmpty else {
            throw StoreError(
                .constraint, store: connection.name,
                message: "rows of \(parent.table.name) that would be deleted are referenced by "
                    + obstacles.joined(separator: ", ") + ", and \(reason)",
                hint: "delete those first, or ask for cascade or nullify")
        }
    }

    /// Takes the references from rows that refer to chosen ones.
    ///
    /// Chosen rows keep theirs only where their key is declared NO ACTION: any other acts on each row by itself, and SQLite
    /// would follow a long chain of rows deeper than it can.
    private func nullify() throws {
        for key in try incoming {
            let child = try source(of: key)
            let sets = key.sourceAttributes.map { "\($0.quotedIdentifier) = NULL" }.joined(separator: ", ")
            let spares = isOwn(key) && key.deleteRule == .noAction
            let keys = SQLFragment("SELECT DISTINCT ") + (try pointing(key, sparingChosen: spares))
            try connection.execute(
                SQLFragment("UPDATE OR ABORT \(child.from()) SET \(sets) WHERE \(Self.tuple(child.key)) IN (") + keys
                    + ")", db)
        }
    }

    func source(of key: Relationship) throws -> RowScope { try connection.tableScope(key.source, db) }

    // MARK: SQL

    /// The temporary table for the rows of an entity.
    func table(_ scope: RowScope) throws -> String {
        let entity = scope.table.name.folded
        if let known = connection.temporaries.chosenRows[entity] { return known }
        let name = connection.temporaryName("chosen")
        let list = Self.columns(scope).joined(separator: ", ")
        try execute("CREATE TEMP TABLE \(name) (\(list), wave, PRIMARY KEY (\(list))) WITHOUT ROWID")
        connection.temporaries.chosenRows[entity] = name
        return name
    }

    /// The keys of the rows of a relationship's source that refer to chosen rows (as `chosen`): what follows SELECT. The
    /// order is forced: from the few chosen rows to the many others.
    ///
    /// - Parameters:
    ///   - sparingChosen: whether rows are left out that are chosen themselves.
    ///   - wave: the wave of the chosen rows; nil: all of them.
    ///   - columns: more columns of the result, each after a comma.
    func pointing(
        _ key: Relationship, sparingChosen: Bool, wave: Int? = nil, columns: SQLFragment = SQLFragment("")
    ) throws -> SQLFragment {
        let parent = try connection.tableScope(key.destination, db)
        let child = try source(of: key)
        let link = parent.link(key, from: "chosen", in: parent.table.sql, to: child, as: RowScope.alias)
        var condition = SQLFragment(link.condition)
        if let wave { condition += SQLFragment(" AND chosen.wave = ?", [wave.databaseValue]) }
        if sparingChosen {
            let same = zip(Self.columns(child), child.key).map { "own.\($0) = +\($1)" }.joined(separator: " AND ")
            condition += SQLFragment(
                " AND NOT EXISTS (SELECT 1 FROM temp.\(try table(child)) AS own WHERE \(same))")
        }
        return SQLFragment(child.key.joined(separator: ", ")) + columns
            + SQLFragment(
                " FROM temp.\(try table(parent)) AS chosen\(link.tables) CROSS JOIN \(child.from()) WHERE ") + condition
    }

    /// The condition that a row is chosen, in a wave or at all.
    func isChosen(_ scope: RowScope, wave: Int? = nil) throws -> SQLFragment {
        let rows = "SELECT \(Self.columns(scope).joined(separator: ", ")) FROM temp.\(try table(scope))"
        guard let wave else { return SQLFragment("\(Self.tuple(scope.key)) IN (\(rows))") }
        return SQLFragment("\(Self.tuple(scope.key)) IN (\(rows) WHERE wave = ?)", [wave.databaseValue])
    }

    static func columns(_ scope: RowScope) -> [String] { scope.key.indices.map { "k\($0)" } }

    static func tuple(_ columns: [String]) -> String {
        columns.count == 1 ? columns[0] : "(" + columns.joined(separator: ", ") + ")"
    }

    func execute(_ text: String) throws { try connection.execute(SQLFragment(text), db) }
}

extension BatchDeleteRequest {
    /// Whether one of the relationships that refer to an entity deletes more rows.
    func cascades(_ incoming: [Relationship]) -> Bool { incoming.contains { $0.deleteRule == .cascade } }
}

extension Relationship {
    /// The source and the attributes that hold the reference, as messages name them.
    fileprivate var text: String { "\(source) (\(sourceAttributes.joined(separator: ", ")))" }
}
