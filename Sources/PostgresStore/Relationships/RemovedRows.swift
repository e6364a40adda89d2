import PriceStore

/// The rows that a sequence of deletes would remove, with all cascades, as common table expressions.
///
/// A dry run cannot try the delete, so it follows the foreign keys. The number of a row's table and the row's place in it identify a row;
/// both are stable within one state of the database. Each delete is a step: `gone_0` holds all rows of the first, `gone_1` those of the
/// second that are not in the first, and so on.
struct RemovedRows {
    let connection: PostgresDatabase
    /// The expressions, starting with `WITH RECURSIVE`.
    private(set) var tables = SQLFragment("WITH RECURSIVE ")
    private(set) var stepCount = 0
    private(set) var reaches: [ReachOfDelete] = []

    init(_ connection: PostgresDatabase) { self.connection = connection }

    mutating func add(_ delete: BatchDeleteRequest) throws {
        let step = stepCount
        let scope = try connection.scope(delete.fetchRequest.entity)
        let condition = try connection.condition(delete.fetchRequest.predicate, scope)
        let reach = try ReachOfDelete(of: scope.table, delete.relationships, connection)
        let limits = connection.limits(delete.fetchRequest)
        let chosen = try limits == "" ? "" : connection.order(delete.fetchRequest, scope) + limits
        let isLeft: SQLFragment = "NOT \(isGone(RowScope.alias, in: 0..<step))"
        try add(.all([condition, isLeft]), chosen, from: scope.from, reach)
    }

    /// Adds a delete of the rows of a condition.
    mutating func add(
        _ condition: SQLFragment, _ chosen: SQLFragment = "", from source: String, _ reach: ReachOfDelete,
        isBatch: Bool = false
    ) throws {
        let step = stepCount
        if step > 0 { tables += ", " }
        tables +=
            "named_\(step) (t, c) AS MATERIALIZED (SELECT \(RowScope.alias).tableoid, \(RowScope.alias).ctid FROM \(source)"
            + condition.whereClause + chosen + "), "
        if reach.rule == .deny || reach.cascading.isEmpty {
            tables += "gone_\(step) (t, c) AS (SELECT t, c FROM named_\(step))"
        } else {
            let waves = try reach.cascading.map { key in
                let (parent, child) = (try connection.scope(key.destination), try connection.scope(key.source))
                return
                    "SELECT child.tableoid AS t, child.ctid AS c FROM \(Self.rows(of: parent, as: "parent", areFew: isBatch)) "
                    + "JOIN \(child.source) AS child ON \(Self.refers(key)) WHERE NOT \(isGone("child", in: 0..<step))"
            }
            tables +=
                "gone_\(step) (t, c) AS (SELECT t, c FROM named_\(step) UNION SELECT wave.t, wave.c FROM gone_\(step) AS found "
                + "CROSS JOIN LATERAL (\(waves.joined(separator: " UNION ALL "))) AS wave)"
        }
        reaches.append(reach)
        stepCount += 1
    }

    /// A condition that any of some steps deletes a row.
    func isGone(_ alias: String, in steps: some Sequence<Int>) -> String {
        let parts = steps.map { "(\(alias).tableoid, \(alias).ctid) IN (SELECT t, c FROM gone_\($0))" }
        return "(" + (["FALSE"] + parts).joined(separator: " OR ") + ")"
    }

    /// `FROM … WHERE …` for the rows `child` of a key's source that refer to rows that some steps delete.
    func references(_ key: Relationship, in steps: some Sequence<Int>) throws -> String {
        let (parent, child) = (try connection.scope(key.destination), try connection.scope(key.source))
        return " FROM \(child.source) AS child JOIN \(parent.source) AS parent ON \(Self.refers(key)) WHERE "
            + isGone("parent", in: steps)
    }

    /// The rows at the places of `found`, for a FROM clause after it.
    ///
    /// - Parameter areFew: whether to look each place up is cheaper than to read all rows. The server cannot estimate it.
    static func rows(of scope: RowScope, as alias: String, areFew: Bool = true) -> String {
        "(SELECT * FROM \(scope.source) AS \(alias) WHERE \(alias).tableoid = found.t AND \(alias).ctid = found.c"
            + (areFew && scope.table.isSingle ? " OFFSET 0" : "") + ") AS \(alias)"
    }

