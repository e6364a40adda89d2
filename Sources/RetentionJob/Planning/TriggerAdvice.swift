package import PriceStore

/// The triggers of the store that a delete sets off. What they do to other rows nobody can count beforehand.
package enum TriggerAdvice {
    /// The DELETE triggers of an entity and of those whose rows go with it, each with its entity: `audit of Price`.
    package static func names(
        of entity: Entity, _ rule: BatchDeleteRequest.RelationshipRule, in reader: any StoreReader
    ) throws(StoreError) -> [String] {
        var found: [String] = []
        var seen: Set<String> = [entity.name.lowercased()]
        var waiting = [entity]
        while let next = waiting.popLast() {
            found += next.deleteTriggers.map { "\($0) of \(next.name)" }
            for key in next.incomingRelationships {
                let declared = next.name == entity.name ? rule.deleteRule ?? key.deleteRule : key.deleteRule
                guard declared == .cascade, rule != .deny, seen.insert(key.source.lowercased()).inserted,
                    let source = try reader.entity(named: key.source)
                else { continue }
                waiting.append(source)
            }
        }
        return found
    }
}
