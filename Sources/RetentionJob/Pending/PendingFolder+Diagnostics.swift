import Logging
package import PriceStore
package import RetentionPolicy

extension PendingFolder {
    /// The findings of a dry run about the pending files, as warnings, and those of a judge that sees the store with the rows of the files,
    /// as a run does after the import. If they cannot be counted, the judge sees the store as it is.
    ///
    /// - Throws: `StoreError` if the store cannot be read.
    package func diagnostics(
        rehearsal: any RetentionInserter, sparing held: [HeldRows], now: Instant,
        then judge: (RunReport.Pending) throws -> [Diagnostic]
    ) throws -> [Diagnostic] {
        let none = RunReport.Pending()
        guard let first = sources.first else { return try rehearsal.transaction(.normal) { try judge(none) } }
        let logger = Logger(label: "retention") { _ in SwiftLogNoOpLogHandler() }
        func warning(_ sentence: String) -> Diagnostic {
            Diagnostic(.warning, at: first.marks.value("files"), sentence)
        }
        func work() throws -> [Diagnostic] {
            var sentences: [String] = []
            let found = try save(
                into: rehearsal, sparing: held, now: now, logger: logger, note: { sentences.append($0) })
            sentences += found.problems
            sentences += found.failures.keys.sorted().map {
                "the rules of \($0) fail as long as its pending rows cannot be imported"
            }
            if found.rejected > 0 {
                sentences.append(
                    "\(Figures.count(found.rejected, "bad line")) in pending files: a run does not save them")
            }
            return try sentences.map(warning) + judge(found)
        }
        do {
            return try hasFiles ? rehearsal.rehearse(work) : rehearsal.transaction(.normal, work)
        } catch let error as StoreError where error.kind == .unpredictable {
            return try [warning(error.message + (error.hint.map { "; \($0)" } ?? ""))]
                + rehearsal.transaction(.normal) { try judge(none) }
        }
    }

    /// The mistakes in the `pending` part of a policy that only the store shows. Changes nothing.
    ///
    /// - Throws: `StoreError` if the store cannot be read.
    package static func diagnostics(policy: Policy, reader: any RetentionReader) throws -> [Diagnostic] {
        let dates = PendingDates(policy)
        return try policy.pending.flatMap { source in
            let mark = source.marks.value("entity")
            guard let entity = try reader.entity(named: source.entity) else {
                let nearest = NearestName.suggestion(for: source.entity, in: try reader.entityNames())
                return [Diagnostic(at: mark, "the store has no entity '\(source.entity)'\(nearest)")]
            }
            guard entity.kind == .table else {
                let text = "'\(entity.name)' is \(entity.kind.phrase); pending rows are saved to a table only"
                return [Diagnostic(at: mark, text)]
            }
            return formatDiagnostics(source, entity, dates) + attributeDiagnostics(source, entity, dates)
        }
    }

    /// The format of a date is unknown without a rule, and ambiguous with two formats.
    private static func formatDiagnostics(
        _ source: PendingSource, _ entity: Entity, _ dates: PendingDates
    ) -> [Diagnostic] {
        let mark = source.marks.value("entity")
        let formats = dates.formats(of: entity.name)
        guard !formats.isEmpty else {
            return [
                Diagnostic(
                    at: mark,
                    "no rule has the entity '\(entity.name)', so the format of its dates is unknown; add a rule with its "
                        + "date_attribute and date_format (enabled: false is enough)")
            ]
        }
        return formats.filter { $0.encodings.count > 1 }.map { format in
            let formats = format.encodings.map { "\($0.encoding.rawValue) in rule '\($0.rule)'" }.joined(
                separator: ", ")
            return Diagnostic(
                at: mark,
                "the rules differ in the date_format of '\(format.attribute)' (\(formats)); pending rows need one")
        }
    }

    private static func attributeDiagnostics(
        _ source: PendingSource, _ entity: Entity, _ dates: PendingDates
    ) -> [Diagnostic] {
        var diagnostics: [Diagnostic] = []
        var givenBy: [String: String] = [:]
        let names = entity.attributes.map(\.name)
        func check(_ name: String, _ key: String, _ mark: Mark) {
            guard let attribute = entity.attribute(named: name) else {
                let nearest = NearestName.suggestion(for: name, in: names)
                diagnostics.append(Diagnostic(at: mark, "'\(entity.name)' has no attribute '\(name)'\(nearest)"))
                return
            }
            if attribute.isGenerated {
                diagnostics.append(Diagnostic(at: mark, "'\(attribute.name)' is computed by the store"))
            }
            if let other = givenBy.updateValue(key, forKey: attribute.name) {
                diagnostics.append(
                    Diagnostic(at: mark, "'\(attribute.name)' is given twice, by '\(other)' and '\(key)'"))
            }
        }
        for (column, attribute) in source.columns.sorted(by: { $0.key < $1.key }) {
            check(attribute, "columns.\(column)", source.marks.value("columns.\(column)"))
        }
        for name in source.constants.keys.sorted() {
            check(name, "constants.\(name)", source.marks.key("constants.\(name)"))
        }
        if diagnostics.isEmpty {
            do {
                _ = try RowMapping(source, entity: entity, dates: dates)
            } catch {
                diagnostics.append(Diagnostic(at: source.marks.value("constants"), error.reason))
            }
        }
        return diagnostics
    }
}
