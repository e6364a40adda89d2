import PriceStore
import RetentionPolicy

extension Policy {
    /// The policy with each rule whose entity is a pattern replaced by a rule for each table that matches, each rule with several ages by a
    /// rule for each age, and what is wrong with that.
    ///
    /// Tables are looked up anew each time. A name that the store has is no pattern. Left out are tables that a rule names, views, virtual
    /// tables, tables of the program, parts of a table that matches too, and with `missing: skip` tables that lack an attribute.
    func expanded(in reader: any RetentionReader) throws(StoreError) -> Policy {
        var policy = self
        (policy.rules, policy.written) = ([], rulesAsWritten)
        var names: [String]?
        let (named, candles) = (Set(rules.map(\.entity.folded)), candleEntities)
        for rule in rules {
            let found = try reader.entity(named: rule.entity)
            if let pattern = EntityPattern(rule.entity), found == nil {
                let all = if let names { names } else { try reader.entityNames().filter { !named.contains($0.folded) } }
                policy.rules += try members(of: rule, pattern, among: all, reader, &policy.problems)
                names = all
            } else if !rule.skipsMissing || candles.contains(rule.entity.folded) || found.map({ rule.fits($0) }) == true
            {
                policy.rules += try shares(of: rule, in: reader, &policy.problems)
            }
        }
        policy.problems += policy.overlaps + policy.commonCandles + policy.boundsBesideKeepers
        return policy
    }

    /// Rules that would make candles of several tables in one table, if one of the rules has a pattern.
    private var commonCandles: [Diagnostic] {
        var first: [String: Rule] = [:]
        return rules.filter(\.isEnabled).compactMap { rule in
            guard let target = rule.rollup?.target else { return nil }
            let other = first[target.folded] ?? rule
            first[target.folded] = other
            guard other.entity.folded != rule.entity.folded, rule.family != nil || other.family != nil else {
                return nil
            }
            return Diagnostic(
                at: rule.marks.value("rollup.into"),
                "rows of \(other.entity) and of \(rule.entity) would become candles of one table, \(target)")
        }
    }

    /// Rules with a bound beside a rule that keeps some of the same rows: each delete would move the bound, and with it what the other rule
    /// keeps.
    private var boundsBesideKeepers: [Diagnostic] {
        rules.filter { $0.isEnabled && $0.bound != nil }.compactMap { rule in
            let other = rules.first {
                $0.isEnabled && $0.name != rule.name && $0.entity == rule.entity && $0.keepsRows
                    && !$0.rows.isDisjoint(from: rule.rows)
            }
            guard let other, let key = rule.bound?.key else { return nil }
            return Diagnostic(
                at: rule.marks.value(key),
                "'\(key)' cannot stand beside '\(other.name)', which keeps rows of \(rule.entity) by "
                    + "'\(other.keepLast != nil ? "keep_last" : "thin")': write both in one rule")
        }
    }

    /// Advice for a table that the patterns of two rules match.
    private var overlaps: [Diagnostic] {
        var first: [String: Rule] = [:]
        var seen: Set<[String]> = []
        return rules.compactMap { rule in
            guard rule.isEnabled, rule.share == nil, let own = rule.family else { return nil }
            guard let other = first[rule.entity], let family = other.family else {
                first[rule.entity] = rule
                return nil
            }
            guard family.entity != own.entity, seen.insert([family.name, own.name]).inserted else { return nil }
            return Diagnostic(
                .advice, at: rule.marks.value("entity"),
                "'\(own.entity)' and '\(family.entity)' of the rule '\(family.name)' match the same tables, such as \(rule.entity): a row is "
                    + "deleted if one of the rules expires it; write 'except' if that is not meant")
        }
    }

    private func members(
        of rule: Rule, _ pattern: EntityPattern, among names: [String], _ reader: any RetentionReader,
        _ problems: inout [Diagnostic]
    ) throws(StoreError) -> [Rule] {
        func excepted(_ text: String, _ names: [String]) -> [String] {
            names.filter { $0.lowercased() == text.lowercased() }
                + (EntityPattern(text)?.matches(in: names) ?? [:]).keys
        }
        func matches(_ names: [String]) -> [String: [String]] {
            let others = Set(rule.except.flatMap { excepted($0, names) })
            return pattern.matches(in: names).filter { !others.contains($0.key) }
        }
        let found = matches(names).filter { !$0.key.folded.isOfProgram }
        var entities: [Entity] = []
        for name in found.keys.sorted() {
            guard let entity = try reader.entity(named: name), entity.kind == .table,
                !rule.skipsMissing || rule.fits(entity)
            else { continue }
            entities.append(entity)
        }
        let matching = Set(entities.map(\.name))
        entities.removeAll { $0.containers.contains(where: matching.contains) }
        // The tables of candles are created later.
        if entities.isEmpty, !rule.skipsMissing, !rules.contains(where: { $0.isEnabled && $0.mayMake(rule) }) {
            problems.append(
                Diagnostic(
                    .warning, at: rule.marks.value("entity"),
                    "no table of the store matches '\(rule.entity)': the rule '\(rule.name)' deletes nothing"))
        }
        for text in rule.except where excepted(text, names).isEmpty {
            problems.append(
                Diagnostic(.advice, at: rule.marks.value("except"), "no table of the store matches '\(text)'"))
        }
        let family = Rule.Family(name: rule.name, entity: rule.entity)
        func candles(_ entity: Entity) -> String? {
            rule.rollup.map { EntityPattern.filled($0.target, found[entity.name] ?? []) }
        }
        let own = matches(entities.compactMap(candles))
        let lacking = try reader.lackingPrivileges(on: entities.map(\.name))
        return entities.map { entity in
            var member = rule
            (member.name, member.entity, member.family) = (family.member(entity.name), entity.name, family)
            member.lacking = lacking[entity.name]
            guard let candles = candles(entity) else { return member }
            member.rollup?.target = candles
            if own[candles] != nil {
                problems.append(
                    Diagnostic(
                        at: rule.marks.value("rollup.into"),
                        "the candles of \(entity.name) are in \(candles), which '\(rule.entity)' matches too: the rule would delete them. "
                            + "Give them another name, or write 'except'"))
            }
            return member
        }
    }
}

extension String {
    /// Whether a table with this name, in lower case, is one of the program's own.
    fileprivate var isOfProgram: Bool { split(separator: ".").last?.hasPrefix("retention_") == true }
}

extension Rule {
    /// Whether an entity has all attributes that the rule names.
    func fits(_ entity: Entity) -> Bool {
        let names =
            [dateAttribute] + filter.allAttributeNames + [ages?.attribute].compactMap(\.self) + (keepLast?.per ?? [])
            + (thin?.names ?? [])
            + [rollup?.price, rollup?.volume].compactMap(\.self) + (rollup?.per ?? [])
        return names.allSatisfy { entity.attribute(named: $0) != nil }
    }
}
