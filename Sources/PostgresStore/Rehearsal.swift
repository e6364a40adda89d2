public import PriceStore

/// A temporary table for new rows that a dry run predicts, beside a real table.
struct ShadowTable {
    let table: String
    /// The temporary table with the places of real rows that new rows replace, in SQL.
    let replaced: String
    /// What the real table has that decides about inserts and a copy has not, as words; nil: nothing.
    let obstacle: String?
    /// The columns whose values only the server gives.
    let numbered: Set<String>
    /// The rows of both tables after the inserts, for a FROM clause. Places and table numbers are columns, so rows are identified as in a
    /// real table.
    let source: String
}

extension PostgresDatabase {
    /// Creates the temporary tables. It needs the TEMPORARY privilege on the database, and changes nothing else.
    func makeShadows(of entities: [String]) throws(StoreError) {
        do {
            try execute("BEGIN READ WRITE")
            for entity in entities {
                // The check of the policy reports an entity that does not exist or is not a table.
                guard let table = try table(entity), table.entity.kind == .table, shadows[table.oid] == nil,
                    try !isSharded(table)
                else { continue }
                shadows[table.oid] = try makeShadow(of: table)
            }
            try execute("COMMIT")
        } catch {
            throw StoreError(error, store: name, doing: "preparing to rehearse pending rows")
        }
    }

    /// Whether a table is sharded: Citus cannot join the rows of several servers with a temporary table by their places.
    func isSharded(_ table: PostgresTable) throws -> Bool {
        try table.isDistributed && exists(CitusSQL.isSharded(table.oid))
    }

    private func makeShadow(of table: PostgresTable) throws -> ShadowTable {
        let shadow = "retention_shadow_\(table.oid)"
        let replaced = "retention_replaced_\(table.oid)"
        try execute(
            "CREATE TEMP TABLE \(shadow) (LIKE \(table.sql) INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED "
                + "INCLUDING INDEXES)")
        try execute("CREATE TEMP TABLE \(replaced) (t oid, c tid)")
        if table.isPartitioned {
            let parts = try texts(
                "SELECT '(' || coalesce(pg_get_partition_constraintdef(relid), 'true') || ')' FROM pg_partition_tree(\(table.oid)) "
                    + "WHERE isleaf AND level > 0")
            let hasPart = parts.isEmpty ? "false" : parts.joined(separator: " OR ")
            try execute("ALTER TABLE \(shadow) ADD CONSTRAINT \"a partition for the row\" CHECK (\(hasPart))")
        }
        // A rehearsal must not advance the sequence of a column.
        let numbered = try texts(
            "SELECT a.attname FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
                + "WHERE a.attnum > 0 AND NOT a.attisdropped AND (a.attidentity <> '' OR "
                + "pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%') AND a.attrelid = \(table.oid)")
        if !numbered.isEmpty {
            try execute("CREATE TEMP SEQUENCE \(shadow)_numbers INCREMENT -1 START -1")
            for name in numbered {
                try execute(
                    "ALTER TABLE \(shadow) ALTER COLUMN \(name.quotedIdentifier) SET DEFAULT "
                        + "nextval('pg_temp.\(shadow)_numbers')")
            }
        }
        let columns = (["tableoid", "ctid"] + table.entity.attributes.map(\.name.quotedIdentifier))
            .joined(separator: ", ")
        let always = try texts(
            "SELECT attname FROM pg_attribute WHERE attidentity = 'a' AND NOT attisdropped AND attrelid = \(table.oid)")
        return ShadowTable(
            table: "pg_temp.\(shadow)", replaced: "pg_temp.\(replaced)", obstacle: try obstacle(toCopying: table),
            numbered: Set(always),
            source:
                "(SELECT \(columns) FROM \(table.sql) AS stored WHERE NOT EXISTS (SELECT 1 FROM pg_temp.\(replaced) AS gone "
                + "WHERE gone.t = stored.tableoid AND gone.c = stored.ctid) UNION ALL SELECT \(columns) FROM pg_temp.\(shadow))"
        )
    }
}

extension PostgresDatabase {
    /// What a table has that decides about inserts and that a copy of it has not.
    private func obstacle(toCopying table: PostgresTable) throws -> String? {
        let oid = table.oid
        // Bit 2 of a trigger's type: on INSERT.
        let questions: [(String, SQLFragment)] = [
            (
                "a trigger on INSERT",
                "SELECT 1 FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 4 <> 0 AND tgrelid = \(oid)"
            ),
            (
                "a rule on INSERT",
                "SELECT 1 FROM pg_rewrite WHERE ev_type = '3' AND ev_enabled <> 'D' AND ev_class = \(oid)"
            ),
            (
                "a key that is checked later",
                "SELECT 1 FROM pg_constraint WHERE condeferrable AND contype IN ('u', 'p') AND conrelid = \(oid)"
            ),
            (
                "an exclusion constraint, or a unique index with a condition or an expression",
                "SELECT 1 FROM pg_index WHERE (indisexclusion OR indisunique AND coalesce(indpred, indexprs) IS NOT NULL) "
                    + "AND indrelid = \(oid)"
            ),
        ]
        if let found = try questions.first(where: { try exists($0.1) }) { return found.0 }
        return try table.isHypertable && !rows(TimescaleSQL.compressedChunks(table)).isEmpty ? "compressed chunks" : nil
    }
}

