import PriceStore

extension ReferenceJudge {
    /// The rows of a request's entity that some holds keep, in the store as it was.
    ///
    /// - Parameter followsCascades: whether rows count with which a held row would go.
    func rows(keptBy holds: [HeldRows], _ request: SurveyRequest, followsCascades: Bool = true) -> Set<Int64> {
        var kept: [String: Set<Int64>] = [:]
        for hold in holds {
            guard let table = original.tables[hold.entity] else { continue }
            // What is unknown is held too.
            let rows = table.rows.filter { truth(hold.rows, $0, table) != false }
            kept[hold.entity, default: []].formUnion(rows.map(\.id))
        }
        let keys = followsCascades ? original.relationships.map { $0.ruled(by: request) } : []
        // A held row may not lose the reference by which it is held.
        for hold in holds {
            let names = Set(hold.rows.allAttributeNames)
            let isGenerated = original.tables[hold.entity]?.attributes.contains {
                names.contains($0.name) && $0.isGenerated
            }
            for key in keys where key.source == hold.entity && key.deleteRule == .nullify {
                guard isGenerated == true || !names.isDisjoint(with: key.sourceAttributes),
                    let table = original.tables[hold.entity]
                else { continue }
                let rows = table.rows.filter { truth(hold.rows, $0, table) != false }.map(\.id)
                kept[key.destination, default: []].formUnion(parents(key, of: Set(rows)))
            }
        }
        var isGrowing = true
        while isGrowing {
            isGrowing = false
            for key in keys where key.deleteRule == .cascade {
                let found = parents(key, of: kept[key.source] ?? [])
                guard !found.isSubset(of: kept[key.destination] ?? []) else { continue }
                kept[key.destination, default: []].formUnion(found)
                isGrowing = true
            }
        }
        return kept[request.entity] ?? []
    }

    /// The rows at which some rows point by a key.
    private func parents(_ key: Relationship, of rows: Set<Int64>) -> Set<Int64> {
        guard let parent = original.tables[key.destination], let child = original.tables[key.source] else { return [] }
        let children = child.rows.filter { rows.contains($0.id) }
        let found = parent.rows.filter { target in
            children.contains { row in
                zip(key.sourceAttributes, key.destinationAttributes).allSatisfy {
                    ReferenceValue.compare(target[$1], row[$0], parent.collation($1)) == 0
                }
            }
        }
        return Set(found.map(\.id))
    }

    /// Whether a hold of a request asks for a reference that this delete, or one before it, may clear, and whether the delete may
    /// take rows of the hold's entity.
    func hasUnusableHold(_ request: SurveyRequest) -> Bool {
        func rule(_ key: Relationship, _ entity: String, _ rule: BatchDeleteRequest.RelationshipRule)
            -> Relationship.DeleteRule
        {
            key.destination == entity ? rule.deleteRule ?? key.deleteRule : key.deleteRule
        }
        func taken(from entity: String, _ relationships: BatchDeleteRequest.RelationshipRule) -> Set<String> {
            var found: Set<String> = []
            var waiting = [entity]
            while let next = waiting.popLast() {
                for key in original.relationships
                where key.destination == next && rule(key, entity, relationships) == .cascade {
                    if found.insert(key.source).inserted { waiting.append(key.source) }
                }
            }
            return found
        }
        let deletes =
            preceding.map { ($0.fetchRequest.entity, $0.relationships) } + [(request.entity, request.relationships)]
        return request.keepers.holds.contains { hold in
            guard
                hold.entity == request.entity
                    || taken(from: request.entity, request.relationships).contains(hold.entity)
            else { return false }
            let names = Set(hold.rows.allAttributeNames)
            let isGenerated = original.tables[hold.entity]?.attributes.contains {
                names.contains($0.name) && $0.isGenerated
            }
            return original.relationships.contains { key in
                guard key.source == hold.entity, isGenerated == true || !names.isDisjoint(with: key.sourceAttributes)
                else { return false }
                return deletes.contains { entity, relationships in
                    let lost = taken(from: entity, relationships)
                    return (lost.contains(key.destination) || key.destination == entity)
                        && rule(key, entity, relationships) == .nullify
                }
            }
        }
    }

    /// Takes the rows that holds keep from those that a rule would delete, and counts them.
    func spare(_ would: Set<Int64>, _ request: SurveyRequest, into survey: inout Survey) -> Set<Int64> {
        let held = would.intersection(rows(keptBy: request.keepers.holds, request))
        survey.kept.heldCount = held.count
        survey.kept.byHold = request.keepers.holds.map { hold in
            let all = would.intersection(rows(keptBy: [hold], request))
            let own = all.intersection(rows(keptBy: [hold], request, followsCascades: false))
            return .init(hold: hold.name, rowCount: all.count, relatedCount: all.count - own.count)
        }
        return would.subtracting(held)
    }

    /// What a condition on a date says of a row: true or false.
    func truth(of date: DateAttribute, _ row: ReferenceStore.Row, _ instant: Instant, isBefore: Bool) -> Bool {
        guard let reading = ReferenceDate(row[date.name], date, cutoff: instant).reading else { return false }
        if isBefore { return reading.isExpired }
        if date.encoding.isNumeric, case .real(let number) = row[date.name] {
            return number >= date.encoding.lowerBound(instant).real
        }
        return reading.start >= instant
    }
}
