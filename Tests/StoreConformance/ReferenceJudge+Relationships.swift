package import PriceStore

extension ReferenceJudge {
    private struct Place: Hashable {
        var table: String
        var id: Int64
    }

    /// Follows the foreign keys of the rows in `verdict.deleted` and completes the verdict; unless it is refused, the
    /// rows go from ``current``.
    mutating func carryOut(_ request: SurveyRequest, into verdict: inout Verdict) {
        let keys = current.relationships.map { $0.ruled(by: request) }
        let named = Set(verdict.deleted.map { Place(table: request.entity, id: $0) })
        var gone = named
        if request.relationships != .deny {
            var frontier = gone
            while !frontier.isEmpty {
                var reached: Set<Place> = []
                for key in keys where key.deleteRule == .cascade {
                    reached.formUnion(sources(of: key, pointingAt: frontier).subtracting(gone))
                }
                gone.formUnion(reached)
                frontier = reached
            }
        }
        for place in gone.subtracting(named) { verdict.cascaded[place.table, default: []].insert(place.id) }
        verdict.survey.related.cascadedCount = gone.count - named.count

        var changes: [Place: [String: StoreValue]] = [:]
        var looksAt = request.attributes
        if original.tables[request.entity]?.attributes.contains(where: { looksAt.contains($0.name) && $0.isGenerated })
            == true
        {
            // What a generated column is made of is nobody's business here.
            looksAt.formUnion(current.relationships.filter { $0.source == request.entity }.flatMap(\.sourceAttributes))
        }
        for key in keys {
            let all = sources(of: key, pointingAt: gone)
            let staying = all.subtracting(gone)
            let obstacles: Set<Place>
            switch key.deleteRule {
            // A row that the same rule deletes is an obstacle too: its batch may come later.
            case .restrict: obstacles = original.restrictSparesRowsThatGo ? staying : all
            case .noAction:
                obstacles = original.restrictSparesRowsThatGo ? staying : all.filter { !refersToItself($0, by: key) }
            case .nullify where !isNullable(key), .setDefault: obstacles = all
            case .nullify, .cascade:
                obstacles = request.relationships != .deny ? [] : original.restrictSparesRowsThatGo ? staying : all
            }
            if !obstacles.isEmpty {
                verdict.survey.related.obstacles.append(.init(relationship: key, rowCount: obstacles.count))
            }
            guard key.deleteRule == .nullify else { continue }
            for place in staying {
                for name in key.sourceAttributes { changes[place, default: [:]][name] = .null }
            }
            if key.source == request.entity, !all.isEmpty, !looksAt.isDisjoint(with: key.sourceAttributes) {
                verdict.dependsOnNullified = true
            }
        }
        for place in changes.keys { verdict.nullified[place.table, default: []].insert(place.id) }
        verdict.survey.related.nullifiedCount = changes.count
        let changedBefore = changedRows[request.entity]?.contains { !looksAt.isDisjoint(with: $0) } ?? false
        if changedBefore { verdict.dependsOnNullified = true }
        // A rule that expires nothing is not carried out, so that it does not matter.
        if verdict.survey.expiredAloneCount == 0 { verdict.dependsOnNullified = false }
        guard !verdict.isRefused, !verdict.isWithheld, !verdict.dependsOnNullified else { return }
        for (place, values) in changes {
            guard var table = current.tables[place.table],
                let index = table.rows.firstIndex(where: { $0.id == place.id })
            else { continue }
            for (name, value) in values { table.rows[index].values[name] = value }
            current.tables[place.table] = table
        }
        for table in current.tables.keys {
            current.tables[table]?.rows.removeAll { gone.contains(Place(table: table, id: $0.id)) }
        }
    }

    private func refersToItself(_ place: Place, by key: Relationship) -> Bool {
        sources(of: key, pointingAt: [place]).contains(place)
    }

