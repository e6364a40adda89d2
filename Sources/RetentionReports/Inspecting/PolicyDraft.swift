import PriceStore
import RetentionJob
import RetentionPolicy

/// A draft of a policy for a store. It has one disabled rule for each entity that seems to have dated rows, complete except for the age,
/// which a person must choose.
package struct PolicyDraft {
    typealias Inspected = StoreInspection.EntityInspection
    typealias DateInspection = StoreInspection.DateInspection

    let inspection: StoreInspection
    /// The relationships from other entities, by the entity to which they refer.
    private(set) var keys: [String: [Relationship]] = [:]
    /// The store, as the policy names it.
    package var store: String
    /// The compiled model of the store, as the policy names it; nil: none was given.
    package var model: String?
    /// Whether each rule has examples of `thin` and `rollup`, as comments.
    package var showsTiers = false
    /// The folder for the archives and the log file; nil: that of the policy.
    package var folder: String?
    /// Whether the folder for the archives is there.
    package var hasArchiveFolder = false

    package init(_ inspection: StoreInspection) {
        self.inspection = inspection
        store = inspection.store
        for key in inspection.entities.flatMap(\.entity.relationships) where key.source != key.destination {
            keys[key.destination, default: []].append(key)
        }
    }

    /// Whether there is an entity for which a rule can be proposed.
    package var hasRules: Bool { inspection.entities.contains { date(of: $0) != nil } }

    /// Why no rule can be proposed for entities that may have dates: what this program cannot read of them, each as a sentence without a
    /// full stop; empty: there are none.
    package var obstacles: [String] {
        inspection.entities.filter {
            $0.trouble != nil || $0.dates.contains { $0.obstacle != nil } || bestDate(of: $0) != nil
        }.map { "\($0.entity.name): \(reasonWithoutRule($0))" }
    }

    /// The file, ending with a line end. It is not valid until each rule has an age.
    package var text: String {
        var lines = [
            "# A policy for \(SafeText.line(inspection.store)), made by `retention init`.",
            "# It deletes nothing until you change it.",
            "#",
            "# 1. For each rule that you want, write an age after max_age, such as 90d, 2y",
            "#    or 1y6mo. Remove the other rules.",
            "# 2. retention check            shows what is missing or does not match.",
            "# 3. Set enabled: true. retention run --dry-run shows what would be deleted.",
            "#",
            "# All keys are described in docs/configuration.md.",
            "version: 1",
        ]
        if let model {
            lines.append("store: { path: \(scalar(store)), model: \(scalar(model)) }")
        } else {
            lines.append("store: \(scalar(store))")
        }
        lines += safetyNet + ["", "rules:"]
        var (names, ruled, tried): (Set<String>, Set<String>, Set<String>) = ([], [], [])
        for entity in ruledEntities {
            guard let date = date(of: entity), !ruled.contains(entity.entity.name) else { continue }
            if names.count > 0 { lines.append("") }
            let family = Self.pattern(like: entity.entity.name).flatMap {
                tried.insert($0).inserted ? self.family(of: entity, date, $0) : nil
            }
            ruled.formUnion((family?.members ?? [entity]).map(\.entity.name))
            lines += rule(
                entity, date, family,
                name: unusedName(for: family?.pattern.replacing("_*", with: "") ?? entity.entity.name, &names))
        }
        let others = inspection.entities.filter { !ruled.contains($0.entity.name) }
        if !others.isEmpty {
            lines += ["", "# No rule is proposed for these:"]
            lines += others.flatMap { note("\($0.entity.name): \(reasonWithoutRule($0))", after: "#   ") }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What protects from a mistake in an age.
    private var safetyNet: [String] {
        func place(_ name: String) -> String { scalar(folder.map { FilePlace.path(name, in: $0) } ?? name) }
        // A schema cannot be used before it exists.
        let archive =
            inspection.engine == "sqlite"
            ? [
                "# Copies of deleted rows, for `retention undo`."
                    + (hasArchiveFolder ? "" : " First: mkdir -m 700 archive"),
                "archive: { folder: \(place("archive")), keep: 30d }",
            ]
            : [
                "# Copies of deleted rows, for `retention undo`. First, as the job's user:",
                "# CREATE SCHEMA retention_archive", "# archive: { schema: retention_archive, keep: 30d }",
            ]
        return [""] + archive + [
            "# A run that would delete more than half of the rows is refused.",
            "defaults: { limits: { max_fraction: 0.5 } }",
            "# What each run did; warnings and errors are printed, too.",
            "log: { file: \(place("retention.log")) }",
            "# How often you run it; `retention log --missed` looks for gaps.", "expected_every: 1d",
        ]
    }

    // MARK: Contents of a rule

    /// The date of an entity's rule; nil: it needs none.
    func date(of entity: Inspected) -> DateInspection? {
        parent(of: entity) == nil ? ownDate(of: entity) : nil
    }

    /// The date that best says how old an entity's rows are; nil: there is none that a rule should use.
    ///
    /// Of rows that begin and end it is the end. Otherwise the time of an event is preferred to that of the row's creation, and these to
    /// when it was loaded or changed; a date with an index to one without. Of two equal dates the later one is used, because it deletes
    /// fewer rows.
    func ownDate(of entity: Inspected) -> DateInspection? {
        guard entity.entity.kind == .table, Self.ownRecords[entity.entity.name] == nil, !inheritsDate(entity),
            let best = bestDate(of: entity), listReason(entity, best) == nil
        else { return nil }
        return best
    }

    private static let ownRecords = [
        "retention_taken": "the job's own record of pending files",
        Entity.persistentHistory: "Core Data's own history; a rule with this entity and max_age shortens it",
    ]

    func bestDate(of entity: Inspected) -> DateInspection? {
        if entity.rowCount == 0, hasRows { return nil }
        func rank(_ date: DateInspection) -> [Int] {
            let certainties: [DateRecognition.Certainty] = [.declared, .sure, .likely]
            return [
                isEnd(date, of: entity) || (date.readableCount ?? 0) * 2 >= entity.rowCount ?? 0 ? 0 : 1,
                AttributeWords(date.attribute).role.rawValue,
                date.index == nil ? 1 : 0, certainties.firstIndex(of: date.recognition.certainty) ?? certainties.count,
            ]
        }
        let usable = entity.dates.filter { obstacle(to: $0, of: entity) == nil }
        return usable.min { a, b in
            let ranks = (rank(a), rank(b))
            if ranks.0 != ranks.1 { return ranks.0.lexicographicallyPrecedes(ranks.1) }
            return (a.newest ?? .distantPast) > (b.newest ?? .distantPast)
        }
    }

    /// Why no rule is proposed for a date, as a sentence without a full stop; nil: one may be.
    private func obstacle(to date: DateInspection, of entity: Inspected) -> String? {
        let recognition = date.recognition
        switch recognition.certainty {
        case .mixed, .none: return recognition.reason
        case .unsure:
            return "NOT SURE of the format \(recognition.encoding?.rawValue ?? ""): \(recognition.reason)"
        case .declared, .sure, .likely: break
        }
        if recognition.isInFuture {
            return "all of its dates are in the future: it says when something ends, not how old a row is"
        }
        if recognition.isOftenInFuture, !isEnd(date, of: entity) {
            return "many of its dates are in the future: they are those of a calendar or a plan, not of when a row was "
                + "made"
        }
        let words = AttributeWords(date.attribute)
        if let end = entity.dates.first(where: { isDate($0) && isEnd($0, insteadOf: date, entity) }) {
            return "\(end.attribute.name) says when it ends, and what has not ended must not expire"
        }
        if words.role == .other, !isEnd(date, of: entity) {
            return "its name does not say how old a row is: it may be the date of a birth, a hire, an end or a deadline"
        }
        guard isDate(date) else {
            return "its values look like \(recognition.encoding?.rawValue ?? ""), but neither its name nor its type "
                + "suggests a date"
        }
        if let reason = date.obstacle { return reason }
        return date.newest == nil && entity.rowCount != 0 ? "none of its rows has a date that can be read" : nil
    }

    /// A price may look like a date, but not like this one.
    private func isDate(_ date: DateInspection) -> Bool {
        date.recognition.isNamedAsDate || date.recognition.encoding == .iso8601
    }

    /// Whether rows must not expire by a date because another one says when they end: they begin at the first, or at a date with the name
    /// of a beginning, or the first only says when they were stored.
    private func isEnd(_ end: DateInspection, insteadOf date: DateInspection, _ entity: Inspected) -> Bool {
        let words = AttributeWords(date.attribute)
        if isEnd(date, of: entity), words.saysEnd || !AttributeWords(end.attribute).saysEnd { return false }
        return entity.dates.contains { other in
            let begin = AttributeWords(other.attribute)
            let counts = other.attribute.name == date.attribute.name || begin.saysBeginning || words.isStored
            return counts && isDate(other) && isEnd(end, of: begin, entity)
        }
    }

    /// Whether a date says when something ends that begins at another one.
    func isEnd(_ date: DateInspection, of entity: Inspected) -> Bool {
        entity.dates.contains { isEnd(date, of: AttributeWords($0.attribute), entity) }
    }

    /// Whether a date says when what begins at another one ends; without a common name at least half of the rows need such an end. It may
    /// also lie ahead: then nothing has ended yet.
    private func isEnd(_ end: DateInspection, of date: AttributeWords, _ entity: Inspected) -> Bool {
        AttributeWords(end.attribute).isEnd(
            of: date, isOfRow: (end.readableCount ?? 0) * 2 >= entity.rowCount ?? 0)
    }

    /// Whether any entity has rows with a date. If so, empty entities need no rule.
    private var hasRows: Bool { inspection.entities.contains { $0.dates.contains { $0.newest != nil } } }

    /// Whether the rows also belong to a parent entity, which has its own rule.
    private func inheritsDate(_ entity: Inspected) -> Bool {
        guard let parent = entity.entity.model?.parent,
            let above = inspection.entities.first(where: { $0.entity.name == parent })
        else { return false }
        return date(of: above) != nil || inheritsDate(above)
    }

    private func reasonWithoutRule(_ entity: Inspected) -> String {
        if let trouble = entity.trouble { return "it could not be read: \(trouble)" }
        if entity.entity.kind != .table { return entity.entity.kind.phrase }
        if let text = Self.ownRecords[entity.entity.name] { return text }
        if inheritsDate(entity) { return "its rows also belong to \(entity.entity.model?.parent ?? "")" }
        if entity.rowCount == 0 { return "it has no rows" }
        if let parent = parent(of: entity) { return "its rows go with those of \(parent.entity.name)" }
        if let reason = bestDate(of: entity).flatMap({ listReason(entity, $0) }) { return reason }
        let reasons = entity.dates.compactMap { date in
            obstacle(to: date, of: entity).map { "\(date.attribute.name): \($0)" }
        }
        return reasons.isEmpty ? "no attribute looks like a date" : reasons.joined(separator: ". ")
    }

    private func rule(_ entity: Inspected, _ date: DateInspection, _ family: Family?, name: String) -> [String] {
        var lines =
            family.map { note("\($0.pattern): \(figures(of: $0).joined(separator: ", ")), such as", after: "  # ") }
            ?? []
        lines += note("\(entity.entity.name): \(facts(entity, date))", after: "  # ")
        lines += notes(entity, date).flatMap { note($0, after: "  # ") }
        lines += [
            "  - name: \(scalar(name))", "    entity: \(scalar(family?.pattern ?? entity.entity.name))",
            "    date_attribute: \(scalar(date.attribute.name))",
        ]
        if date.recognition.certainty != .declared, let encoding = date.recognition.encoding {
            lines.append("    date_format: \(encoding.setting)")
        }
        if takesAll(entity) { lines.append("    relationships: cascade") }
        if isAhead(date), let newest = date.newest {
            let reason =
                isEnd(date, of: entity) ? "what has not ended may end later" : "its dates go to \(newest.civil.date)"
            lines.append("    accept: [future_dates]      # \(reason)")
        }
        if date.archiveObstacle != nil { lines.append("    archive: none") }
        lines += ["    max_age:                    # how long a row is kept: choose", "    enabled: false"]
        return showsTiers ? lines + tiers(of: entity.entity, date.attribute) : lines
    }

    /// Examples of what a rule can keep of rows past their age, as comments. Attributes are guessed from their names; the user can change
    /// the examples.
    private func tiers(of entity: Entity, _ date: Attribute) -> [String] {
        // Candles are not prices.
        if CandleField.allCases.allSatisfy({ entity.attribute(named: $0.rawValue) != nil }) { return [] }
        func named(_ words: [String]) -> Attribute? {
            let others = entity.attributes.filter { $0.name != date.name }
            return words.lazy.compactMap { word in others.first { $0.name.folded.contains(word) } }.first
        }
        let group = named(["symbol", "ticker", "isin", "instrument", "pair"])
        let per = group.map { "per: [\(scalar($0.name))], " } ?? ""
        var lines = [
            "    # Keep fewer rows beyond max_age, instead of none: one an hour, then one a",
            "    # day, then one a month. See docs/tiers.md.",
            "    # thin: { \(per)hourly: 2y, daily: 10y, monthly: forever }",
        ]
        let price = named(["price", "close", "last", "rate", "bid"])
        guard let price, price.affinity != .text, inspection.engine == "sqlite", entity.incomingRelationships.isEmpty
        else { return lines }
        let volume = named(["volume"]).map { ", volume: \(scalar($0.name))" } ?? ""
        lines += [
            "    # Or candles: the rows of each hour become one, in a table that a run creates.",
            "    # rollup: { into: candle_1h, every: 1h, \(per)price: \(scalar(price.name))\(volume) }",
        ]
        return lines
    }

    /// Whether some of the dates are in the future.
    func isAhead(_ date: DateInspection) -> Bool {
        date.newest.map { $0.since(inspection.clock) > .seconds(86_400) } == true
    }

    private func facts(_ entity: Inspected, _ date: DateInspection) -> String {
        var facts = entity.figures
        if let oldest = date.oldest, let newest = date.newest {
            facts.append("\(date.attribute.name) from \(oldest.civil.date) to \(newest.civil.date)")
        }
        return facts.joined(separator: ", ")
    }

    /// What a person should know before choosing an age.
    private func notes(_ entity: Inspected, _ date: DateInspection) -> [String] {
        var notes: [String] = []
        switch date.recognition.certainty {
        case .declared: notes.append("The store declares the format: \(date.recognition.encoding?.rawValue ?? "").")
        case .sure: notes.append("The format is sure: \(date.recognition.reason).")
        case .likely: notes.append("The format is likely: \(date.recognition.reason).")
        case .unsure, .mixed, .none: break
        }
        notes += entity.layout?.split(separator: "; ").map { $0.prefix(1).uppercased() + $0.dropFirst() + "." } ?? []
        let unreadable = date.unreadable.reduce(0) { $0 + $1.rowCount }
        if unreadable > 0 {
            notes.append("\(Figures.count(unreadable, "row")) whose date cannot be read would be kept.")
        }
        let others = entity.dates.filter {
            $0.attribute.name != date.attribute.name && $0.newest != nil && $0.recognition.certainty != .unsure
        }
        if !others.isEmpty { notes.append("Other dates: \(others.map(\.attribute.name).joined(separator: ", ")).") }
        if let obstacle = date.indexObstacle {
            notes.append("No index can be used for \(date.attribute.name): each run reads all rows (\(obstacle)).")
        } else if date.index == nil {
            notes.append("No index begins with \(date.attribute.name): each run reads all rows.")
        }
        if let obstacle = date.archiveObstacle { notes.append("Its rows cannot be archived: \(obstacle).") }
        if let model = entity.entity.model {
            if !model.subentities.isEmpty {
                notes.append("The rows of \(model.subentities.joined(separator: ", ")) are included.")
            }
            for relationship in model.relationships where [.cascade, .deny].contains(relationship.deleteRule) {
                notes.append(
                    "\(relationship.name) (\(relationship.destination)): \(relationship.deleteRule.rawValue) on delete."
                )
            }
        }
        for key in entity.entity.incomingRelationships {
            let isGoing = inspection.entities.contains { $0.entity.name == key.source && parent(of: $0) != nil }
            notes.append("\(key.source) refers to it: \(isGoing ? "its rows go with it" : key.deleteRule.draftText).")
        }
        return notes
    }

    /// A name of lower-case letters, digits, `-`, `_` and `.` that no rule has yet.
    private func unusedName(for entity: String, _ names: inout Set<String>) -> String {
        var base = ""
        var wasLower = false
        for scalar in entity.unicodeScalars {
            let isUpper = ("A"..."Z").contains(scalar)
            let isPlain =
                isUpper || ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar)
                || "_.".unicodeScalars.contains(scalar)
            if !isPlain || (isUpper && wasLower), base.last != "-" { base += "-" }
            if isPlain { base += String(scalar).lowercased() }
            wasLower = isPlain && !isUpper && !"_.".unicodeScalars.contains(scalar)
        }
        while base.hasPrefix("-") || base.hasPrefix(".") { base.removeFirst() }
        while base.hasSuffix("-") { base.removeLast() }
        if base.isEmpty { base = "rule" }
        var name = base
        var number = 2
        while !names.insert(name).inserted {
            name = "\(base)-\(number)"
            number += 1
        }
        return name
    }

    // MARK: YAML

    /// A comment of lines that fit into a terminal.
    private func note(_ text: String, after start: String) -> [String] {
        TextWidth.wrap(SafeText.line(text), width: 80 - start.count, indent: 2).map { start + $0 }
    }

    /// A text that YAML reads back unchanged: plain if possible, otherwise in double quotes.
    private func scalar(_ text: String) -> String {
        let plain = text.unicodeScalars.allSatisfy { scalar in
            ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
                || "_./-".unicodeScalars.contains(scalar)
        }
        let isWord = text.unicodeScalars.first.map { ("a"..."z").contains($0) || ("A"..."Z").contains($0) || $0 == "/" }
        let words = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
        if plain, isWord == true, !words.contains(text.lowercased()) { return text }
        // A JSON string is also a YAML string.
        return JSONText.string(text).line
    }
}

extension Relationship.DeleteRule {
    /// What happens to rows that refer to a deleted row.
    fileprivate var draftText: String {
        switch self {
        case .cascade: "its rows are also deleted"
        case .nullify: "its reference becomes NULL"
        case .restrict, .noAction, .setDefault: "a row that it refers to cannot be deleted"
        }
    }
}
