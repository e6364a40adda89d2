/// The rows that a policy of the program `retention` keeps; nothing that other programs use.
public struct SparedRows: Hashable, Sendable {
    /// Which rows are kept.
    package indirect enum Kind: Hashable, Sendable {
        /// The row is not one of the newest rows that ``KeepLast`` protects.
        case notKept(KeepLast)
        /// The row is not one of the picks that ``Thinning`` keeps.
        case notPicked(Thinning)
        /// The row is not held, and no held row would be deleted with it by a cascade under this relationship rule. If the rule is nil,
        /// only the row itself matters. Never unknown.
        case notHeld([HeldRows], by: BatchDeleteRequest.RelationshipRule?)
    }

    package let kind: Kind
}

extension StorePredicate {
    /// The rows that the condition itself spares; nil: it is another condition.
    package var spared: SparedRows.Kind? { if case .spares(let rows) = self { rows.kind } else { nil } }

    package static func notKept(_ keepLast: KeepLast) -> StorePredicate {
        .spares(SparedRows(kind: .notKept(keepLast)))
    }

    package static func notPicked(_ picks: Thinning) -> StorePredicate { .spares(SparedRows(kind: .notPicked(picks))) }

    package static func notHeld(
        _ holds: [HeldRows], by rule: BatchDeleteRequest.RelationshipRule?
    ) -> StorePredicate { .spares(SparedRows(kind: .notHeld(holds, by: rule))) }
}

/// The newest rows of each group, which a rule never deletes. Rows with the same date as the last kept row are also kept.
///
/// A row is deleted only while all of these rows of its group exist. If another program deletes or changes one of them during a deletion,
/// the rest of the group stays until the next one.
package struct KeepLast: Hashable, Sendable {
    /// How many rows of each group are kept; at least 1.
    package let count: Int
    /// The attributes of a group; empty: all rows are one group. NULL is a group of its own.
    package let groupedBy: [String]
    /// The rows that count: readable rows that match this condition.
    package internal(set) var among: StorePredicate
    package let date: DateAttribute
    /// Only groups whose oldest kept row is before this instant matter; nil: all groups matter. It limits the work if a range of dates
    /// limits the rows.
    package var relevantBefore: Instant?

    package init(count: Int, groupedBy: [String], among: StorePredicate, date: DateAttribute) {
        self.count = count
        self.groupedBy = groupedBy
        self.among = among
        self.date = date
    }
}