    /// Whether the cascades of a request lead back to a table that they have passed.
    func hasCircle(_ request: SurveyRequest) -> Bool {
        guard request.relationships != .deny else { return false }
        let keys = current.relationships.map { $0.ruled(by: request) }.filter { $0.deleteRule == .cascade }
        func leadsBack(_ name: String, _ path: Set<String>) -> Bool {
            keys.contains { key in
                key.destination == name
                    && (path.contains(key.source) || leadsBack(key.source, path.union([key.source])))
            }
        }
        return leadsBack(request.entity, [request.entity])
    }

    /// Whether a request clears references of a table with generated columns, which SQLite's engine refuses.
    func clearsFixed(_ request: SurveyRequest) -> Bool {
        guard request.relationships != .deny, !original.restrictSparesRowsThatGo else { return false }
        let keys = current.relationships.map { $0.ruled(by: request) }
        var losing: Set<String> = [request.entity]
        while let key = keys.first(where: {
            $0.deleteRule == .cascade && losing.contains($0.destination) && !losing.contains($0.source)
        }) {
            losing.insert(key.source)
        }
        return keys.contains {
            $0.deleteRule == .nullify && losing.contains($0.destination)
                && original.tables[$0.source]?.attributes.contains(where: \.isGenerated) == true
        }
    }

    /// The columns of an entity that rules before this one have changed.
    private var changedRows: [String: [Set<String>]] {
        var changed: [String: [Set<String>]] = [:]
        for (name, table) in current.tables {
            for row in table.rows {
                guard let before = original.tables[name]?.rows.first(where: { $0.id == row.id }) else { continue }
                let columns = row.values.filter { !ReferenceValue.isSame($0.value, before[$0.key]) }.map(\.key)
                if !columns.isEmpty { changed[name, default: []].append(Set(columns)) }
            }
        }
        return changed
    }

    private func isNullable(_ key: Relationship) -> Bool {
        key.sourceAttributes.allSatisfy { name in
            current.tables[key.source]?.attributes.first { $0.name == name }?.isRequired != true
        }
    }

    /// The rows that point by a key at one of some rows.
    private func sources(of key: Relationship, pointingAt places: Set<Place>) -> Set<Place> {
        guard let parent = current.tables[key.destination], let child = current.tables[key.source] else { return [] }
        let parents = parent.rows.filter { places.contains(Place(table: key.destination, id: $0.id)) }
        var found: Set<Place> = []
        for row in child.rows {
            let points = parents.contains { target in
                zip(key.sourceAttributes, key.destinationAttributes).allSatisfy {
                    ReferenceValue.compare(target[$1], row[$0], parent.collation($1)) == 0
                }
            }
            if points { found.insert(Place(table: key.source, id: row.id)) }
        }
        return found
    }
}

extension SurveyRequest {
    /// The attributes by which the rule chooses its rows, and by which others choose what they keep of them.
    package var attributes: Set<String> {
        Set(
            [date.name] + filter.attributes + (keepers.keepLast?.groupedBy ?? []) + (keepers.thinning?.groupedBy ?? [])
                + (ownKeepers + keepers.others).flatMap(\.allAttributeNames)
                + keepers.holds.filter { $0.entity == entity }.flatMap(\.rows.allAttributeNames))
    }
}

extension StorePredicate {
    /// The attributes that a `where` looks at.
    fileprivate var attributes: [String] {
        switch self {
        case .compare(let name, _, _), .isIn(let name, _), .isNull(let name), .isNotNull(let name): [name]
        case .and(let parts), .or(let parts): parts.flatMap(\.attributes)
        case .notTrue(let part), .not(let part): part.attributes
        case .all, .date, .spares, .key, .between, .begins, .contains, .dateCompare,
            .declaredDate,
            .objectIDs:
            []
        }
    }
}

extension Relationship {
    /// The relationship with the delete rule that a request gives it.
    func ruled(by request: SurveyRequest) -> Relationship {
        guard destination == request.entity else { return self }
        let rule: DeleteRule
        switch request.relationships {
        case .asDeclared, .deny: return self
        case .cascade: rule = .cascade
        case .nullify: rule = .nullify
        }
        return Relationship(
            source: source, sourceAttributes: sourceAttributes, destination: destination,
            destinationAttributes: destinationAttributes, deleteRule: rule, isIndexed: isIndexed)
    }
}
