import PriceStore
import RetentionJob
import RetentionPolicy

/// Tables of one shape, such as one for each pair, get one rule with a pattern.
extension PolicyDraft {
    /// Tables for which one rule is proposed, in the order of the store.
    struct Family {
        var pattern: String
        var members: [Inspected]
    }

    /// The pattern of tables that are named like one; nil: its name has one word, or signs of a pattern.
    static func pattern(like name: String) -> String? {
        let words = name.split(separator: "_", omittingEmptySubsequences: false)
        guard let last = words.last, words.count > 1, !words[0].isEmpty, EntityPattern(name) == nil else { return nil }
        // Candles of a minute and of a day have different ages.
        let isUnit = last.first?.isNumber == true && last.last?.isLetter == true && words.count > 2
        return "\(words[0])_*\(isUnit ? "_\(last)" : "")"
    }

    /// The tables of a pattern; nil: they are fewer than three, or not all have the shape and the date of one of them.
    func family(of entity: Inspected, _ date: DateInspection, _ pattern: String) -> Family? {
        let names = EntityPattern(pattern)?.matches(in: inspection.entities.map(\.entity.name)) ?? [:]
        let members = inspection.entities.filter { names[$0.entity.name] != nil }
        func isOfIt(_ other: Inspected) -> Bool {
            guard isAlike(other.entity, entity.entity) else { return false }
            guard other.rowCount != 0, let found = self.date(of: other) else { return other.rowCount == 0 }
            return found.attribute.name == date.attribute.name
                && found.recognition.encoding == date.recognition.encoding
                && isAhead(found) == isAhead(date) && (found.archiveObstacle == nil) == (date.archiveObstacle == nil)
        }
        return members.count < 3 || !members.allSatisfy(isOfIt) ? nil : Family(pattern: pattern, members: members)
    }

    private func isAlike(_ a: Entity, _ b: Entity) -> Bool {
        func shape(_ entity: Entity) -> [String] { entity.attributes.map { "\($0.name) \($0.declaredType)" } }
        return [a, b].allSatisfy {
            $0.kind == .table && $0.model == nil && $0.relationships.isEmpty && $0.incomingRelationships.isEmpty
        } && shape(a) == shape(b)
    }

    /// What all tables of a family have.
    func figures(of family: Family) -> [String] {
        let (rows, sizes) = (family.members.map(\.rowCount), family.members.map(\.sizeBytes))
        var whole = family.members[0]
        whole.rowCount = rows.contains(nil) ? nil : rows.compactMap(\.self).reduce(0, +)
        whole.sizeBytes = sizes.contains(nil) ? nil : sizes.compactMap(\.self).reduce(0, +)
        return [Figures.count(family.members.count, "table")] + whole.figures
    }
}