extension PostgresReader {
    /// Adds a row to the rehearsal, and returns what a writer would do with it.
    public func insert(
        entity: String, values: [String: StoreValue], onConflict: ConflictPolicy
    ) throws(StoreError) -> InsertOutcome {
        do {
            let table = try requireTable(entity)
            if try isSharded(table) {
                throw StoreError(
                    .unpredictable, store: name,
                    message: "a dry run cannot count the pending rows of \(table.name): it is distributed "
                        + "(unsupported_schema)",
                    hint: "a run saves the rows")
            }
            guard let shadow = shadows[table.oid] else {
                throw StoreError(
                    .unpredictable, store: name,
                    message: "no rehearsal of \(entity) was prepared when the store was opened")
            }
            if let obstacle = shadow.obstacle {
                throw StoreError(
                    .unpredictable, store: name,
                    message:
                        "a dry run cannot count the pending rows of \(table.name): it has \(obstacle) (unsupported_schema)",
                    hint: "a run saves the rows")
            }
            if let column = values.keys.first(where: shadow.numbered.contains) {
                throw Rejection(reason: "cannot insert a non-DEFAULT value into column \"\(column)\"")
            }
            return try transaction(.normal) { try rehearse(values, table, shadow, onConflict) }
        } catch let outcome as Rejection {
            return outcome.isIgnored ? .ignored : .rejected(outcome.reason)
        } catch {
            return .rejected(try refusal(error, entity))
        }
    }

    /// An error that undoes the savepoint.
    private struct Rejection: Error {
        var reason: String
        var isIgnored = false
    }

    private func rehearse(
        _ values: [String: StoreValue], _ table: PostgresTable, _ shadow: ShadowTable, _ onConflict: ConflictPolicy
    ) throws -> InsertOutcome {
        let scope = RowScope(table)
        let inserted = try texts(
            insertion(of: [values], scope, onConflict, into: shadow.table) + " RETURNING \(RowScope.alias).ctid")
        let replaceable = try replaceable(onConflict, scope)
        guard let place = inserted.first else {
            guard let replaceable, try !isStored(values, scope, in: shadow.table) else { return .ignored }
            return .rejected(replaceable.otherwise)
        }
        let names = try named(values, scope).map(\.attribute.name)
        try checkKeys(table, shadow, place, values, names, onConflict)
        for key in table.entity.relationships {
            let parent = try self.scope(key.destination)
            let refers = zip(key.sourceAttributes, key.destinationAttributes).map {
                "new.\($0.quotedIdentifier) = \(RowScope.alias).\($1.quotedIdentifier)"
            }
            let isNull = key.sourceAttributes.map { "new.\($0.quotedIdentifier) IS NULL" }.joined(separator: " OR ")
            let dangles = try exists(
                "SELECT 1 FROM \(shadow.table) AS new WHERE new.ctid = " + .bound(place, "tid")
                    + " AND NOT (\(isNull)) AND NOT EXISTS (SELECT 1 FROM \(parent.from) WHERE \(refers.joined(separator: " AND ")))"
            )
            if dangles { throw Rejection(reason: "the row it refers to is not in \(key.destination)") }
        }
        return .saved
    }

    /// Compares a rehearsed row with the real rows of the same key.
    private func checkKeys(
        _ table: PostgresTable, _ shadow: ShadowTable, _ place: String, _ values: [String: StoreValue],
        _ names: [String], _ onConflict: ConflictPolicy
    ) throws {
        let keys = table.indexes.filter { $0.isUnique && $0.isOrdered && !$0.columns.contains(nil) }
        let target = replacedKey(names, table)
        for key in keys {
            let columns = key.columns.compactMap { $0?.quotedIdentifier }
            let same = columns.map { "stored.\($0) = new.\($0)" }.joined(separator: " AND ")
            let isStored =
                " FROM \(table.sql) AS stored, \(shadow.table) AS new WHERE new.ctid = "
                + SQLFragment.bound(place, "tid")
                + " AND \(same) AND NOT EXISTS (SELECT 1 FROM \(shadow.replaced) AS gone "
                + "WHERE gone.t = stored.tableoid AND gone.c = stored.ctid)"
            guard try exists("SELECT 1" + isStored) else { continue }
            switch onConflict {
            case .fail: throw Rejection(reason: "duplicate key value violates unique constraint \"\(key.name)\"")
            case .ignore: throw Rejection(reason: "", isIgnored: true)
            case .replace:
                if let replaceable = try replaceable(onConflict, RowScope(table)) {
                    let stored = columns.map { "\(RowScope.alias).\($0) = new.\($0)" }.joined(separator: " AND ")
                    let isHeld = try exists(
                        "SELECT 1 FROM \(RowScope(table).from), \(shadow.table) AS new WHERE new.ctid = "
                            + .bound(place, "tid") + " AND \(stored) AND (" + replaceable.condition + ") IS NOT TRUE")
                    if isHeld {
                        let isEqual = try self.isStored(values, RowScope(table))
                        throw Rejection(reason: replaceable.otherwise, isIgnored: isEqual)
                    }
                }
                guard Set(key.columns.compactMap(\.self)) == target.map(Set.init) else {
                    throw Rejection(reason: "duplicate key value violates unique constraint \"\(key.name)\"")
                }
                // Attributes that the new row does not name keep their old values.
                let kept = table.entity.attributes.filter { !names.contains($0.name) && !$0.isGenerated }.map {
                    "\($0.name.quotedIdentifier) = stored.\($0.name.quotedIdentifier)"
                }
                try execute("INSERT INTO \(shadow.replaced) SELECT stored.tableoid, stored.ctid" + isStored)
                if !kept.isEmpty {
                    try execute(
                        "UPDATE \(shadow.table) AS new SET \(kept.joined(separator: ", ")) FROM \(table.sql) AS stored "
                            + "WHERE new.ctid = " + .bound(place, "tid") + " AND \(same)")
                }
                return
            }
        }
    }
}
