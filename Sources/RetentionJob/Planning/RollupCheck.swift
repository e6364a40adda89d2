import PriceStore
import RetentionPolicy

/// Checks against the store whether a rule's rows can become candles, and whether the candles can be stored.
struct RollupCheck {
    let rule: Rule
    let setting: Rule.RollupSetting
    let rollup: Rollup
    let entity: Entity
    let reader: any RetentionReader
    private(set) var diagnostics: [Diagnostic] = []

    init?(_ rule: Rule, _ entity: Entity, _ date: DateAttribute, _ reader: any RetentionReader) {
        guard let setting = rule.rollup, let rollup = rule.rollupRequest(date) else { return nil }
        self.rule = rule
        self.setting = setting
        self.rollup = rollup
        self.entity = entity
        self.reader = reader
    }

    mutating func run() throws(StoreError) {
        if let other = try referrer() {
            report(
                "rollup",
                "rows of \(other) refer to rows of \(entity.name), which cannot become candles for that reason")
        }
        checkSource()
        checkLength()
        guard diagnostics.isEmpty else { return }
        let target = try reader.entity(named: setting.target)
        if let target {
            checkTarget(target)
        } else if !setting.names.others.isEmpty {
            report(
                "rollup.columns", "the store has no entity '\(setting.target)' whose columns could have other names")
        }
        guard diagnostics.isEmpty, let reason = try reader.candleObstacle(rollup, of: entity, into: target) else {
            return
        }
        report("rollup.into", reason)
    }

    private mutating func report(_ key: String, _ message: String) {
        diagnostics.append(Diagnostic(at: rule.marks.value(key), message))
    }

    // MARK: The rows

    /// An entity whose rows refer to these rows, or are deleted with them; nil: there is none.
    private func referrer() throws(StoreError) -> String? {
        if let other = entity.incomingRelationships.first { return other.source }
        guard let model = entity.model else { return nil }
        for own in model.relationships {
            let destination = try reader.entity(named: own.destination)?.model?.relationships ?? []
            let inverse = destination.first { $0.name == own.inverse }
            // A row holds the reference itself if it is one of many, or if the other row has no inverse.
            let isReference = !own.isToMany && (inverse?.isToMany ?? (own.inverse == nil))
            if !isReference || own.deleteRule == .cascade || own.deleteRule == .deny { return own.destination }
        }
        for other in try reader.readableEntities().entities {
            let own = other.model?.relationships ?? []
            if own.contains(where: { $0.destination == entity.name && $0.inverse == nil }) { return other.name }
        }
        return nil
    }

    private mutating func checkSource() {
        for name in setting.per where entity.attribute(named: name) == nil {
            diagnostics.append(StoreCheck.unknownAttribute(name, of: entity, at: rule.marks.value("rollup.per")))
        }
        switch rollup.source {
        case .prices(let price, let volume):
            checkNumber(price, "rollup.price")
            if let volume { checkNumber(volume, "rollup.volume") }
        case .candles(let names):
            for field in CandleField.allCases where entity.attribute(named: names[field]) == nil {
                diagnostics.append(
                    StoreCheck.unknownAttribute(names[field], of: entity, at: rule.marks.value("rollup.from")))
            }
        }
    }

    private mutating func checkNumber(_ name: String, _ key: String) {
        if let found = StoreCheck.numberTrouble(name, of: entity, at: rule.marks.value(key)) {
            diagnostics.append(found)
        }
    }