    /// The condition that a row refers to `parent`.
    static func refers(_ key: Relationship, from child: String = "child") -> String {
        zip(key.sourceAttributes, key.destinationAttributes).map {
            "\(child).\($0.quotedIdentifier) = parent.\($1.quotedIdentifier)"
        }.joined(separator: " AND ")
    }

    /// Counts the effects of the last step, in one statement. `rows` are those of the step's entity; nil if the date and the remaining rows
    /// are not needed.
    func counts(_ rows: SurveyRows? = nil) throws -> RemovedCounts {
        let step = stepCount - 1
        let reach = reaches[step]
        let (stays, isThere) = ("NOT \(isGone("child", in: 0...step))", "NOT \(isGone("child", in: 0..<step))")
        var columns: [SQLFragment] = [
            "(SELECT count(*) FROM named_\(step)) AS named", "(SELECT count(*) FROM gone_\(step)) AS gone",
        ]
        let nullified = try (reach.rule == .deny ? [] : reach.nullifying).map {
            "SELECT child.tableoid, child.ctid\(try references($0, in: [step])) AND \(stays)"
        }
        columns.append(
            nullified.isEmpty
                ? "0 AS nullified"
                : "(SELECT count(*) FROM (\(nullified.joined(separator: " UNION "))) AS changed) AS nullified")
        if let rows {
            let newest = rows.date.orderValue
            columns.append(
                "(SELECT \(rows.date.instantSQL("newest")) FROM (SELECT max(" + newest
                    + ") AS newest FROM \(rows.scope.from) WHERE (\(RowScope.alias).tableoid, \(RowScope.alias).ctid) IN "
                    + "(SELECT t, c FROM named_\(step))) AS newest_row) AS newest")
        }
        // Rows that refer, without a cascade, to rows deleted in the same step. Their order is undefined.
        let crossing = try reach.keys.filter { [.noAction, .restrict].contains($0.deleteRule) }.map {
            "EXISTS (SELECT 1\(try references($0, in: [step])) AND \(isGone("child", in: [step])))"
        }
        columns.append("\((crossing + ["FALSE"]).joined(separator: " OR ")) AS crosses")
        var suspects: [Relationship] = []
        for key in reach.keys {
            let counted: String
            switch key.deleteRule {
            case .restrict, .noAction: counted = stays
            case .nullify where try !isNullable(key, reach): counted = isThere
            case .setDefault: counted = isThere
            case .cascade, .nullify:
                guard reach.rule == .deny else { continue }
                counted = stays
            }
            columns.append(
                "(SELECT count(*) FROM (SELECT DISTINCT child.tableoid, child.ctid\(try references(key, in: [step])) "
                    + "AND \(counted)) AS obstacles) AS obstacle_\(suspects.count)")
            suspects.append(key)
        }
        let query = tables + " SELECT " + .joined(columns, by: ", ")
        let row = try connection.onlyRow(query)
        let named = try row.int("named")
        var counts = RemovedCounts(
            named: named, cascaded: try row.int("gone") - named, nullified: try row.int("nullified"),
            newest: try rows?.date.instant(row.value("newest")), crossesBatches: try row.isTrue("crosses"))
        for (place, key) in suspects.enumerated() {
            let rowCount = try row.int("obstacle_\(place)")
            if rowCount > 0 { counts.obstacles.append(Survey.Obstacle(relationship: key, rowCount: rowCount)) }
        }
        return counts
    }

    /// The number of rows that the last step deletes by cascades, by table name.
    func cascadedCounts() throws -> [String: Int] {
        let step = stepCount - 1
        var counts: [String: Int] = [:]
        for table in reaches[step].losing {
            counts[table.name] = try connection.count(
                tables + " SELECT count(*) FROM \(connection.scope(table.name).source) AS child WHERE "
                    + "(child.tableoid, child.ctid) IN (SELECT t, c FROM gone_\(step) EXCEPT SELECT t, c FROM named_\(step))"
            )
        }
        return counts
    }

