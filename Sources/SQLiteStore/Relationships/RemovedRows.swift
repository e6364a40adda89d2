import GRDB
import PriceStore

/// The keys of rows that a sequence of deletes and their cascades remove, in temporary tables.
///
/// Each delete is a step and each round of cascades a wave; wave 0 contains the rows that the delete selects. A dry run notes all rows of
/// its rules, and a batch its own, as step 0. The tables may spill to a temporary file, so memory use is bounded.
final class RemovedRows {
    /// The deletes predicted so far, in order.
    var steps: [BatchDeleteRequest] = []
    /// The temporary table of each entity, by lower-cased name.
    var tables: [String: String] = [:]
    /// Whether the tables have an index by step and wave, which pays if they hold several steps.
    let isIndexed: Bool

    init(isIndexed: Bool = true) { self.isIndexed = isIndexed }
}

extension SQLiteFile {
    /// Whether any of the deletes can reach rows through a foreign key, so that counting alone does not predict it.
    func relationshipsAreInPlay(_ request: SurveyRequest, _ db: Database) throws -> Bool {
        for entity in request.preceding.map(\.fetchRequest.entity) + [request.entity] {
            let table = try scope(entity, db).table
            if table.managed != nil, let schema = try catalog.coreData(db) {
                return try objectsAreInPlay(request, schema, db)
            } else if !table.entity.incomingRelationships.isEmpty {
                return true
            }
        }
        return false
    }

    /// Follows the foreign keys of a rule's delete after those of earlier rules, and completes its survey.
    func followRelationships(_ request: SurveyRequest, _ scope: RowScope, into survey: inout Findings, _ db: Database)
        throws
    {
        let removed = try removedRows(of: request.preceding, db)
        let step = removed.steps.count
        let delete = BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(
                entity: request.entity, predicate: request.expired, includesSubentities: request.includesSubentities),
            relationships: request.relationships)
        survey.expiredCount = try remove(delete, removed, db)
        removed.steps.append(delete)

