/// Rows that must not be deleted, neither by a rule nor by a cascade from its rows.
///
/// A row is also held if the condition is unknown for it.
package struct HeldRows: Hashable, Sendable {
    /// The hold's name, for messages and counts.
    package let name: String
    /// The entity whose rows are held, with its sub-entities, as the store spells it.
    package let entity: String
    /// The condition of the held rows. Rows for which it is false are not held.
    package let rows: StorePredicate

    package init(name: String, entity: String, rows: StorePredicate) {
        self.name = name
        self.entity = entity
        self.rows = rows
    }
}

/// A hold that cannot keep its rows, because of something that the store does by itself.
package struct HoldObstacle: Hashable, Sendable {
    package var hold: HeldRows
    package var reason: String

    package init(hold: HeldRows, reason: String) {
        self.hold = hold
        self.reason = reason
    }

    package var text: String { "the hold '\(hold.name)' cannot keep its rows of \(hold.entity): \(reason)" }
}

extension StorePredicate {
    /// The rows whose date may be in a range: those whose span overlaps it, and those whose date cannot be read. If an end lies within a
    /// period that clocks repeat, the whole period is in the range. Without an end it is open.
    package static func mayBeDated(_ date: DateAttribute, from: Instant?, until: Instant?) -> StorePredicate {
        let start = from.map { date.zone.repeatedTime(around: $0)?.lowerBound ?? $0 }
        let end = until.map { date.zone.repeatedTime(around: $0)?.upperBound ?? $0 }
        let notBefore = start.map { StorePredicate.notTrue(.date(DateRange(date, before: $0))) } ?? .all
        return notBefore && (end.map { .notTrue(.dateCompare(date, .greaterOrEqual, $0)) } ?? .all)
    }
}

extension SurveyRequest {
    /// The condition that ``holds`` add; nil without them.
    package var notHeld: StorePredicate? { keepers.holds.isEmpty ? nil : notHeld(by: keepers.holds) }

    /// The condition that no hold keeps a row, and that no held row would be deleted with it.
    ///
    /// - Parameter followsCascades: whether rows that would be deleted with the row count; false: only the row itself.
    package func notHeld(by holds: [HeldRows], followsCascades: Bool = true) -> StorePredicate {
        // With `deny` no row is deleted with others. A row that leads to a held one by the schema is still kept: it need not refuse the
        // rule.
        .notHeld(holds, by: followsCascades ? (relationships == .deny ? .asDeclared : relationships) : nil)
    }

    /// The rows that the rule would delete if there were no hold.
    package var deletionWithoutHolds: StorePredicate {
        var request = self
        request.keepers.holds = []
        return request.expired
    }
}

extension Survey {
    /// The rows of a rule that a hold keeps.
    package struct HeldCount: Hashable, Sendable {
        package var hold: String
        /// Rows that the rule would delete if there were no hold, and that this hold keeps. A row under two holds counts for both.
        package var rowCount: Int
        /// Those of ``rowCount`` that are kept because a held row would be deleted with them.
        package var relatedCount: Int

        package init(hold: String, rowCount: Int, relatedCount: Int = 0) {
            self.hold = hold
            self.rowCount = rowCount
            self.relatedCount = relatedCount
        }
    }

    /// Counts the rows that holds keep, in the state of the store in which the survey was made. They do not count as kept by the rule.
    package mutating func countHeld(_ request: SurveyRequest, count: (StoreFetchRequest) throws -> Int) rethrows {
        guard !request.keepers.holds.isEmpty, unsupported == nil else { return }
        kept.byHold = request.keepers.holds.map { HeldCount(hold: $0.name, rowCount: 0) }
        guard kept.byRuleCount > 0 else { return }
        let would = request.deletionWithoutHolds
        func number(_ holds: [HeldRows], followsCascades: Bool = true) throws -> Int {
            try count(
                StoreFetchRequest(
                    entity: request.entity,
                    predicate: would && .notTrue(request.notHeld(by: holds, followsCascades: followsCascades)),
                    includesSubentities: request.includesSubentities))
        }
        kept.heldCount = try number(request.keepers.holds)
        kept.byRuleCount = max(0, kept.byRuleCount - kept.heldCount)
        guard kept.heldCount > 0 else { return }
        for (index, hold) in request.keepers.holds.enumerated() {
            let all = try request.keepers.holds.count == 1 ? kept.heldCount : number([hold])
            guard all > 0 else { continue }
            kept.byHold[index].rowCount = all
            kept.byHold[index].relatedCount = try all - number([hold], followsCascades: false)
        }
    }
}
