import PriceStore

/// The tables that deletes from a table can reach by foreign keys, for any rows.
struct ReachOfDelete {
    let session: PostgresDatabase
    /// The table and those that lose rows by a cascade, in the order in which they are found.
    private(set) var losing: [PostgresTable]
    /// The keys that refer to these tables, with the delete rules for this delete.
    private(set) var keys: [Relationship] = []
    /// What the request does with rows that refer to its table.
    let rule: BatchDeleteRequest.RelationshipRule
    /// A key by which cascades return to a table on their path; nil if there is none.
    private(set) var circle: Relationship?

    /// With `deny`, only the tables that refer to the table.
    init(of table: PostgresTable, _ rule: BatchDeleteRequest.RelationshipRule, _ session: PostgresDatabase) throws {
        (self.session, losing, self.rule) = (session, [table], rule)
        try follow(table, [], cascades: rule != .deny)
    }

    private mutating func follow(_ table: PostgresTable, _ path: Set<String>, cascades: Bool) throws {
        let path = path.union([table.name])
        for declared in table.entity.incomingRelationships {
            let key = declared.with(deleteRule: deleteRule(of: declared))
            keys.append(key)
            guard key.deleteRule == .cascade else { continue }
            if path.contains(key.source) { circle = circle ?? key }
            guard cascades, !losing.contains(where: { $0.name == key.source }) else { continue }
            let source = try session.requireTable(key.source)
            losing.append(source)
            try follow(source, path, cascades: true)
        }
    }

    var cascading: [Relationship] { keys.filter { $0.deleteRule == .cascade } }
    /// The keys that clear a reference.
    var nullifying: [Relationship] { keys.filter { [.nullify, .setDefault].contains($0.deleteRule) } }

    var override: Relationship.DeleteRule? { rule.deleteRule }
    /// Whether the request overrides declared delete rules of existing keys.
    var overridesRules: Bool { override != nil && !keys.isEmpty }

    /// The delete rule of a key for this delete.
    func deleteRule(of key: Relationship) -> Relationship.DeleteRule {
        losing[0].entity.incomingRelationships.contains { $0.destination == key.destination }
            ? override ?? key.deleteRule : key.deleteRule
    }

    /// The references that deletes can clear, by table.
    func cleared() throws -> [ClearedReferences] {
        try Dictionary(grouping: nullifying, by: \.source).sorted { $0.key < $1.key }.map { source, keys in
            let table = try session.requireTable(source)
            let names = Set(keys.flatMap(\.sourceAttributes))
            return ClearedReferences(
                table: table, keys: keys, columns: table.entity.attributes.map(\.name).filter(names.contains))
        }
    }

    /// Whether the server's own counts could count a changed row twice, or as the wrong kind. The keys must then be followed in advance.
    var isEntangled: Bool {
        let sources = nullifying.map(\.source)
        return circle != nil || Set(sources).count < sources.count
            || !Set(sources).isDisjoint(with: losing.map(\.name))
    }

    /// A key that changes rows after a cleared reference, as a clause; nil if there is none. These rows are not followed.
    func changeBehind() throws -> String? {
        for cleared in try cleared() {
            let found = try session.row(
                """
                \(PostgresDatabase.tree("\(cleared.table.oid)::oid"))
                SELECT f.conname, f.conrelid::regclass::text AS source FROM pg_constraint f JOIN tree ON tree.oid = f.confrelid
                WHERE f.contype = 'f' AND f.confupdtype NOT IN ('a', 'r') AND EXISTS (SELECT 1 FROM pg_attribute a
                    WHERE a.attrelid = f.confrelid AND a.attnum = ANY (f.confkey) AND (a.attgenerated <> '' OR a.attname = ANY (
                """
                    + .list(cleared.columns, "text") + "))) ORDER BY f.oid")
            if let found {
                return
                    "a reference of \(cleared.table.name) is cleared, to which the key \(try found.text("conname")) of \(try found.text("source")) refers: what "
                    + "its ON UPDATE changes is not known"
            }
        }
        return nil
    }

