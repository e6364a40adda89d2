import PriceStore
import RetentionJob
import RetentionPolicy

/// The report of `retention inspect`, for people.
package struct InspectionReport {
    private let inspection: StoreInspection

    package init(_ inspection: StoreInspection) {
        self.inspection = inspection
    }

    // MARK: Text

    /// The report for people, ending with a line end. Sentences are wrapped to 100 columns at most.
    package func text(_ layout: TextLayout = TextLayout()) -> String {
        let width = min(layout.width, 100)
        // What is below a heading is indented by two.
        let inner = TextLayout(
            width: width - 2, tableWidth: layout.tableWidth.map { $0 - 2 }, usesColour: layout.usesColour)
        func wrapped(_ text: String) -> [String] {
            text.isEmpty ? [] : TextWidth.wrap(SafeText.line(text), width: inner.width, indent: 2)
        }
        func indented(_ lines: [String]) -> [String] { lines.map { "  " + $0 } }
        let head = [
            SafeText.line(inspection.store), inspection.engine, Figures.bytes(inspection.sizeBytes),
            Figures.count(inspection.entities.count, "entity", plural: "entities"),
        ].joined(separator: " · ")
        var lines = TextWidth.fit(head, width: width, indent: 4)
        lines += indented(wrapped(inspection.components.map(\.description).joined(separator: ", ")))
        lines += indented(inspection.knownDefects.flatMap { wrapped($0.sentence) })
        for entity in inspection.entities {
            let title = "\(SafeText.line(entity.entity.name)): \(facts(of: entity))"
            lines += [""] + TextWidth.fit(title, width: width, indent: 4).map { layout.paint($0, .heading) }
            var inside = wrapped(entity.layout ?? "") + wrapped(modelFacts(of: entity.entity.model))
            let triggers = entity.entity.deleteTriggers
            if !triggers.isEmpty {
                let names = triggers.joined(separator: ", ")
                inside += wrapped(
                    "deleting rows fires \(triggers.count == 1 ? "the trigger" : "the triggers") \(names)")
            }
            if let trouble = entity.trouble { inside += wrapped("not all could be read: " + trouble) }
            if !entity.dates.isEmpty { inside += dateTable(entity.dates).lines(inner) }
            for date in entity.dates { inside += notes(on: date).flatMap(wrapped) }
            let relationships = relationshipTable(entity.entity)
            if !relationships.rows.isEmpty { inside += relationships.lines(inner) }
            lines += indented(inside)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func facts(of entity: StoreInspection.EntityInspection) -> String {
        var facts = entity.figures
        if entity.entity.kind != .table {
            facts.append(entity.entity.kind.phrase)
        } else if entity.dates.isEmpty, entity.trouble == nil {
            facts.append("no dates")
        }
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
                .init("DATE ATTRIBUTE"), .init("FORMAT"), .init("HOW SURE", leaving: 1, label: ""),
                .init("OLDEST (UTC)"),
                .init("NEWEST (UTC)"), .init("INDEX", leaving: 2),
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
                switch rows.reason {
                case .beforeEarliest: "a date before 1971 (see `earliest`)"
                case .notADate where recognition.certainty != .declared: "not a date in the proposed format"
                default: rows.reason.reportPhrase
                }
            notes.append(
                "\(date.attribute.name): \(Figures.count(rows.rowCount, "unreadable row")): \(reason)\(example)")
        }
        return notes
    }

    /// The relationships of a model, or the foreign keys of a schema.
    private func relationshipTable(_ entity: Entity) -> TextTable {
        var table = TextTable(columns: [
            .init("RELATIONSHIP"), .init("TO"), .init("INVERSE", leaving: 2), .init("KIND"), .init("ON DELETE"),
            .init("INDEX", leaving: 1),
        ])
        if let model = entity.model {
            table.rows = model.relationships.map { relationship in
                .init(
                    cells: [
                        SafeText.line(relationship.name), SafeText.line(relationship.destination),
                        SafeText.line(relationship.inverse ?? ""), kind(of: relationship),
                        word(relationship.deleteRule.rawValue),
                    ])
            }
        } else {
            table.rows = entity.relationships.map { key in
                let destination = key.destination + "(" + key.destinationAttributes.joined(separator: ", ") + ")"
                return .init(
                    cells: [
                        SafeText.line(key.sourceAttributes.joined(separator: ", ")), SafeText.line(destination), "",
                        "foreign key", word(key.deleteRule.rawValue), key.isIndexed ? "yes" : "none",
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

    /// A delete rule: `no_action`.
    private func word(_ deleteRule: String) -> String { AttributeWords.split(deleteRule).joined(separator: "_") }
}