    /// A date that is a whole day cannot lie in one of its hours, and cannot express a bucket that begins within a day.
    private mutating func checkLength() {
        let format = rollup.date.encoding
        let type = format == .native ? entity.attribute(named: rollup.date.name)?.declaredType : nil
        if format.datePattern?.isHour == true, !beginsOnWholeHours {
            return report(
                "rollup.every", "\(format.rawValue) has whole hours only, and a candle would begin within one")
        }
        if format == .yyyymmddhhmmss || format.datePattern.map({ !$0.isDay && !$0.hasOffset }) == true {
            return checkRepeatedHours(format.rawValue)
        }
        if let type, type.hasSuffix(" without time zone") { return checkRepeatedHours("the type \(type)") }
        let isDay = type == "date"
        guard format == .unixDays || format == .yyyymmdd || isDay || format.datePattern?.isDay == true else { return }
        let name = isDay ? "the type date" : format.rawValue
        if case .minutes = rollup.buckets.length {
            report("rollup.every", "\(name) has whole days only; 'every' must be at least 1d")
        } else if rollup.buckets.sessionStart != 0
            || rollup.buckets.zone != (format == .unixDays ? .utc : rollup.date.zone)
        {
            report(
                rollup.buckets.sessionStart != 0 || rule.marks.keys["rollup.session"] != nil
                    ? "rollup.session" : "rollup.every",
                "\(name) has whole days of \(format == .unixDays ? "UTC" : "timezone"); the session must begin "
                    + "with them")
        }
    }

    /// Whether each candle begins on a whole hour of the clocks by which the dates are written.
    private var beginsOnWholeHours: Bool {
        if case .minutes(let minutes) = rollup.buckets.length, minutes % 60 != 0 { return false }
        let years = CandleBuckets.checkedYears
        return rollup.buckets.sessionStart % 3600 == 0
            && [rollup.buckets.zone, rollup.date.zone].allSatisfy { zone in
                zone.offsetPieces(from: years.lowerBound, to: years.upperBound).allSatisfy { $0.offset % 3600 == 0 }
            }
    }

    /// When clocks repeat an hour, no row is read as in the first of the two hours, and no candle can begin there. The bucket of the first
    /// row of the second hour must not begin there either.
    private mutating func checkRepeatedHours(_ name: String) {
        let (zone, years) = (rollup.date.zone, CandleBuckets.checkedYears)
        let changes = zone.offsetPieces(from: years.lowerBound, to: years.upperBound).dropFirst()
        let starts = changes.map { rollup.buckets.bucket(at: Instant(unixSeconds: $0.localStart - $0.offset)) }
        guard starts.contains(where: { (try? rollup.time(of: $0, isLocal: true)) == nil }) else { return }
        report(
            "rollup.every",
            "a candle would begin in an hour that the clocks of \(zone.identifier) repeat, and \(name) cannot say in which "
                + "of the two")
    }

    // MARK: The candles

    private mutating func checkTarget(_ target: Entity) {
        guard target.kind == .table, target.model == nil else {
            let kind = target.model != nil ? "an entity of a Core Data model" : "not a table"
            return report("rollup.into", "\(target.name) is \(kind), and candles are written to plain tables")
        }
        guard let wanted = rollup.table(for: entity) else { return }
        for attribute in wanted.attributes {
            guard let found = target.attribute(named: attribute.name) else {
                diagnostics.append(
                    StoreCheck.unknownAttribute(attribute.name, of: target, at: rule.marks.value("rollup.into")))
                continue
            }
            guard !found.isGenerated else {
                report("rollup.into", "\(target.name).\(found.name) is computed by the store and cannot be written")
                continue
            }
            if !found.affinity.holds(attribute.affinity) {
                report(
                    "rollup.into",
                    "\(target.name).\(found.name) is a column for \(found.affinity.phrase), which cannot hold "
                        + attribute.affinity.phrase)
            }
        }
        guard diagnostics.isEmpty else { return }
        let names = Set(wanted.attributes.map(\.name.folded))
        if let other = target.attributes.first(where: {
            $0.isRequired && !$0.hasDefault && !names.contains($0.name.folded)
        }) {
            report("rollup.into", "\(target.name).\(other.name) needs a value, and a candle has none for it")
        }
    }
}

extension Attribute.Affinity {
    /// Whether a column of this kind keeps all values of a column of another kind.
    fileprivate func holds(_ other: Attribute.Affinity) -> Bool {
        switch (self, other) {
        case (.none, _), (.numeric, .integer), (.numeric, .real), (.integer, .numeric), (.integer, .real),
            (.real, .numeric):
            true
        default: self == other
        }
    }

    fileprivate var phrase: String {
        switch self {
        case .integer: "whole numbers"
        case .real: "doubles"
        case .numeric: "numbers"
        case .text: "text"
        case .none: "values of any kind"
        }
    }
}
