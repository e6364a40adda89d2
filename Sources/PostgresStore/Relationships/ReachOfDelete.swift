import PriceStore

/// The tables that deletes of a table can reach by foreign keys, whatever the rows are.
struct ReachOfDelete {
    /// The table itself and those that lose rows by a cascade, in the order in which they are found.
    var losing: [PostgresTable]
    /// The keys that point at them, with the delete rules that hold for this delete.
    var keys: [Relationship] = []
    /// The request's own delete rule for the keys that point at its table; nil: the schema's holds.
    var word: Relationship.DeleteRule?
    /// Whether a chain of cascades leads back to the table itself.
    var leadsBack = false

    /// The keys that take rows along.
    var cascading: [Relationship] { keys.filter { $0.deleteRule == .cascade } }
    /// The keys whose reference is taken away.
    var nullifying: [Relationship] { keys.filter { [.nullify, .setDefault].contains($0.deleteRule) } }

    /// Whether the request's own word is to be carried out: there are keys for it.
    var hasOwnWord: Bool { word != nil && !keys.isEmpty }

    /// The delete rule of a key for this delete.
    func deleteRule(of key: Relationship) -> Relationship.DeleteRule {
        key.destination == losing.first?.name ? word ?? key.deleteRule : key.deleteRule
    }

    /// Whether the server's own counts of changed rows could count a row twice, or as something else than it is, so that
    /// only following the keys beforehand tells.
    var isEntangled: Bool {
        let sources = nullifying.map(\.source)
        return leadsBack || Set(sources).count < sources.count
            || !Set(sources).isDisjoint(with: losing.map(\.name))
    }
}

extension PostgresConnection {
    /// The tables that deletes of a table can reach; with `deny` only those that point at it.
    func reach(of table: PostgresTable, _ rule: BatchDeleteRequest.RelationshipRule = .asDeclared) throws
        -> ReachOfDelete
    {
        var reach = ReachOfDelete(losing: [table], word: rule.deleteRule)
        var waiting = [table]
        var seen = [table.name: true]
        while let next = waiting.popLast() {
            for declared in next.entity.incomingRelationships {
                let key = declared.with(deleteRule: reach.deleteRule(of: declared))
                reach.keys.append(key)
                guard key.deleteRule == .cascade, rule != .deny else { continue }
                if key.source == table.name { reach.leadsBack = true }
                guard seen.updateValue(true, forKey: key.source) == nil, let source = try self.table(key.source) else {
                    continue
                }
                reach.losing.append(source)
                waiting.append(source)
            }
        }
        return reach
    }

    /// Whether a foreign key points at one of these tables.
    func reachByKeys(_ entities: [String]) throws -> Bool {
        try entities.contains { try !requireTable($0).entity.incomingRelationships.isEmpty }
    }

    /// Whether any of the deletes can reach rows by a foreign key, so that counting alone does not foretell it.
    func relationshipsAreInPlay(_ request: SurveyRequest) throws -> Bool {
        try reachByKeys(request.preceding.map(\.fetchRequest.entity) + [request.entity])
    }
}
