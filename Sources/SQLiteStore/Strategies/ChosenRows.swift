import GRDB
import PriceStore

/// Rows of one table that are noted by their keys, in a temporary table, before they are deleted; with what becomes of
/// the rows that point at them.
///
/// The table has the key's columns `k0`, `k1` … and the `wave`: 0 for the rows that the request names, more for those
/// of the same table that point at them and go with them. It may spill to a temporary file.
struct ChosenRows {
    private let scope: RowScope
    private let connection: SQLiteConnection
    private let db: Database
    private let table: String
    private let columns: [String]

    /// Notes the rows whose keys a query yields.
    init(_ keys: SQLFragment, _ scope: RowScope, _ connection: SQLiteConnection, _ db: Database) throws {
        self.scope = scope
        self.connection = connection
        self.db = db
        columns = scope.key.indices.map { "k\($0)" }
        table = connection.temporaryName("chosen")
        let list = columns.joined(separator: ", ")
        try connection.execute(
            SQLFragment("CREATE TEMP TABLE \(table) (\(list), wave, PRIMARY KEY (\(list))) WITHOUT ROWID"), db)
        connection.keyLists.append(table)
        try connection.execute(SQLFragment("INSERT INTO temp.\(table) SELECT *, 0 FROM (") + keys + ")", db)
    }

    /// Deletes the rows, and does to those that point at them what the request says.
    func delete(_ rule: BatchDeleteRequest.RelationshipRule) throws {
        switch rule {
        case .asDeclared: break
        case .deny: try deny()
        case .nullify: try nullify()
        case .cascade: try cascade()
        }
        let restricted = try incoming.filter { isOwn($0) && $0.deleteRule == .restrict }
        if rule.deleteRule != nil, !restricted.isEmpty { try deleteLeavesFirst(restricted) }
        try execute("DELETE FROM \(scope.target()) WHERE " + isChosen)
    }

    /// The rows that the request named and that are gone: how many, and their keys if they are to be listed. A trigger
    /// of the store may have kept some.
    func goneKeys(listed: Bool) throws -> (count: Int, keys: [[StoreValue]]) {
        let same = zip(scope.key, columns).map { "\($0) = chosen.\($1)" }.joined(separator: " AND ")
        let gone =
            " FROM temp.\(table) AS chosen WHERE wave = 0 AND NOT EXISTS (SELECT 1 FROM \(scope.from()) WHERE \(same))"
        guard listed else { return (try connection.count(SQLFragment("SELECT count(*)" + gone), db), []) }
        let list = columns.joined(separator: ", ")
        let keys = try connection.rows(SQLFragment("SELECT \(list)" + gone + " ORDER BY \(list)"), db)
        return (keys.count, keys)
    }

    // MARK: Rows that point at chosen ones

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

    private func isOwn(_ key: Relationship) -> Bool { key.source.lowercased() == scope.table.name.lowercased() }

    /// Throws if a row that would stay points at one that would go.
    private func deny() throws {
        var obstacles: [String] = []
        for key in try incoming {
            let child = try source(of: key)
            let number = try connection.count(
                SQLFragment("SELECT count(*) FROM (" + pointing(key, child) + (isOwn(key) ? andNotChosen : "") + ")"),
                db)
            if number > 0 { obstacles.append("\(number) \(number == 1 ? "row" : "rows") of \(key.text)") }
        }
        guard obstacles.isEmpty else {
            throw StoreError(
                .constraint, store: connection.name,
                message: "rows of \(scope.table.name) that would go are pointed at by "
                    + obstacles.joined(separator: ", "),
                hint: "delete those first, or ask for cascade or nullify")
        }
    }

    /// Takes the references from rows that point at chosen ones; chosen rows need none taken.
    private func nullify() throws {
        for key in try incoming {
            let child = try source(of: key)
            let sets = key.sourceAttributes.map { "\($0.quotedIdentifier) = NULL" }.joined(separator: ", ")
            let keys = SQLFragment(pointing(key, child) + (isOwn(key) ? andNotChosen : ""))
            try connection.execute(
                SQLFragment("UPDATE OR ABORT \(child.from()) SET \(sets) WHERE ") + Self.isAmong(keys, child), db)
        }
    }

