import PriceStore
import RetentionJob

/// Entities that get no rule of their own: lists, and those whose rows go with others.
extension PolicyDraft {
    /// Why an entity is a list and not a history, as a clause; nil: it may be a history.
    func listReason(_ entity: Inspected, _ date: DateInspection) -> String? {
        let words = AttributeWords.split(entity.entity.name)
        if words.last.map(Self.listWords.contains) == true || Self.anywhere.contains(where: words.contains)
            || ["key", "value"].allSatisfy(words.contains)
        {
            return "its name says that it is a list, such as settings or members, and not a history"
        }
        // What has ended is no longer a member.
        if !isEnd(date, of: entity), let reason = memberReason(entity, date) { return reason }
        let history = sources(of: entity.entity).first { source in
            guard let rows = entity.rowCount, let newest = bestDate(of: source)?.newest, let oldest = date.oldest
            else { return false }
            let weeks = Int(newest.since(oldest) / .seconds(7 * 86_400))
            return rows < weeks && source.rowCount ?? 0 >= rows * 10
        }
        return history.map { "it is a list to which \($0.entity.name) refers: it gets less than a row a week" }
    }

    /// Why each row of an entity is a thing with its latest values, or a member, and not one of many events, as a clause; nil: it may be
    /// one of many.
    private func memberReason(_ entity: Inspected, _ date: DateInspection) -> String? {
        func saysThing(_ attribute: Attribute) -> Bool {
            attribute.affinity == .text
                && AttributeWords.split(attribute.name).last.map(Self.thingWords.contains) == true
        }
        let key = entity.entity.primaryKey.compactMap(entity.entity.attribute(named:))
        let isChanged = AttributeWords(date.attribute).role == .changed
        let isID = key.contains { AttributeWords.split($0.name).last.map(Self.idWords.contains) == true }
        let isOfKey =
            !key.isEmpty && !isID
            && (key.allSatisfy { $0.affinity == .text } && isChanged || isOfOneHour(entity, date, key: key))
        let thing =
            isOfKey || !key.isEmpty && key.allSatisfy(saysThing)
            ? key : entity.entity.uniqueAttributes.compactMap(entity.entity.attribute(named:)).filter(saysThing)
        if !thing.isEmpty {
            return "it has one row for each \(thing.map(\.name).joined(separator: ", ")): a list, or the latest values"
        }
        return entity.namesItsRows ? "each of its rows has its own name: it is a list, and not a history" : nil
    }

    /// Whether a key of several attributes, such as a symbol and a level, has no date, and all rows are from one hour: nothing is added.
    private func isOfOneHour(_ entity: Inspected, _ date: DateInspection, key: [Attribute]) -> Bool {
        guard let oldest = date.oldest, let newest = date.newest, newest.since(oldest) <= .seconds(3600) else {
            return false
        }
        return key.count > 1 && key.contains { $0.affinity == .text }
            && !key.contains { attribute in entity.dates.contains { $0.attribute.name == attribute.name } }
    }

    private static let listWords: Set<String> = [
        "account", "accounts", "config", "configuration", "countries", "currencies", "customers", "exchanges",
        "instruments", "members", "metadata", "migration", "migrations", "options", "people", "person", "preferences",
        "properties", "setting", "settings", "symbols", "tags", "user", "users",
    ]
    private static let anywhere = [
        "alembic", "current", "databasechangelog", "efmigrations", "goose", "latest", "liquibase", "migrations",
        "schema",
    ]
    /// Last words of texts that name a thing which has one row, if they are unique.
    private static let thingWords: Set<String> = [
        "account", "asset", "ccy", "currency", "device", "email", "exchange", "figi", "host", "hostname", "iban",
        "imei", "instrument", "isin", "market", "name", "pair", "portfolio", "product", "sensor", "serial", "sku",
        "station", "symbol", "ticker", "username", "wallet",
    ]
    private static let idWords: Set<String> = ["guid", "hash", "id", "ids", "uid", "uuid"]

    /// The entities that refer to another one.
    private func sources(of entity: Entity) -> [Inspected] {
        let names = Set(keys[entity.name]?.map(\.source) ?? [])
        return inspection.entities.filter { names.contains($0.entity.name) }
    }

    /// The entity with whose rows those of this one go; nil: there is none, so it needs a rule of its own.
    func parent(of entity: Inspected, besides seen: Set<String> = []) -> Inspected? {
        guard entity.entity.model != nil || !entity.entity.relationships.isEmpty else { return nil }
        let seen = seen.union([entity.entity.name])
        return inspection.entities.first { other in
            !seen.contains(other.entity.name) && goes(entity.entity, with: other)
                && (parent(of: other, besides: seen) != nil || ownDate(of: other) != nil)
        }
    }

    /// Whether the rows of an entity are deleted with those of another one.
    private func goes(_ source: Entity, with other: Inspected) -> Bool {
        if let model = other.entity.model {
            return model.relationships.contains { $0.destination == source.name && $0.deleteRule == .cascade }
        }
        let keys = (keys[other.entity.name] ?? []).filter { $0.source == source.name }
        return keys.contains { $0.deleteRule == .cascade } || !keys.isEmpty && takesAll(other)
    }

    /// Whether a rule has to delete the rows that refer to its rows (`relationships: cascade`): each of them needs one of these, and there
    /// are less than ten for each.
    func takesAll(_ entity: Inspected) -> Bool {
        let others = (keys[entity.entity.name] ?? []).filter { $0.deleteRule != .cascade }
        return entity.entity.model == nil && !others.isEmpty
            && others.allSatisfy { key in
                let source = sources(of: entity.entity).first { $0.entity.name == key.source }
                return [.noAction, .restrict].contains(key.deleteRule)
                    && (source?.rowCount ?? .max) / 10 < entity.rowCount ?? 0
                    && key.sourceAttributes.allSatisfy { source?.entity.attribute(named: $0)?.isRequired == true }
            }
    }

    /// The entities that have a rule, each after those that refer to it.
    var ruledEntities: [Inspected] {
        var (left, sorted) = (inspection.entities.filter { date(of: $0) != nil }, [Inspected]())
        while !left.isEmpty {
            let names = Set(left.map(\.entity.name))
            let next = left.firstIndex { names.isDisjoint(with: keys[$0.entity.name]?.map(\.source) ?? []) }
            sorted.append(left.remove(at: next ?? 0))
        }
        return sorted
    }
}
