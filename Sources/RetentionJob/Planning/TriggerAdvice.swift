package import PriceStore

/// The triggers of the store that a delete fires. Their effects on other rows cannot be predicted.
package enum TriggerAdvice {
    /// The triggers of an entity and of the entities whose rows are deleted or changed with it, each with its entity: `audit of Price`,
    /// `guard of Price (may refuse the delete)`.
    package static func names(
        of entity: Entity, _ rule: BatchDeleteRequest.RelationshipRule, in reader: any RetentionReader
    ) throws(StoreError) -> [String] {
        var found: [String] = []
        var seen: Set<String> = [entity.name.folded]
        var waiting = [entity]
        func add(_ name: String, of entity: Entity) {
            let refuses = entity.refusingTriggers.contains(name) ? " (may refuse the delete)" : ""
            let text = "\(name) of \(entity.name)\(refuses)"
            if !found.contains(text) { found.append(text) }
        }
        while let next = waiting.popLast() {
            for name in next.deleteTriggers { add(name, of: next) }
            for key in next.incomingRelationships where rule != .deny {
                guard let source = try reader.entity(named: key.source) else { continue }
                switch next.name == entity.name ? rule.deleteRule ?? key.deleteRule : key.deleteRule {
                case .cascade: if seen.insert(source.name.folded).inserted { waiting.append(source) }
                case .nullify:
                    let changed = Set(key.sourceAttributes.map { $0.folded })
                    for trigger in source.updateTriggers
                    where trigger.attributes.isEmpty || !changed.isDisjoint(with: trigger.attributes) {
                        add(trigger.name, of: source)
                    }
                case .restrict, .noAction, .setDefault: break
                }
            }
        }
        return found
    }
}
