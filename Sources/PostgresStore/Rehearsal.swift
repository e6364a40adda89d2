public import PriceStore

/// A temporary table for new rows that a dry run predicts, beside a real table.
struct ShadowTable {
    let table: String
    /// The temporary table with the places of real rows that new rows replace, in SQL.
    let replaced: String
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
        return ShadowTable(
            table: "pg_temp.\(shadow)", replaced: "pg_temp.\(replaced)",
            source:
                "(SELECT \(columns) FROM \(table.sql) AS stored WHERE NOT EXISTS (SELECT 1 FROM pg_temp.\(replaced) AS gone "
                + "WHERE gone.t = stored.tableoid AND gone.c = stored.ctid) UNION ALL SELECT \(columns) FROM pg_temp.\(shadow))"
        )
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
            // Bit 2 of the type: on INSERT.
            if try exists(
                "SELECT 1 FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 4 <> 0 "
                    + "AND tgrelid = \(table.oid) LIMIT 1")
            {
                throw StoreError(
                    .unpredictable, store: name,
                    message: "a dry run cannot count the pending rows of \(table.name): it has a trigger on INSERT "
                        + "(unsupported_schema)",
                    hint: "a run saves the rows, and the trigger runs")
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
                guard columns.count == key.columns.compactMap({ $0 }).filter(names.contains).count else {
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
