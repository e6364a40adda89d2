package import PriceStore
package import RetentionPolicy

/// Checks a policy against its store: what one has and the other lacks.
package enum StoreCheck {
    /// Throws all mistakes of the policy, also those that only the store shows: with one of them a run fails.
    package static func requireNoMistake(
        of policy: Policy, in reader: any RetentionReader, clock: Instant
    ) throws {
        if let mistakes = policy.mistakes { throw mistakes }
        let mistakes = try diagnostics(policy: policy, reader: reader, clock: clock, includingAdvice: false)
            .filter { $0.severity == .error }
        guard mistakes.isEmpty else { throw PolicyError.invalid(mistakes, policy.file) }
    }

    /// All mistakes of the policy that only the store shows, in file order, and advice about the schema.
    ///
    /// Disabled rules are checked too, because a wrong name is wrong in any rule. For them, what a run would refuse is only a warning.
    ///
    /// - Parameters:
    ///   - asOf: the instant at which ages are computed; nil: the clock.
    ///   - clock: the system clock, to recognise formats.
    ///   - includingAdvice: whether each rule is surveyed to find what would make it faster. A run omits this, because its plan finds the
    ///     same.
    /// - Throws: ``StoreError`` if the store cannot be read.
    package static func diagnostics(
        policy: Policy, reader: any RetentionReader, asOf: Instant? = nil, clock: Instant, includingAdvice: Bool = true
    ) throws -> [Diagnostic] {
        let entityNames = try reader.entityNames()
        let unreadable = includingAdvice ? try reader.readableEntities().troubles : []
        var found = try PendingFolder.diagnostics(policy: policy, reader: reader)
        found += policy.problems.map { problem in
            // A run carries out the other rules.
            var problem = problem
            if includingAdvice, problem.severity == .warning { problem.severity = .error }
            return problem
        }
        let candles = policy.candleEntities
        for rule in policy.rules {
            var check = RuleCheck(
                rule: rule, zone: policy.timezone, asOf: asOf ?? clock, clock: clock, reader: reader,
                entityNames: entityNames, isMade: candles.contains(rule.entity.folded))
            try check.run(includingAdvice: includingAdvice)
            found += check.diagnostics
        }
        if includingAdvice {
            found += unreadable.map { name, reason in
                Diagnostic(.advice, at: policy.store.mark, "\(name) cannot be read and is left out: \(reason)")
            }
            found += try holds(policy, reader, clock: clock)
            found += try withoutCandles(policy, reader)
            found += try agesOfNoRow(policy, reader)
        }
        found += try rulesOfOtherDates(policy, reader)
        found += try rulesOfParts(policy, reader)
        found += tooManyRules(policy)
        return found.sorted { $0.mark < $1.mark }
    }

    /// Reports what is wrong with holds, when they end, and which rules they concern. A run refuses the rules that an unusable hold may
    /// concern, and carries out the others.
    private static func holds(_ policy: Policy, _ reader: any RetentionReader, clock: Instant) throws -> [Diagnostic] {
        let holds = try HoldPlan(policy, clock: clock, reader: reader)
        var found = holds.unusable.map { unusable in
            Diagnostic(
                at: unusable.hold.marks.value("entity"),
                "the hold '\(unusable.hold.name)' cannot be evaluated, and rules will be refused (hold_unusable): "
                    + unusable.reason)
        }
        found += holds.warnings.map { Diagnostic(.warning, at: $0.hold.marks.value("name"), $0.text) }
        for rule in policy.rules {
            guard let entity = try reader.entity(named: rule.entity) else { continue }
            let names = try holds.holds(on: rule, entity, hasTriggers: false, in: reader).map(\.name)
            guard !names.isEmpty else { continue }
            found.append(
                Diagnostic(
                    .advice, at: rule.marks.value("name"),
                    "\(names.count == 1 ? "the hold" : "the holds") \(names.joined(separator: ", ")) "
                        + "\(names.count == 1 ? "applies" : "apply") to this rule"))
        }
        return found
    }

    /// Ages for a value, or the beginning of values, that no row has: it may be misspelt, and its rows have another age.
    private static func agesOfNoRow(_ policy: Policy, _ reader: any RetentionReader) throws -> [Diagnostic] {
        var families: Set<String> = []
        return try policy.rules.flatMap { rule in
            guard let share = rule.share, families.insert(rule.writtenName).inserted,
                let entity = try reader.entity(named: rule.entity),
                let attribute = entity.attribute(named: share.attribute)
            else { return [Diagnostic]() }
            return try rule.marks.keys.compactMap { path, mark in
                let key = String(path.dropFirst("max_age.".count))
                guard path.hasPrefix("max_age."), !["by", "default", "from"].contains(key), !key.hasPrefix("from."),
                    try reader.count(
                        StoreFetchRequest(entity: entity.name, predicate: attribute.rows(ofAge: key), fetchLimit: 1))
                        == 0
                else { return nil }
                return Diagnostic(
                    .warning, at: mark,
                    "no row of \(entity.name) has the \(attribute.name) '\(SafeText.line(key))' of this age")
            }
        }
    }

    /// Rules of one entity that keep rows by different dates: the rows that one keeps could not be kept from the other.
    private static func rulesOfOtherDates(_ policy: Policy, _ reader: any RetentionReader) throws -> [Diagnostic] {
        var first: [String: (rule: Rule, request: SurveyRequest)] = [:]
        return try policy.rules.compactMap { rule in
            guard rule.isEnabled, rule.keepsRows, let date = rule.date(zone: policy.timezone),
                let entity = try reader.entity(named: rule.entity)
            else { return nil }
            let request = SurveyRequest(entity: entity.name, date: date, cutoff: .distantPast)
            guard let other = first[entity.name] else {
                first[entity.name] = (rule, request)
                return nil
            }
            guard !request.readsDates(of: other.request) else { return nil }
            return Diagnostic(
                at: rule.marks.value("date_attribute"),
                "'\(other.rule.name)' and '\(rule.name)' keep rows of \(entity.name) by different dates; rules with thin or "
                    + "keep_last on one entity must have the same date_attribute and date_format")
        }
    }

    /// Rules of a table and of a part of it: neither knows which rows the other keeps.
    private static func rulesOfParts(_ policy: Policy, _ reader: any RetentionReader) throws -> [Diagnostic] {
        let rules = try policy.rules.filter(\.isEnabled).compactMap { rule in
            try reader.entity(named: rule.entity).map { (rule: rule, entity: $0) }
        }
        let names = Dictionary(firstOf: rules.map { ($0.entity.name, $0.rule.name) })
        return rules.compactMap { rule, part in
            guard let whole = part.containers.first(where: { names[$0] != nil }), let other = names[whole] else {
                return nil
            }
            return Diagnostic(
                at: rule.marks.value("entity"),
                "rows of \(part.name) are rows of \(whole) too, from which the rule '\(other)' deletes: neither rule would know what the "
                    + "other keeps. Name \(whole) in both rules, or its parts")
        }
    }

    /// Rules whose cascades delete rows of other rules, or their candles: these rows do not become candles.
    private static func withoutCandles(_ policy: Policy, _ reader: any RetentionReader) throws -> [Diagnostic] {
        let rules = policy.rules.filter(\.isEnabled)
        return try rules.flatMap { rule in
            guard let source = try reader.entity(named: rule.entity) else { return [Diagnostic]() }
            return try rules.compactMap { maker in
                guard let setting = maker.rollup, maker.entity.folded != source.name.folded else { return nil }
                let lost = try [maker.entity, setting.target].compactMap { try reader.entity(named: $0)?.name }.first {
                    try $0 != source.name
                        && reader.deletes(from: source.name, rule.relationships, canReach: $0, changing: [])
                }
                return lost.map {
                    Diagnostic(
                        .warning, at: rule.marks.value("entity"),
                        "rows of \($0) that are deleted with rows of \(source.name) do not become candles, although the rule "
                            + "'\(maker.name)' makes candles")
                }
            }
        }
    }

    /// Rules of one entity that may match the same rows. The survey of each contains the deletes of all earlier rules, so that each row is
    /// counted once, and the cost grows with the square of their number.
    private static func tooManyRules(_ policy: Policy) -> [Diagnostic] {
        for own in Dictionary(grouping: policy.rules.filter(\.isEnabled), by: { $0.entity.folded }).values {
            guard own.count > mostOverlappingRules else { continue }
            for (index, rule) in own.enumerated() {
                let overlapping = own[..<index].count { !$0.rows.isDisjoint(from: rule.rows) }
                guard overlapping >= mostOverlappingRules else { continue }
                return [
                    Diagnostic(
                        at: rule.marks.value("name"),
                        "\(overlapping) rules before this one may delete the same rows of \(rule.entity); at most "
                            + "\(mostOverlappingRules) are possible: combine rules, or have each name another value of "
                            + "one attribute in `where`")
                ]
            }
        }
        return []
    }

    private static let mostOverlappingRules = 100

    /// The first words of the warning that a run would refuse a rule.
    package static let refusalPhrase = "the rule will be refused "

    /// The rules that the next run would refuse, with all reasons: errors if one of them cannot be accepted, otherwise warnings, so that
    /// they stay together. Reported ones are left out. Warnings about rows that do not arrive, and about a ledger that does not know the
    /// store, follow. The plan is made as in a dry run.
    ///
    /// - Parameter archiveTroubles: why the archive of a plan cannot be made.
    package static func refusals(
        policy: Policy, reader: any RetentionReader, asOf: Instant, clock: Instant, memory: RunMemory = RunMemory(),
        after pending: RunReport.Pending = RunReport.Pending(), reported: [Diagnostic],
        archiveTroubles: (Plan) -> [Diagnostic]
    ) throws -> [Diagnostic] {
        var planner = Planner(policy: policy, asOf: asOf, clock: clock, memory: memory, countsAllRows: false)
        planner.pendingFailures = pending.failures
        let plan = try planner.plan(reader: reader)
        var found = plan.steps.flatMap { step in
            let mark = step.rule.marks.value("entity")
            let marks = [mark, step.rule.marks.value("date_format")]
            let unreported = step.refusals.filter { refusal in
                !reported.contains { marks.contains($0.mark) && $0.message.contains("(\(refusal.code.rawValue))") }
            }
            let severity: Diagnostic.Severity = unreported.allSatisfy(\.isAcceptable) ? .warning : .error
            return unreported.enumerated().map { index, refusal in
                Diagnostic(
                    severity, at: mark,
                    (index == 0 && unreported.count == step.refusals.count
                        ? refusalPhrase : "the rule will also be refused ") + "(\(refusal.code.rawValue)): "
                        + refusal.message(after: refusal == step.refusals[0] ? nil : step.refusals[0]))
            }
        }
        found += plan.arrivals.compactMap { warning in
            warning.mark.map { Diagnostic(.warning, at: $0, warning.text) }
        }
        if let text = memory.unknownStoreText(for: policy) {
            found.append(Diagnostic(.warning, at: policy.store.mark, text))
        }
        return found + archiveTroubles(plan)
    }

    /// Advice for a file that keeps the space of deleted rows although a rule may reclaim it; none if a rule shrinks the file anyway.
    package static func reclaimAdvice(policy: Policy, reader: any RetentionReader) throws -> [Diagnostic] {
        guard let advice = try reader.reclaimAdvice() else { return [] }
        let rules = policy.rules.filter(\.isEnabled)
        if let rule = rules.first(where: { $0.reclaim == .incremental }) {
            return [
                Diagnostic(
                    .warning, at: rule.marks.value("reclaim"),
                    "the file was not created for incremental reclaim, and keeps the space of deleted rows; \(advice)")
            ]
        }
        let ways = rules.map(\.reclaim)
        guard ways.contains(.auto), !ways.contains(.vacuum) else { return [] }
        return [
            Diagnostic(
                .advice, at: policy.store.mark,
                "the file keeps the space of deleted rows for new ones; to return it to the file system " + advice)
        ]
    }

    static func unknownEntity(_ name: String, at mark: Mark, _ entityNames: [String]) -> Diagnostic {
        if name == Entity.persistentHistory {
            return Diagnostic(
                at: mark,
                "the store keeps no history of Core Data, for which '\(name)' stands; missing: skip leaves the rule out"
            )
        }
        let known = entityNames.isEmpty ? "; the store has no entities" : ""
        let hint = NearestName.suggestion(for: name, in: entityNames, otherwise: known)
        return Diagnostic(at: mark, "the store has no entity '\(name)'\(hint)")
    }

    /// Why an attribute is no price or volume; nil: it may be one.
    static func numberTrouble(_ name: String, of entity: Entity, at mark: Mark) -> Diagnostic? {
        guard let attribute = entity.attribute(named: name) else { return unknownAttribute(name, of: entity, at: mark) }
        let type = attribute.declaredType.uppercased()
        let isUntyped = type.isEmpty || type == "ANY" || type.contains("BLOB")
        guard attribute.affinity == .text || attribute.affinity == .none && !isUntyped else { return nil }
        let kind = attribute.affinity == .text ? "for text" : "of type \(attribute.declaredType)"
        return Diagnostic(
            at: mark, "\(entity.name).\(attribute.name) is a column \(kind), and prices and volumes are numbers")
    }

    static func unknownAttribute(_ name: String, of entity: Entity, at mark: Mark) -> Diagnostic {
        let names = entity.attributes.map(\.name)
        let known = "; it has \(names.prefix(12).joined(separator: ", "))" + (names.count > 12 ? ", …" : "")
        let hint = NearestName.suggestion(for: name, in: names, otherwise: known)
        return Diagnostic(at: mark, "\(entity.name) has no attribute '\(name)'\(hint)")
    }
}
