package import PriceStore
package import RetentionPolicy

/// Checks a policy against the store that it names: what one of them has and the other lacks.
package enum StoreCheck {
    /// Every mistake of the policy that only the store shows, in the order of the file; advice about the schema too.
    ///
    /// Views and virtual tables are no mistakes here: the plan refuses them. Disabled rules are checked like the
    /// others, because a name is wrong whoever uses it.
    ///
    /// - Parameters:
    ///   - clock: the system clock, by which a format is recognised; nothing else depends on it.
    ///   - includingAdvice: whether each rule is surveyed to find what would make it cheaper. A run leaves it out,
    ///     because its plan finds the same.
    /// - Throws: ``StoreError`` if the store cannot be read.
    package static func diagnostics(
        policy: Policy, reader: any StoreReader, clock: Instant, includingAdvice: Bool = true
    ) throws -> [Diagnostic] {
        let entityNames = try reader.entityNames()
        var found = try PendingFolder.diagnostics(policy: policy, reader: reader)
        for rule in policy.rules {
            var check = RuleCheck(
                rule: rule, zone: policy.timezone, clock: clock, reader: reader, entityNames: entityNames)
            try check.run(includingAdvice: includingAdvice)
            found += check.diagnostics
        }
        if includingAdvice, !found.contains(where: { $0.severity == .error }) {
            found += try relationshipRefusals(policy, reader, clock)
        }
        return found.sorted { $0.mark < $1.mark }
    }

    /// What a run would refuse now because of rows that belong together, in the same words.
    ///
    /// Only the plan of all rules can tell: a rule may delete what stands in the way of a later one.
    private static func relationshipRefusals(
        _ policy: Policy, _ reader: any StoreReader, _ clock: Instant
    ) throws -> [Diagnostic] {
        let isConcerned = try policy.rules.contains {
            try $0.isEnabled && reader.entity(named: $0.entity)?.incomingRelationships.isEmpty == false
        }
        guard isConcerned else { return [] }
        let planner = Planner(policy: policy, asOf: clock, clock: clock, countsAllRows: false)
        return try planner.plan(reader: reader).steps.compactMap { step in
            guard case .refused(let refusal) = step.disposition, refusal.code == .relationshipDenied else { return nil }
            return Diagnostic(
                .warning, at: step.rule.marks.value("entity"),
                "the rule will be refused (\(refusal.code.rawValue)): \(refusal.message)")
        }
    }

    /// What is to be said of a file that keeps the room of deleted rows for itself, although a rule may give it back.
    package static func reclaimAdvice(policy: Policy, reader: any StoreReader) throws -> [Diagnostic] {
        guard try reader.reclaimsIncrementally() == false else { return [] }
        let asksForIt = policy.rules.first { $0.isEnabled && $0.reclaim == .incremental }
        guard asksForIt != nil || policy.rules.contains(where: { $0.isEnabled && $0.reclaim == .auto }) else {
            return []
        }
        let cure = "run once, with all other programs stopped: PRAGMA auto_vacuum = INCREMENTAL; VACUUM"
        guard let rule = asksForIt else {
            return [
                Diagnostic(
                    .advice, at: policy.store.mark,
                    "the file keeps the room of deleted rows for new ones; to have it given back to the file system "
                        + cure)
            ]
        }
        return [
            Diagnostic(
                .warning, at: rule.marks.value("reclaim"),
                "the file was not made for incremental reclaim, and keeps the room of deleted rows; \(cure)")
        ]
    }

    static func unknownEntity(
        _ name: String, at mark: Mark, _ reader: any StoreReader, _ entityNames: [String]
    ) -> Diagnostic {
        let known = entityNames.isEmpty ? "; the store has no entities" : ""
        return Diagnostic(
            at: mark,
            "the store \(reader.name) has no entity '\(name)'" + (meant(name, entityNames) ?? known))
    }

    static func unknownAttribute(_ name: String, of entity: Entity, at mark: Mark) -> Diagnostic {
        let names = entity.attributes.map(\.name)
        return Diagnostic(
            at: mark,
            "\(entity.name) has no attribute '\(name)'"
                + (meant(name, names) ?? "; it has \(names.prefix(12).joined(separator: ", "))"
                    + (names.count > 12 ? ", …" : "")))
    }

    /// A strategy that was asked for by name and that the engine cannot follow for this rule.
    static func strategyMistake(
        _ wanted: DeleteStrategy, rule: Rule, survey: Survey, isFromCommandLine: Bool
    ) -> Diagnostic {
        let choices = (["auto"] + survey.possibleStrategies.map(\.rawValue)).joined(separator: ", ")
        let reason = survey.strategyObstacles[wanted].map { ": \($0)" } ?? ""
        return Diagnostic(
            at: isFromCommandLine ? rule.marks.value("name") : rule.marks.value("strategy"),
            (isFromCommandLine ? "--strategy " : "strategy ") + "'\(wanted.rawValue)' is not possible for "
                + "\(rule.entity)\(reason); expected one of \(choices)")
    }

    private static func meant(_ name: String, _ names: [String]) -> String? {
        NearestName.match(name, in: names).map { "; did you mean '\($0)'?" }
    }
}