        let date = try dateSQL(request.date, scope, db)
        survey.dates.oldestExpired = nil
        survey.dates.newestExpired = try newestRemoved(request, scope, date, removed, step: step, db)
        for (name, count) in try cascadedCounts(removed, step: step, db) { survey.related.cascadedCounts[name] = count }
        survey.related.cascadedCount = survey.related.cascadedCounts.values.reduce(0, +)
        if let graph = try graph(delete, removed, step: step, db) {
            return try completeObjects(graph, request, scope, into: &survey, db)
        }
        if request.counts.related {
            survey.related.nullifiedCount = try nullifiedCount(request, removed, step: step, db)
        }
        survey.related.obstacles = try obstacles(request, removed, step: step, db)
        survey.unsupported = try changingChoice(request, scope.table, removed, step: step, db)
        if survey.unsupported != nil, !request.preceding.isEmpty { survey.remedy = Survey.aloneRemedy }
        survey.followsRelationships = true
    }

    func removedRows(of deletes: [BatchDeleteRequest], _ db: Database) throws -> RemovedRows {
        let removed = temporaries.removedRows ?? RemovedRows()
        temporaries.removedRows = removed
        try align(removed, to: deletes, db)
        return removed
    }

    /// Forgets steps that are not among the preceding deletes and predicts the missing ones.
    func align(_ removed: RemovedRows, to preceding: [BatchDeleteRequest], _ db: Database) throws {
        let common = zip(removed.steps, preceding).prefix { $0 == $1 }.count
        if common < removed.steps.count {
            for table in removed.tables.values {
                try execute("DELETE FROM temp.\(table) WHERE step >= \(bound: common)", db)
            }
            removed.steps.removeLast(removed.steps.count - common)
        }
        for delete in preceding[common...] {
            _ = try remove(delete, removed, db)
            removed.steps.append(delete)
        }
    }

    /// Adds the rows of one delete and its cascades. Returns the number of rows that the delete selects.
    private func remove(_ delete: BatchDeleteRequest, _ removed: RemovedRows, _ db: Database) throws -> Int {
        let step = removed.steps.count
        let fetch = delete.fetchRequest
        let scope = try scope(of: fetch, db)
        let table = try removedTable(scope.table, removed, db)
        let rows = try condition(fetch.predicate, scope, db).whereClause
        try execute(
            "INSERT OR IGNORE INTO temp.\(table) SELECT \(scope.key.list), \(bound: step), 0 FROM \(scope.from())\(rows)",
            db)
        let direct = db.changesCount
        if let graph = try graph(delete, removed, step: step, db) {
            try graph.cascade()
            return direct
        }
        let keys = try keyGraph(of: scope.table.name, delete.relationships, db)
        guard delete.relationships != .deny else { return direct }
        for name in keys.losing {
            for key in keys.keys(into: name) where key.deleteRule == .cascade {
                let table = try removedTable(self.scope(key.source, db).table, removed, db)
                let rows = try references(key, removed, "removed.step = \(bound: step)", db)
                try execute(
                    "INSERT OR IGNORE INTO temp.\(table) SELECT \(childKeys(key, db)), \(bound: step), 1\(rows)", db)
            }
        }
        return direct
    }

    /// `FROM … WHERE …` of the rows of a relationship's source (as `child`) that refer to removed rows (as `removed`).
    func references(
        _ key: Relationship, _ removed: RemovedRows, _ condition: SQLFragment, _ db: Database
    ) throws -> SQLFragment {
        let parent = try scope(key.destination, db)
        let child = try scope(key.source, db)
        let table = try removedTable(parent.table, removed, db)
        let link = parent.link(key, from: table, as: "removed", to: child, as: "child")
        return " FROM \(link.rows) WHERE \(link.condition) AND \(condition)"
    }

    /// The condition that `child` is removed itself, in steps that compare as given.
    func childIsRemoved(
        _ key: Relationship, _ removed: RemovedRows, steps: String, _ db: Database
    ) throws -> String {
        let child = try scope(key.source, db)
        let table = try removedTable(child.table, removed, db)
        let isOwn = child.table.keySQL.map { "child." + $0 }.areKey(of: "own")
        return "EXISTS (SELECT 1 FROM temp.\(table) AS own WHERE \(isOwn) AND own.step \(steps))"
    }

    /// The key of `child`.
    func childKeys(_ key: Relationship, _ db: Database) throws -> String {
        try scope(key.source, db).table.keySQL.map { "child.\($0)" }.list
    }

    private func cascadedCounts(_ removed: RemovedRows, step: Int, _ db: Database) throws -> [(String, Int)] {
        try removed.tables.map { name, table in
            (name, try count("SELECT count(*) FROM temp.\(table) WHERE step = \(bound: step) AND wave > 0", db))
        }.filter { $0.1 > 0 }
    }

    /// The entities that lose rows in a step.
    func losing(_ removed: RemovedRows, step: Int, _ db: Database) throws -> [String] {
        try removed.tables.sorted { $0.key < $1.key }.filter { _, table in
            try exists("SELECT 1 FROM temp.\(table) WHERE step = \(bound: step)", db)
        }.map(\.key)
    }

    /// The number of remaining rows that lose references, each counted once.
    private func nullifiedCount(
        _ request: SurveyRequest, _ removed: RemovedRows, step: Int, _ db: Database
    ) throws -> Int {
        var queries: [String: [SQLFragment]] = [:]
        let graph = try keyGraph(of: request.entity, request.relationships, db)
        for parent in try losing(removed, step: step, db) {
            for key in graph.keys(into: parent) where key.clears {
                let isGone = try childIsRemoved(key, removed, steps: "<= \(step)", db)
                let rows = try references(key, removed, "removed.step = \(bound: step) AND NOT \(isGone)", db)
                queries[key.source.folded, default: []].append("SELECT DISTINCT \(try childKeys(key, db))\(rows)")
            }
        }
        return try queries.values.reduce(0) { sum, parts in
            let union = SQLFragment.joined(parts, by: " UNION ", empty: "")
            return try sum + count("SELECT count(*) FROM (\(union))", db)
        }
    }

    /// Whether a readable row stays if cascades of the rule lead back to its own entity; true if they do not.
    func leavesReadableRows(
        _ request: SurveyRequest, _ scope: RowScope, _ removed: RemovedRows, step: Int, _ db: Database
    ) throws -> Bool {
        let table = try removedTable(scope.table, removed, db)
        guard try exists("SELECT 1 FROM temp.\(table) WHERE step = \(bound: step) AND wave > 0", db) else {
            return true
        }
        let stays = SQLFragment.all([
            try dateSQL(request.date, scope, db).readable(),
            "(\(try condition(request.expired, scope, db))) IS NOT TRUE",
            scope.isNotIn(table, "own.step = \(step)"),
        ])
        return try exists("SELECT 1 FROM \(scope.from()) WHERE \(stays)", db)
    }

    private func newestRemoved(
        _ request: SurveyRequest, _ scope: RowScope, _ date: DateSQL, _ removed: RemovedRows, step: Int, _ db: Database
    ) throws -> Instant? {
        let table = try removedTable(scope.table, removed, db)
        let matches = zip(scope.key, scope.keyNames).map { "\($0) = removed.\($1)" }.joined(separator: " AND ")
        return try row(
            """
            SELECT max(\(date.orderValue)) FROM temp.\(table) AS removed CROSS JOIN \(scope.from()) \
            WHERE \(matches) AND removed.step = \(bound: step) AND removed.wave = 0
            """, db)?.first.flatMap(request.date.instant)
    }
}

extension RowScope {
    /// SQL that leads from recorded keys of this scope, a relationship's destination, to rows of its source. The join order is fixed from
    /// the few recorded rows to the many others, unless the referring column has no type: then no index on it can be searched, and its rows
    /// are read once.
    ///
    /// - Parameters:
    ///   - table: a temporary table with the key's columns `k0`, `k1` ….
    ///   - noted: the alias of its rows.
    ///   - alias: the alias of the source's rows.
    /// - Returns: the rows for a FROM clause, and the condition. If references hold the recorded key itself, the row that they refer to is
    ///   not read.
    func link(
        _ key: Relationship, from table: String, as noted: String, to child: RowScope, as alias: String
    ) -> (rows: String, condition: String) {
        let (keys, children) = ("temp.\(table) AS \(noted)", "\(child.table.sql) AS \(alias)")
        if let reference = key.sourceAttributes.first, let rowID = self.table.rowIDAlias,
            key.destinationAttributes.map({ $0.folded }) == [rowID.folded],
            let affinity = child.table.entity.attribute(named: reference)?.affinity
        {
            let isTyped = [.integer, .real, .numeric].contains(affinity)
            return (
                isTyped ? "\(keys) CROSS JOIN \(children)" : "\(children) CROSS JOIN \(keys)",
                "\(alias).\(reference.quotedIdentifier) = \(noted).k0"
            )
        }
        let isParent = self.table.keySQL.map { "parent." + $0 }.areFound(by: noted)
        return (
            "\(keys) CROSS JOIN \(self.table.sql) AS parent CROSS JOIN \(children)",
            "\(isParent) AND \(key.refers(alias, to: "parent"))"
        )
    }
}
