/// A question to a store: what would a rule find and delete?
package struct SurveyRequest: Hashable, Sendable {
    /// The rows before the cutoff that stay.
    package struct Keepers: Hashable, Sendable {
        /// The newest rows that the rule keeps, if any.
        package var keepLast: KeepLast?
        /// The rows of each bucket of the calendar that the rule keeps, if any.
        package var thinning: Thinning?
        /// The rows that other rules of the entity keep, each a ``StorePredicate/notKept(_:)`` or
        /// ``StorePredicate/notPicked(_:)``.
        package var others: [StorePredicate] = []
        /// Rows that must stay: no row is deleted that one of these holds, nor one with which such a row would be deleted.
        package var holds: [HeldRows] = []
    }

    /// What is counted even if no decision depends on it.
    package struct Counts: Hashable, Sendable {
        /// All rows, even if an index shows that none is expired.
        package var all = true
        /// The remaining rows if some rows are expired, as for a limit that is a share of all rows. They are always
        /// counted if that costs nothing.
        package var kept = true
        /// The rows that relationships would delete or change.
        package var related = true

        /// Makes the choice; without arguments everything is counted.
        package init(all: Bool = true, kept: Bool = true, related: Bool = true) {
            (self.all, self.kept, self.related) = (all, kept, related)
        }
    }

    /// What is asked of the deletion besides the rows.
    package struct Deleting: Hashable, Sendable {
        /// The engine's name of a method to use, for tests and measurements. Nil: the engine chooses.
        package var method: String?
        /// The largest number of rows, all parts together; nil: no limit. A method that could exceed it is not used.
        package var maxRows: Int?
        /// Whether the entity may lose its last readable row. If not, a batch that would delete it is undone and fails.
        package var mayEmpty = true
        /// What the rows become in the transaction that deletes them; nil: nothing. The filter leaves rows without a price
        /// out.
        package var rollup: Rollup?
        /// The rule under whose name each row is archived before it is deleted; nil: rows are not archived. See
        /// ``StoreWriter/beginArchive(_:)``.
        package var archiveRule: String?
    }

    package var entity: String
    /// Whether rows of sub-entities are included; see ``StoreFetchRequest/includesSubentities``.
    package var includesSubentities = true
    package var date: DateAttribute
    package var cutoff: Instant
    package var filter: StorePredicate
    package var keepers = Keepers()
    /// What the rules before this one delete, in order: their rows are counted there and not here.
    package var preceding: [BatchDeleteRequest]
    /// What happens to rows that refer to deleted rows.
    package var relationships: BatchDeleteRequest.RelationshipRule
    package var deleting = Deleting()
    package var counts: Counts

    package init(
        entity: String, date: DateAttribute, cutoff: Instant, filter: StorePredicate = .all, keepLast: KeepLast? = nil,
        preceding: [BatchDeleteRequest] = [], relationships: BatchDeleteRequest.RelationshipRule = .asDeclared,
        counts: Counts = Counts()
    ) {
        self.entity = entity
        self.date = date
        self.cutoff = cutoff
        self.filter = filter
        keepers.keepLast = keepLast
        self.preceding = preceding
        self.relationships = relationships
        self.counts = counts
    }

    /// What the rule deletes: readable rows before the cutoff that match the filter and are not spared.
    package var expired: StorePredicate { expired(from: nil) }

    /// The rows of ``expired`` that are not wholly before an instant.
    package func expired(from start: Instant?) -> StorePredicate {
        let old = StorePredicate.date(DateRange(date, from: start, before: cutoff)) && filter
        return notSpared.map { old && $0 } ?? old
    }

    /// The condition that ``keepers`` add; nil without them.
    package var notSpared: StorePredicate? {
        let parts = notKept + [notHeld].compactMap(\.self)
        return parts.isEmpty ? nil : parts.reduce(.all) { $0 && $1 }
    }

    package var thinningBeforeCutoff: Thinning? {
        var thinning = keepers.thinning
        thinning?.cutoff = cutoff
        return thinning
    }

    /// What the rule itself keeps, whatever its cutoff: of each kind the condition that a row is not kept.
    package var ownKeepers: [StorePredicate] {
        [keepers.keepLast.map(StorePredicate.notKept), keepers.thinning.map(StorePredicate.notPicked)].compactMap(
            \.self)
    }

    /// The conditions that a row before ``cutoff`` is not kept by this rule or by another one.
    private var notKept: [StorePredicate] {
        (ownKeepers + keepers.others).map { keeper in
            switch keeper.spared {
            case .notKept(var keepLast):
                keepLast.relevantBefore = cutoff
                return spared(by: .notKept(keepLast), keepLast.among, keepLast.date)
            case .notPicked(var thinning):
                thinning.cutoff = cutoff
                return spared(by: .notPicked(thinning), thinning.among, thinning.date)
            case .notHeld, nil: return keeper
            }
        }
    }

    /// The condition that something does not keep a row, if it is one of those among which kept rows are chosen.
    private func spared(by keeper: StorePredicate, _ among: StorePredicate, _ date: DateAttribute) -> StorePredicate {
        // All rows of the rule are.
        if among == filter, date == self.date { return keeper }
        return .or([.notTrue(.readable(date) && among), keeper])
    }
}

extension BatchDeleteRequest {
    package init(_ request: SurveyRequest, resultType: BatchResultType = .statusOnly) {
        self.init(
            fetchRequest: StoreFetchRequest(
                entity: request.entity, predicate: request.expired,
                includesSubentities: request.includesSubentities),
            resultType: resultType, relationships: request.relationships)
    }
}