    /// Adds the rows of the same table that point at chosen ones, and theirs; deletes those of other tables.
    private func cascade() throws {
        let (own, others) = (try incoming.filter(isOwn), try incoming.filter { !isOwn($0) })
        var wave = 0
        var isGrowing = !own.isEmpty
        while isGrowing {
            isGrowing = false
            for key in own {
                try execute(
                    "INSERT OR IGNORE INTO temp.\(table) SELECT *, \(wave + 1) FROM ("
                        + pointing(key, try source(of: key)) + " AND chosen.wave = \(wave))")
                if db.changesCount > 0 { isGrowing = true }
            }
            wave += 1
        }
        for entity in try childrenFirst(Set(others.map { $0.source.lowercased() })) {
            for key in others where key.source.lowercased() == entity {
                let child = try source(of: key)
                try connection.execute(
                    SQLFragment("DELETE FROM \(child.from()) WHERE ")
                        + Self.isAmong(SQLFragment(pointing(key, child)), child), db)
            }
        }
    }

    /// The entities in an order in which those that point at others come before them.
    private func childrenFirst(_ entities: Set<String>) throws -> [String] {
        var ordered: [String] = []
        var seen: Set<String> = []
        func visit(_ entity: String) throws {
            guard entities.contains(entity), seen.insert(entity).inserted else { return }
            for key in try connection.catalog.table(entity, db)?.entity.incomingRelationships ?? [] {
                try visit(key.source.lowercased())
            }
            ordered.append(entity)
        }
        for entity in entities.sorted() { try visit(entity) }
        return ordered
    }

    /// Deletes chosen rows that no row points at, until there are none: RESTRICT holds even between rows that go in the
    /// same statement.
    private func deleteLeavesFirst(_ keys: [Relationship]) throws {
        let isPointedAt = keys.map { key in
            let refers = zip(key.sourceAttributes, key.destinationAttributes).map {
                "\(RowScope.alias).\($1.quotedIdentifier) = child.\($0.quotedIdentifier)"
            }
            return "EXISTS (SELECT 1 FROM \(scope.table.sql) AS child WHERE \(refers.joined(separator: " AND ")))"
        }
        repeat {
            try execute(
                "DELETE FROM \(scope.from()) WHERE \(isChosen) AND NOT (\(isPointedAt.joined(separator: " OR ")))")
        } while db.changesCount > 0
    }

    private func source(of key: Relationship) throws -> RowScope { try connection.tableScope(key.source, db) }

    // MARK: SQL

    /// The keys of the rows of a relationship's source (as `child`) that point at chosen rows (as `chosen`), each once.
    /// The order is forced: from the few chosen rows to the many others.
    private func pointing(_ key: Relationship, _ child: RowScope) -> String {
        let isParent = zip(scope.table.keySQL, columns).map { "parent.\($0) = chosen.\($1)" }
        let refers = zip(key.sourceAttributes, key.destinationAttributes).map {
            "parent.\($1.quotedIdentifier) = child.\($0.quotedIdentifier)"
        }
        let keys = child.table.keySQL.map { "child.\($0)" }.joined(separator: ", ")
        return "SELECT DISTINCT \(keys) FROM temp.\(table) AS chosen CROSS JOIN \(scope.table.sql) AS parent "
            + "CROSS JOIN \(child.table.sql) AS child WHERE \((isParent + refers).joined(separator: " AND "))"
    }

    /// A condition on `child`, a row of the same table, that it is not chosen itself.
    private var andNotChosen: String {
        let same = zip(columns, scope.table.keySQL).map { "own.\($0) = child.\($1)" }.joined(separator: " AND ")
        return " AND NOT EXISTS (SELECT 1 FROM temp.\(table) AS own WHERE \(same))"
    }

    private var isChosen: String {
        "\(Self.tuple(scope)) IN (SELECT \(columns.joined(separator: ", ")) FROM temp.\(table))"
    }

    private static func isAmong(_ keys: SQLFragment, _ scope: RowScope) -> SQLFragment {
        SQLFragment("\(tuple(scope)) IN (") + keys + ")"
    }

    private static func tuple(_ scope: RowScope) -> String {
        scope.key.count == 1 ? scope.key[0] : "(" + scope.key.joined(separator: ", ") + ")"
    }

    private func execute(_ text: String) throws { try connection.execute(SQLFragment(text), db) }
}

extension Relationship {
    /// The source and the attributes that hold the reference, as messages name them.
    fileprivate var text: String { "\(source) (\(sourceAttributes.joined(separator: ", ")))" }
}