/// The check of one rule.
private struct RuleCheck {
    let rule: Rule
    let zone: CalendarZone
    let clock: Instant
    let reader: any StoreReader
    let entityNames: [String]
    var diagnostics: [Diagnostic] = []

    mutating func run(includingAdvice: Bool) throws(StoreError) {
        guard let entity = try reader.entity(named: rule.entity) else {
            diagnostics = [StoreCheck.unknownEntity(rule.entity, at: rule.marks.value("entity"), reader, entityNames)]
            return
        }
        let attribute = entity.attribute(named: rule.dateAttribute)
        if attribute == nil { complain(rule.dateAttribute, entity, at: rule.marks.value("date_attribute")) }
        for name in rule.filter.attributeNames where entity.attribute(named: name) == nil {
            complain(name, entity, at: rule.marks.key("where.\(name)"))
        }
        for name in rule.keepLast?.per ?? [] where entity.attribute(named: name) == nil {
            complain(name, entity, at: rule.marks.value("keep_last.per"))
        }
        if let column = rule.column, entity.model != nil, entity.attribute(column: column) == nil {
            diagnostics.append(
                Diagnostic(
                    at: rule.marks.value("column"), "\(entity.name) has no attribute in a column '\(column)'"))
        }
        if rule.column != nil, entity.model == nil {
            diagnostics.append(
                Diagnostic(
                    at: rule.marks.key("column"),
                    "'column' is for Core Data stores; here 'date_attribute' names the column itself"))
        }
        guard let attribute = rule.dateName.flatMap({ entity.attribute(named: $0) }) ?? attribute,
            diagnostics.isEmpty
        else { return }
        guard entity.kind == .table else {
            let kind = entity.kind == .view ? "a view" : "a virtual table"
            return warnOfRefusal("\(entity.name) is \(kind)")
        }
        guard let date = rule.date(zone: zone) else { return try complainOfMissingFormat(entity, attribute) }
        if let stored = attribute.dateEncoding, stored != date.encoding {
            diagnostics.append(
                Diagnostic(
                    at: rule.marks.value("date_format"),
                    "the store says that \(entity.name).\(attribute.name) is \(stored.rawValue), not "
                        + "\(date.encoding.rawValue); leave out date_format"))
            return
        }
        if date.encoding == .native, attribute.dateEncoding != .native {
            diagnostics.append(
                Diagnostic(
                    at: rule.marks.value("date_format"),
                    "'native' is for the date types of PostgreSQL, and \(entity.name).\(attribute.name) is none: name the "
                        + "format of its values"))
            return
        }
        adviseOnStorage(entity, attribute, date)
        guard includingAdvice || rule.strategy != nil else { return }
        try survey(entity, date, includingAdvice: includingAdvice)
    }

