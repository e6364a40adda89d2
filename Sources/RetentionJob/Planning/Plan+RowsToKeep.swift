import PriceStore
import RetentionPolicy

extension Plan {
    /// What no cascade of a batch may take: rows under holds, rows that `thin` and `keep_last` keep, the rows of tables that an undo has
    /// restored, and the last readable row of an entity. What somebody has accepted is not among it.
    func findRowsToKeep(_ planner: Planner) -> RowsToKeep {
        var found = RowsToKeep()
        func isAccepted(_ code: RefusalCode) -> Bool {
            steps.contains { planner.options.accept.union($0.rule.accept).contains(code) }
        }
        found.rows = holds.inForce.filter(\.isThere).map { .init($0.rows, keeper: "the hold '\($0.hold.name)'") }
        if !isAccepted(.keptRowsDeleted) {
            for keeper in together?.keepers(asOf: planner.asOf) ?? [] {
                for rows in keeper.request.keptRows {
                    let held = HeldRows(name: keeper.rule.name, entity: keeper.request.entity, rows: rows)
                    found.rows.append(.init(held, keeper: "the rule '\(keeper.rule.name)'"))
                }
            }
        }
        if !isAccepted(.restoredRows) {
            for restored in planner.memory.restorations where restored.accepted.isEmpty {
                for table in restored.tables.sorted() {
                    let held = HeldRows(name: restored.undo, entity: table, rows: .all)
                    found.rows.append(.init(held, keeper: "the undo \(restored.undo)"))
                }
            }
        }
        if !isAccepted(.wouldEmptyEntity) {
            for step in steps where !step.rule.allowEmpty {
                guard let request = step.surveyRequest else { continue }
                found.entities.append(.init(entity: request.entity, date: request.date))
            }
        }
        return found
    }
}

extension SurveyRequest {
    /// The rows that a rule with `thin` or `keep_last` keeps, of each kind.
    var keptRows: [StorePredicate] {
        let newest = keepLast.map { $0.among && .notTrue(.notKept($0)) }
        let picks = thinningBeforeCutoff.map { $0.among && .notTrue(.notPicked($0)) }
        return [newest, picks].compactMap(\.self)
    }
}