    /// Whether a cascade, or the delete itself, can delete rows of a table.
    func takes(_ table: PostgresTable, byCascade: Bool = false) throws -> Bool {
        try losing.dropFirst(byCascade ? 1 : 0).contains { try session.areRelated(table, $0) }
    }

    /// The keys with any of some attributes of a table that a delete can clear.
    func cleared(_ attributes: [String], of table: PostgresTable) throws -> [Relationship] {
        try nullifying.filter { key in
            let child = try session.requireTable(key.source)
            return try child.entity.uses(key, attributes) && session.areRelated(table, child)
        }
    }

    /// A trigger or rule of the store, with its table, that acts on deleted rows or cleared references; nil if there is none.
    func trigger() throws -> String? {
        for table in losing {
            if let name = table.entity.deleteTriggers.first { return "\(name) of \(table.name)" }
        }
        for key in nullifying {
            let trigger = try session.requireTable(key.source).entity.updateTriggers.first {
                $0.attributes.isEmpty
                    || !Set(key.sourceAttributes.map { $0.lowercased() }).isDisjoint(with: $0.attributes)
            }
            if let trigger { return "\(trigger.name) of \(key.source)" }
        }
        return nil
    }

    func firesTriggers() throws -> Bool { try trigger() != nil }

    // MARK: The schema

    /// The tables from which a delete removes rows, or in which it changes rows.
    private func changed() throws -> [PostgresTable] {
        let others = Set(nullifying.map(\.source)).subtracting(losing.map(\.name))
        return try losing + others.sorted().map { try session.requireTable($0) }
    }

    /// Throws if a table that a delete reaches has changed since the plan. The transaction has locked the tables, so none changes before it
    /// ends.
    func requireSchema() throws {
        try session.requireSchema(of: changed())
    }

    /// The statement that locks the tables of a delete before the transaction sees a state of them. After it, no column, key or trigger
    /// changes.
    func locks() throws -> String {
        let tables = try changed().filter { !$0.isDistributed }
        return ["ACCESS SHARE", "ROW EXCLUSIVE"].map { mode in
            let names = tables.filter { $0.lockMode == mode }.map { $0.isHypertable ? "ONLY \($0.sql)" : $0.sql }
            return names.isEmpty ? "" : "LOCK TABLE \(names.joined(separator: ", ")) IN \(mode) MODE; "
        }.joined()
    }

    /// Why rows of a delete could be archived twice, as a clause: a table is a part of another one; nil if none is.
    func overlap() throws -> String? {
        let tables = try changed()
        for table in tables {
            let parts = try session.descendants(of: table)
            guard let part = tables.first(where: { parts.contains($0.oid) }) else { continue }
            return "rows of \(part.name), which are rows of \(table.name), have foreign keys of their own"
        }
        return nil
    }
}

extension BatchDeleteRequest.RelationshipRule {
    /// The rule by which keys are followed. What `deny` refuses is what the schema declares.
    var followed: Self { self == .deny ? .asDeclared : self }
}

/// The references of a table that deletes can clear.
struct ClearedReferences {
    let table: PostgresTable
    let keys: [Relationship]
    let columns: [String]
}

extension PostgresDatabase {
    /// Whether foreign keys refer to the rows of a request, or an earlier delete reaches its table by one, so that counting alone does not
    /// predict the delete.
    func relationshipsAreInPlay(_ request: SurveyRequest) throws -> Bool {
        let table = try requireTable(request.entity)
        guard table.entity.incomingRelationships.isEmpty else { return true }
        return try request.preceding.contains { earlier in
            let reach = try ReachOfDelete(of: requireTable(earlier.fetchRequest.entity), earlier.relationships, self)
            let reached = try reach.losing.dropFirst() + reach.nullifying.map { try requireTable($0.source) }
            return try reached.contains { try areRelated($0, table) }
        }
    }
}