    private func isNullable(_ key: Relationship, _ reach: ReachOfDelete) throws -> Bool {
        let child = try connection.requireTable(key.source)
        let required = key.sourceAttributes.filter { child.entity.attribute(named: $0)?.isRequired == true }
        guard !required.isEmpty else { return true }
        guard reach.override == nil || key.destination != reach.losing[0].name else { return false }
        // ON DELETE SET NULL (column) keeps the other columns.
        let names = try connection.texts(
            "SELECT a.attname FROM pg_constraint f JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = ANY (f.confdelsetcols) "
                + "WHERE f.contype = 'f' AND f.confdeltype = 'n' AND f.conrelid = \(child.oid) "
                + "AND f.confrelid = \(try connection.requireTable(key.destination).oid) AND "
                + "(SELECT array_agg(k.attname::text ORDER BY p.place) FROM unnest(f.conkey) WITH ORDINALITY AS p (n, place) "
                + "JOIN pg_attribute k ON k.attrelid = f.conrelid AND k.attnum = p.n) = "
                + .list(key.sourceAttributes, "text"))
        return !names.isEmpty && Set(names).isDisjoint(with: required)
    }
}

/// The effects of the last step.
struct RemovedCounts {
    let named: Int
    let cascaded: Int
    let nullified: Int
    let newest: Instant?
    let crossesBatches: Bool
    var obstacles: [Survey.Obstacle] = []
}

extension SurveyQuery {
    /// Follows the foreign keys of a rule's delete, after the deletes of earlier rules, and completes its survey.
    func followRelationships(_ rows: SurveyRows, into survey: inout Findings) throws {
        let delete = BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(entity: request.entity, predicate: request.expired),
            relationships: request.relationships)
        var removed = RemovedRows(session)
        let reach = try ReachOfDelete(of: rows.scope.table, request.relationships, session)
        let names = Set(reach.keys.map(\.source) + reach.losing.map(\.name))
        for earlier in request.preceding {
            // Rows of compressed chunks have no places. Rows without foreign keys need none.
            let table = try session.requireTable(earlier.fetchRequest.entity)
            if !table.isHypertable || names.contains(table.name) { try removed.add(earlier) }
        }
        try removed.add(delete)
        let counts = try removed.counts(rows)
        survey.expiredCount = counts.named
        survey.related.cascadedCount = counts.cascaded
        if counts.cascaded > 0 { survey.related.cascadedCounts = try removed.cascadedCounts() }
        survey.related.nullifiedCount = counts.nullified
        survey.related.obstacles = counts.obstacles
        survey.dates.newestExpired = counts.newest
        survey.unsupported = try changingChoice(rows.scope.table, removed)
        if survey.unsupported != nil, !request.preceding.isEmpty { survey.remedy = Survey.aloneRemedy }
        // A trigger may change rows of the tables in which a batch looks for rows that `deny` protects.
        let isUnclear = request.relationships == .deny && !rows.scope.table.entity.deleteTriggers.isEmpty
        if survey.related.obstacles.isEmpty,
            reach.isEntangled || reach.overridesRules || counts.crossesBatches || isUnclear
        {
            // One statement must delete rows that refer to each other, and those that the rule's override deletes with them.
            survey.method = .whole
            survey.possibleMethods = [.whole]
        } else if survey.possibleMethods.first == .partitions {
            // A dropped partition neither cascades nor checks keys.
            survey.possibleMethods.removeFirst()
            survey.method = survey.possibleMethods[0]
            survey.reason = "nothing is dropped as a whole, because foreign keys act on its rows"
        }
    }

    /// Why the rule would choose other rows in its last batch than in its first: a relationship changes an attribute of the choice, during
    /// the rule or for an earlier one. It is nil if none does.
    private func changingChoice(_ table: PostgresTable, _ removed: RemovedRows) throws -> String? {
        let step = removed.stepCount - 1
        for key in table.entity.relationships(choosing: request.expired) {
            // Each rule may override the relationship.
            let changing = (0...step).filter { removed.reaches[$0].deleteRule(of: key) == .nullify }
            let references = try removed.references(key, in: changing)
            guard
                try session.exists(
                    removed.tables + " SELECT 1\(references) AND NOT \(removed.isGone("child", in: 0..<step)) LIMIT 1")
            else { continue }
            return key.changingChoice
        }
        return nil
    }
}
