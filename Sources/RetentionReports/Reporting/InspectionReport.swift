import PriceStore
import RetentionJob
import RetentionPolicy

/// The report of `retention inspect`, for people.
package struct InspectionReport {
    private let inspection: StoreInspection

    /// Makes the report of an inspection.
    package init(_ inspection: StoreInspection) {
        self.inspection = inspection
    }

    // MARK: Text

    /// The report for people, ending with a line end.
    ///
    /// - Parameters:
    ///   - width: the columns to which sentences are wrapped.
    ///   - tableWidth: the columns of a terminal, to which tables are folded between their cells; nil: a row is a line.
    ///   - usesColour: whether the reader is a terminal that shows colours.
    package func text(width: Int = 100, tableWidth: Int? = nil, usesColour: Bool = false) -> String {
        let paint = { (text: String, style: Style) in usesColour ? style.painted(text) : text }
        let width = max(40, width)
        let foldWidth = tableWidth.map { max(40, $0) - 2 }
        let head = [
            SafeText.line(inspection.store), inspection.engine, Figures.bytes(inspection.sizeBytes),
            Figures.count(inspection.entities.count, "entity", plural: "entities"),
        ].joined(separator: " · ")
        var lines = TextWidth.fit(head, width: width, indent: 4)
        lines += wrapped(inspection.components.map(\.description).joined(separator: ", "), width)
        lines += inspection.knownDefects.flatMap { wrapped($0.sentence, width) }
        for entity in inspection.entities {
            lines.append("")
            lines.append(paint(SafeText.line(entity.entity.name), .heading) + ": " + facts(of: entity))
            lines += wrapped(entity.layout ?? "", width)
            lines += wrapped(modelFacts(of: entity.entity.model), width)
            let triggers = entity.entity.deleteTriggers
            if !triggers.isEmpty {
                let names = triggers.joined(separator: ", ")
                lines += wrapped(
                    "deleting rows fires \(triggers.count == 1 ? "the trigger" : "the triggers") \(names)", width)
            }
            if let trouble = entity.trouble { lines += wrapped("not all could be read: " + trouble, width) }
            if !entity.dates.isEmpty {
                lines += dateTable(entity.dates).lines(width: width - 2, foldWidth: foldWidth, paint: paint).map(indent)
            }
            for date in entity.dates { lines += notes(on: date).flatMap { wrapped($0, width) } }
            let relationships = relationshipTable(entity.entity)
            if !relationships.rows.isEmpty {
                lines += relationships.lines(width: width - 2, foldWidth: foldWidth, paint: paint).map(indent)
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func indent(_ line: String) -> String { "  " + line }

    /// A sentence, wrapped with a hanging indent; none for an empty text.
    private func wrapped(_ text: String, _ width: Int) -> [String] {
        guard !text.isEmpty else { return [] }
        return TextWidth.wrap(SafeText.line(text), width: width - 4).enumerated().map { index, line in
            (index == 0 ? "  " : "    ") + line
        }
    }

    private func facts(of entity: StoreInspection.EntityInspection) -> String {
        var facts = [entity.rowCount.map { Figures.count($0, "row") } ?? "rows not counted"]
        if let size = entity.sizeBytes { facts.append(Figures.bytes(size)) }
        switch entity.entity.kind {
        case .table: break
        case .view: facts.append("a view")
        case .virtual: facts.append("a virtual table")
        }
        if entity.dates.isEmpty, entity.entity.kind == .table, entity.trouble == nil { facts.append("no dates") }
        return facts.joined(separator: ", ")
    }

    private func modelFacts(of model: EntityModel?) -> String {
        guard let model else { return "" }
        var facts: [String] = []
        if model.isAbstract { facts.append("abstract") }
        if let parent = model.parent { facts.append("parent \(parent)") }
        if !model.subentities.isEmpty { facts.append("sub-entities " + model.subentities.joined(separator: ", ")) }
        return facts.joined(separator: "; ")
    }

    private func dateTable(_ dates: [StoreInspection.DateInspection]) -> TextTable {
        TextTable(
            columns: [
                .init("DATE ATTRIBUTE"), .init("FORMAT"), .init("HOW SURE"), .init("OLDEST (UTC)"),
                .init("NEWEST (UTC)"), .init("INDEX"),
            ],
            rows: dates.map { date in
                .init(
                    cells: [
                        SafeText.line(date.attribute.name), format(date.recognition),
                        date.recognition.certainty.rawValue, date.oldest?.toSecond.plain ?? "",
                        date.newest?.toSecond.plain ?? "", SafeText.line(date.index ?? ""),
                    ])
            })
    }

    private func format(_ recognition: DateRecognition) -> String {
        recognition.encoding?.rawValue ?? (recognition.certainty == .mixed ? "several" : "not recognised")
    }

    private func notes(on date: StoreInspection.DateInspection) -> [String] {
        var notes: [String] = []
        let recognition = date.recognition
        if recognition.certainty != .declared {
            notes.append("\(date.attribute.name): \(recognition.reason)")
        }
        if !recognition.sentinels.isEmpty, recognition.encoding != nil {
            notes.append(
                "\(date.attribute.name): left out as placeholders for no date: "
                    + recognition.sentinels.prefix(3).map { SafeText.example($0) }.joined(separator: ", ")
                    + (recognition.sentinels.count > 3 ? ", …" : ""))
        }
        if let obstacle = date.obstacle { notes.append("\(date.attribute.name): no rule is possible: \(obstacle)") }
        if let obstacle = date.indexObstacle { notes.append("\(date.attribute.name): \(obstacle)") }
        for rows in date.unreadable {
            let example = rows.example.isNull ? "" : ", as \(SafeText.example(rows.example))"
            let reason =
                rows.reason == .beforeEarliest ? "a date before 1971 (see `earliest`)" : rows.reason.reportPhrase
            notes.append(
                "\(date.attribute.name): \(Figures.count(rows.rowCount, "unreadable row")): \(reason)\(example)")
        }
        return notes
    }

    /// The relationships of a model, or the foreign keys of a schema.
    private func relationshipTable(_ entity: Entity) -> TextTable {
        var table = TextTable(columns: [
            .init("RELATIONSHIP"), .init("TO"), .init("INVERSE"), .init("KIND"), .init("ON DELETE"), .init("INDEX"),
        ])
        if let model = entity.model {
            table.rows = model.relationships.map { relationship in
                .init(
                    cells: [
                        SafeText.line(relationship.name), SafeText.line(relationship.destination),
                        SafeText.line(relationship.inverse ?? ""), kind(of: relationship),
                        relationship.deleteRule.reportWord,
                    ])
            }
        } else {
            table.rows = entity.relationships.map { key in
                let destination = key.destination + "(" + key.destinationAttributes.joined(separator: ", ") + ")"
                return .init(
                    cells: [
                        SafeText.line(key.sourceAttributes.joined(separator: ", ")), SafeText.line(destination), "",
                        "foreign key", key.deleteRule.reportWord, key.isIndexed ? "yes" : "none",
                    ])
            }
        }
        return table
    }

    private func kind(of relationship: ModelRelationship) -> String {
        var words = [relationship.isToMany ? "to many" : "to one"]
        if relationship.isOrdered { words.append("ordered") }
        if !relationship.isOptional { words.append("required") }
        return words.joined(separator: ", ")
    }
}

extension Relationship.DeleteRule {
    /// The rule in reports.
    fileprivate var reportWord: String {
        switch self {
        case .cascade: "cascade"
        case .nullify: "nullify"
        case .setDefault: "set_default"
        case .restrict: "restrict"
        case .noAction: "no_action"
        }
    }
}

extension ModelRelationship.DeleteRule {
    /// The rule in reports.
    fileprivate var reportWord: String {
        switch self {
        case .noAction: "no_action"
        case .nullify: "nullify"
        case .cascade: "cascade"
        case .deny: "deny"
        }
    }
}
