import PriceStore
import RetentionPolicy

/// Which rules choose their rows by references that the deletes of other rules clear.
///
/// All rules decide on the original state of the store, so such a rule comes before the others: rows that lose their reference in a run
/// expire for the next run. If two rules do that to each other, the policy order stays, and the second is refused on nights when it
/// matters.
struct RuleOrder {
    private struct Delete: Hashable {
        var entity: String
        var relationships: BatchDeleteRequest.RelationshipRule
    }

    private struct Question: Hashable {
        var delete: Delete
        var entity: String
        var attributes: [String]
    }

    /// By rule name, the rules that choose their rows by what its delete clears.
    private(set) var choosing: [String: Set<String>] = [:]
    /// The names of all these rules.
    var late: Set<String> { choosing.values.reduce(into: []) { $0.formUnion($1) } }

    init(_ rules: [Rule], reader: any RetentionReader) throws(StoreError) {
        // There may be thousands of rules for few entities.
        var entities: [String: Entity] = [:]
        for rule in rules where entities[rule.entity] == nil {
            entities[rule.entity] = try reader.entity(named: rule.entity)
        }
        let enabled = rules.compactMap { rule in rule.isEnabled ? entities[rule.entity].map { (rule, $0) } : nil }
        var deletes: [Delete: [String]] = [:]
        for (rule, entity) in enabled {
            deletes[Delete(entity: entity.name, relationships: rule.relationships), default: []].append(
                rule.name)
        }
        var known: [Question: Bool] = [:]
        for (rule, entity) in enabled where rule.rows != .all {
            let names = entity.relationships(choosing: rule.rows).flatMap(\.sourceAttributes)
            guard !names.isEmpty else { continue }
            for (delete, deleting) in deletes {
                let question = Question(delete: delete, entity: entity.name, attributes: names)
                let isCleared: Bool
                if let answer = known[question] {
                    isCleared = answer
                } else {
                    isCleared = try !reader.clearedAttributes(
                        names, of: entity.name, byDeletesFrom: delete.entity, delete.relationships
                    ).isEmpty
                    known[question] = isCleared
                }
                guard isCleared else { continue }
                for name in deleting where name != rule.name { choosing[name, default: []].insert(rule.name) }
            }
        }
    }
}