    private mutating func warnOfRefusal(_ reason: String) {
        diagnostics.append(
            Diagnostic(
                .warning, at: rule.marks.value("entity"), "the rule will be refused (unsupported_schema): \(reason)"))
    }

    private mutating func complain(_ name: String, _ entity: Entity, at mark: Mark) {
        diagnostics.append(StoreCheck.unknownAttribute(name, of: entity, at: mark))
    }

    /// Shows what the values look like and the line to add. A guess is shown, never acted on.
    private mutating func complainOfMissingFormat(_ entity: Entity, _ attribute: Attribute) throws(StoreError) {
        let samples = try reader.sample(entity: entity.name, attribute: attribute.name, limit: 50)
        let values = samples.filter { !$0.isNull }
        var message = "'date_format' is missing, and the store does not say how \(attribute.name) is to be read; "
        if values.isEmpty {
            message += "it has no values that would show it; add a line such as date_format: unix_seconds"
        } else {
            message += "its values look like \(values.prefix(3).map { SafeText.example($0) }.joined(separator: ", "))"
            let candidates = DateEncoding.recognise(values, now: clock, zone: zone)
            if let best = candidates.first {
                let newest = best.newest.rfc3339
                message += "; if the newest of them is \(newest), add the line date_format: \(best.encoding.rawValue)"
            } else {
                message += "; none of the formats reads them as dates"
            }
        }
        diagnostics.append(Diagnostic(at: rule.marks.value("date_attribute"), message))
    }

    /// A format that the column's kind of storage cannot hold is no mistake by itself, but worth a word.
    private mutating func adviseOnStorage(_ entity: Entity, _ attribute: Attribute, _ date: DateAttribute) {
        let format = date.encoding.rawValue
        let kind: String
        switch attribute.affinity {
        case .text where date.encoding.isNumeric: kind = "text, and \(format) reads numbers only"
        case .integer where date.encoding == .iso8601, .real where date.encoding == .iso8601:
            kind = "numbers, and \(format) reads text only"
        default: return
        }
        diagnostics.append(
            Diagnostic(
                .warning, at: rule.marks.value("date_format"),
                "\(entity.name).\(attribute.name) is a column for \(kind): rows that it cannot read are never deleted"))
    }

    /// A survey for a cutoff before which nothing is expired: with an index it reads next to nothing.
    private mutating func survey(_ entity: Entity, _ date: DateAttribute, includingAdvice: Bool) throws(StoreError) {
        let survey: Survey
        do {
            survey = try reader.survey(
                SurveyRequest(
                    entity: rule.entity, date: date, cutoff: date.earliest, filter: rule.filter, countsAllRows: false))
        } catch  where error.kind == .unsupported {
            return
        }
        if let reason = survey.unsupported { return warnOfRefusal(reason) }
        if let strategy = rule.strategy, !survey.possibleStrategies.contains(strategy) {
            diagnostics.append(
                StoreCheck.strategyMistake(
                    strategy, rule: rule, survey: survey, isFromCommandLine: false))
        }
        guard includingAdvice else { return }
        let incoming = try SchemaAdvice.incomingRelationships(of: entity, in: reader)
        for sentence in SchemaAdvice.sentences(entity: entity, date: date, survey: survey, incoming: incoming) {
            diagnostics.append(Diagnostic(.advice, at: rule.marks.value("date_attribute"), sentence))
        }
    }
}

extension Predicate {
    /// The attributes that a condition names, each once, in order.
    fileprivate var attributeNames: [String] {
        var names: [String] = []
        func collect(_ predicate: Predicate) {
            switch predicate {
            case .all, .date, .dateCompare, .notKept, .key, .objectIDs: break
            case .compare(let name, _, _), .between(let name, _, _), .begins(let name, _), .contains(let name, _),
                .isIn(let name, _), .isNull(let name), .isNotNull(let name):
                if !names.contains(name) { names.append(name) }
            case .and(let parts), .or(let parts): parts.forEach(collect)
            case .not(let part), .notTrue(let part): collect(part)
            }
        }
        collect(self)
        return names
    }
}
