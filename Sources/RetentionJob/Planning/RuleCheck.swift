import PriceStore
import RetentionPolicy

/// The check of one rule.
struct RuleCheck {
    let rule: Rule
    let zone: CalendarZone
    let asOf: Instant
    let clock: Instant
    let reader: any RetentionReader
    let entityNames: [String]
    /// Whether another rule creates the rows, so that the entity may be missing until then.
    let isMade: Bool
    var diagnostics: [Diagnostic] = []

    mutating func report(_ severity: Diagnostic.Severity = .error, at mark: Mark, _ text: String) {
        diagnostics.append(Diagnostic(severity, at: mark, text))
    }

    mutating func run(includingAdvice: Bool) throws(StoreError) {
        guard let entity = try reader.entity(named: rule.entity) else {
            if isMade { return }
            diagnostics = [StoreCheck.unknownEntity(rule.entity, at: rule.marks.value("entity"), entityNames)]
            return
        }
        if let lacking = rule.lacking {
            return reportRefusal(lacking.message, lacking.hint, includingAdvice)
        }
        let attribute = entity.attribute(named: rule.dateAttribute)
        if attribute == nil { complain(rule.dateAttribute, entity, at: rule.marks.value("date_attribute")) }
        var named: Set<String> = []
        for name in rule.rows.allAttributeNames
        where named.insert(name).inserted && entity.attribute(named: name) == nil {
            complain(name, entity, at: rule.marks.key("where.\(name)"))
        }
        if let trouble = entity.textTrouble(of: rule.rows) {
            report(at: rule.marks.value("where.\(trouble.attribute)"), trouble.reason)
        }
        checkGroups("keep_last", rule.keepLast?.per ?? [], entity)
        checkGroups("thin", rule.thin?.per ?? [], entity)
        if let price = rule.thin?.pick.price,
            let found = StoreCheck.numberTrouble(price, of: entity, at: rule.marks.value("thin.price"))
        {
            diagnostics.append(found)
        }
        if let column = rule.column, entity.model != nil, entity.attribute(column: column) == nil {
            report(at: rule.marks.value("column"), "\(entity.name) has no attribute in a column '\(column)'")
        }
        if rule.column != nil, entity.model == nil {
            report(
                at: rule.marks.key("column"),
                "'column' is for Core Data stores; here 'date_attribute' names the column itself")
        }
        guard let attribute = rule.dateName.flatMap({ entity.attribute(named: $0) }) ?? attribute,
            diagnostics.allSatisfy({ $0.severity != .error })
        else { return }
        guard entity.kind == .table else {
            return reportRefusal("\(entity.name) is \(entity.kind.phrase)", nil, includingAdvice)
        }
        guard let date = rule.date(zone: zone) else { return try complainOfMissingFormat(entity, attribute) }
        if let stored = attribute.dateEncoding, stored != date.encoding {
            return report(
                at: rule.marks.value("date_format"),
                "the store says that \(entity.name).\(attribute.name) is \(stored.rawValue), not "
                    + "\(date.encoding.rawValue); leave out date_format")
        }
        if date.encoding == .native, attribute.dateEncoding != .native {
            return report(
                at: rule.marks.value("date_format"),
                "'native' is for the date types of PostgreSQL, and \(entity.name).\(attribute.name) has another type: set the "
                    + "format of its values")
        }
        if var check = RollupCheck(rule, entity, date, reader) {
            try check.run()
            diagnostics += check.diagnostics
        }
        adviseOnStorage(entity, attribute, date)
        // A survey needs valid names.
        guard includingAdvice, diagnostics.allSatisfy({ $0.severity != .error }) else { return }
        try survey(entity, date)
    }

    /// An error in `check`; a run continues with its other rules.
    private mutating func reportRefusal(_ reason: String, _ remedy: String?, _ isAsked: Bool) {
        report(
            rule.isEnabled && isAsked ? .error : .warning, at: rule.marks.value("entity"),
            StoreCheck.refusalPhrase + "(unsupported_schema): \(reason)" + (remedy.map { "; " + $0 } ?? ""))
    }

