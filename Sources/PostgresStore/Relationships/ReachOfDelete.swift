import PriceStore

/// The tables that deletes of a table can reach by foreign keys, whatever the rows are.
struct ReachOfDelete {
    /// The table itself and those that lose rows by a cascade, in the order in which they are found.
    var losing: [PostgresTable]
    /// The keys that refer to them, with the delete rules that apply to this delete.
    var keys: [Relationship] = []
    /// The request's delete rule for the keys that refer to its table; nil: the schema's rule applies.
    var override: Relationship.DeleteRule?
    /// Whether a chain of cascades leads back to the table itself.
    var leadsBack = false

    /// The keys by which more rows are deleted.
    var cascading: [Relationship] { keys.filter { $0.deleteRule == .cascade } }
    /// The keys whose reference is cleared.
    var nullifying: [Relationship] { keys.filter { [.nullify, .setDefault].contains($0.deleteRule) } }

    /// Whether the request overrides the declared delete rules: there are keys for it.
    var overridesRules: Bool { override != nil && !keys.isEmpty }

    /// The delete rule of a key for this delete.
    func deleteRule(of key: Relationship) -> Relationship.DeleteRule {
        losing.first?.entity.incomingRelationships.contains { $0.destination == key.destination } == true
            ? override ?? key.deleteRule : key.deleteRule
    }

    /// Whether the server's own counts of changed rows could count a row twice, or under the wrong kind, so that the
    /// keys must be followed in advance.
    var isEntangled: Bool {
        let sources = nullifying.map(\.source)
        return leadsBack || Set(sources).count < sources.count
            || !Set(sources).isDisjoint(with: losing.map(\.name))
    }
}

extension PostgresConnection {
    /// The tables that deletes of a table can reach; with `deny` only those that refer to it.
    func reach(of table: PostgresTable, _ rule: BatchDeleteRequest.RelationshipRule = .asDeclared) throws
        -> ReachOfDelete
    {
        var reach = ReachOfDelete(losing: [table], override: rule.deleteRule)
        var waiting = [table]
        var seen = [table.name: true]
        while let next = waiting.popLast() {
            for declared in next.entity.incomingRelationships {
                let key = declared.with(deleteRule: reach.deleteRule(of: declared))
                reach.keys.append(key)
                guard key.deleteRule == .cascade else { continue }
                if key.source == table.name { reach.leadsBack = true }
                guard rule != .deny else { continue }
                guard seen.updateValue(true, forKey: key.source) == nil, let source = try self.table(key.source) else {
                    continue
                }
                reach.losing.append(source)
                waiting.append(source)
            }
        }
        return reach
    }

    /// A key that changes rows when a reference is cleared, as a clause; nil: there is none. The rows that it changes are
    /// not followed.
    func changeBehind(_ reach: ReachOfDelete) throws -> String? {
        for cleared in try clearedReferences(reach) {
            let found = try rows(
                "WITH RECURSIVE tree (oid) AS (SELECT " + .bound("\(cleared.table.number)", "oid")
                    + """
                     UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid)
                    SELECT f.conname, f.conrelid::regclass FROM pg_constraint f JOIN tree ON tree.oid = f.confrelid
                    WHERE f.contype = 'f' AND f.confupdtype NOT IN ('a', 'r') AND EXISTS (SELECT 1 FROM pg_attribute a
                        WHERE a.attrelid = f.confrelid AND a.attnum = ANY (f.confkey) AND (a.attgenerated <> '' OR a.attname = ANY (
                    """
                    + .bound(ServerArray.text(cleared.columns), "text[]") + "))) ORDER BY f.oid"
            ).first
            if let found {
                return
                    "a reference of \(cleared.table.name) is cleared, to which the key \(found[0] ?? "") of \(found[1] ?? "") refers: what "
                    + "its ON UPDATE changes is not known"
            }
        }
        return nil
    }

    /// Whether any of the deletes can reach rows by a foreign key, so that counting alone does not predict it.
    func relationshipsAreInPlay(_ request: SurveyRequest) throws -> Bool {
        try (request.preceding.map(\.fetchRequest.entity) + [request.entity]).contains {
            try !requireTable($0).entity.incomingRelationships.isEmpty
        }
    }
}
