package import PriceStore

/// Rows that no rule deletes while the hold lasts, for an audit or a dispute.
package struct Hold: Hashable, Sendable {
    package var name: String
    package var entity: String
    /// Whether the hold is for the stores that have the entity.
    package var skipsMissing = false
    /// Which rows of the entity are held; ``StorePredicate/all`` without `where`.
    package var filter: StorePredicate = .all
    /// The first date that is held, in the date attribute of the entity's rules; nil: no lower end.
    package var from: Instant?
    /// The end of the dates that are held, exclusive; nil: no upper end.
    package var until: Instant?
    /// Why the rows are held, for reports; blank if the hold was read from a ledger.
    package var reason: String
    /// When the hold ends; nil: it lasts until it is removed.
    package var expires: Instant?
    /// The positions of the hold's keys in the file.
    package var marks: Marks

    package init(name: String, entity: String, reason: String, marks: Marks) {
        self.name = name
        self.entity = entity
        self.reason = reason
        self.marks = marks
    }

    package func hasEnded(at clock: Instant) -> Bool { expires.map { $0 <= clock } ?? false }

    /// What the hold covers, as JSON on one line with the keys of the policy. Equal texts cover the same rows.
    package var canonical: String {
        CanonicalText.object(members)
    }

    /// The hold with its end, as the ledger records it.
    package var record: String {
        CanonicalText.object(members + (expires.map { [("expires", CanonicalText.text($0.rfc3339))] } ?? []))
    }

    private var members: [(String, String)] {
        var members = [("name", CanonicalText.text(name)), ("entity", CanonicalText.text(entity))]
        if filter != .all { members.append(("where", CanonicalText.conditions(filter))) }
        if let from { members.append(("from", CanonicalText.text(from.rfc3339))) }
        if let until { members.append(("until", CanonicalText.text(until.rfc3339))) }
        return members
    }

    /// Reads a hold from ``record`` or ``canonical``; nil: the line is not one.
    package init?(record: String) {
        guard
            let hold = CanonicalText.read(
                record,
                { builder, root in
                    builder.reader.group(root, PolicyKey.hold, name: nil).flatMap { builder.hold($0) }
                })
        else { return nil }
        self = hold
    }

    /// Whether this hold covers every row that another hold covers, for at least as long; false if that is not certain.
    package func covers(_ other: Hold) -> Bool {
        entity.folded == other.entity.folded && other.filter.implies(filter)
            && (from.map { from in other.from.map { $0 >= from } == true } ?? true)
            && (until.map { until in other.until.map { $0 <= until } == true } ?? true)
            && (expires.map { expires in other.expires.map { $0 <= expires } == true } ?? true)
    }
}