    /// A group that the key identifies has one row, which is always kept.
    private mutating func checkGroups(_ key: String, _ names: [String], _ entity: Entity) {
        let mark = rule.marks.value("\(key).per")
        for name in names where entity.attribute(named: name) == nil { complain(name, entity, at: mark) }
        guard !entity.primaryKey.isEmpty, Set(entity.primaryKey.map(\.folded)).isSubset(of: names.map(\.folded)) else {
            return
        }
        report(
            .warning, at: mark,
            "'per' names the whole primary key of \(entity.name): each row is a group of its own, and '\(key)' "
                + "keeps all rows")
    }

    private mutating func complain(_ name: String, _ entity: Entity, at mark: Mark) {
        diagnostics.append(StoreCheck.unknownAttribute(name, of: entity, at: mark))
    }

    /// Shows sample values and the line to add. A guess is shown, never acted on.
    private mutating func complainOfMissingFormat(_ entity: Entity, _ attribute: Attribute) throws(StoreError) {
        let samples = try reader.sample(entity: entity.name, attribute: attribute.name, limit: 50)
        let values = samples.filter { !$0.isNull }
        var message = "'date_format' is missing, and the store does not declare the format of \(attribute.name); "
        if values.isEmpty {
            message += "it has no values that show the format; add a line such as date_format: unix_seconds"
        } else {
            message += "its values look like \(values.prefix(3).map { SafeText.example($0) }.joined(separator: ", "))"
            let found = DateRecognition(attribute, samples: values, clock: clock)
            if let found, let encoding = found.encoding {
                let newest = values.compactMap { encoding.read($0, zone: zone).start }.max()
                message += "; if the newest of them is \(newest.map(Figures.instant) ?? "a date"), add the line "
                message += "date_format: \(encoding.setting)"
                if found.certainty != .sure { message += " (\(found.certainty.rawValue): \(found.reason))" }
            } else {
                message += "; " + (found.map(\.reason) ?? "none of the formats reads them as dates")
            }
        }
        report(at: rule.marks.value("date_attribute"), message)
    }

    /// Advises, without an error, if a format does not suit the column's storage class.
    private mutating func adviseOnStorage(_ entity: Entity, _ attribute: Attribute, _ date: DateAttribute) {
        let format = date.encoding.rawValue
        let isText = date.encoding == .iso8601 || date.encoding.datePattern != nil
        let kind: String
        switch attribute.affinity {
        case .text where date.encoding.isNumeric: kind = "text, and \(format) reads numbers only"
        case .integer where isText, .real where isText: kind = "numbers, and \(format) reads text only"
        default: return
        }
        report(
            .warning, at: rule.marks.value("date_format"),
            "\(entity.name).\(attribute.name) is a column for \(kind): rows that it cannot read are never deleted")
    }

    /// Surveys with a cutoff before which nothing is expired: with an index it reads almost nothing.
    private mutating func survey(_ entity: Entity, _ date: DateAttribute) throws(StoreError) {
        var request = SurveyRequest(
            entity: rule.entity, date: date, cutoff: date.earliest, filter: rule.considered,
            relationships: rule.relationships, counts: .init(all: false))
        request.take(rule.rollupRequest(date))
        let survey: Survey
        do {
            survey = try reader.survey(request)
        } catch  where error.kind == .unsupported {
            return
        }
        if let reason = survey.unsupported {
            return reportRefusal(reason, survey.remedy, true)
        }
        try reportDates(entity, date, survey)
        try reportTriggers(entity)
        let incoming = try SchemaAdvice.incomingRelationships(of: entity, in: reader)
        let sentences = try SchemaAdvice.sentences(
            entity: entity, date: date, survey: survey, incoming: incoming, in: reader)
        for sentence in [rule.movedCutoff(asOf: asOf, zone: zone)].compactMap(\.self) + sentences {
            report(.advice, at: rule.marks.value("date_attribute"), sentence)
        }
    }

    /// Reports the triggers that the rule fires on its own table and on tables whose rows it deletes or changes by relationships.
    private mutating func reportTriggers(_ entity: Entity) throws(StoreError) {
        let triggers = try TriggerAdvice.names(of: entity, rule.relationships, in: reader)
        guard !triggers.isEmpty else { return }
        report(
            .advice, at: rule.marks.value("entity"),
            "the rule also fires \(triggers.count == 1 ? "the trigger" : "the triggers") "
                + "\(triggers.joined(separator: ", ")), which may change other rows; a dry run cannot count them")
    }
}
