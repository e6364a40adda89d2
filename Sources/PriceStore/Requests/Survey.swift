/// A question to a store: what would a rule find and delete?
package struct SurveyRequest: Hashable, Sendable {
    /// The entity's name.
    package var entity: String
    /// Whether rows of sub-entities are included; see ``StoreFetchRequest/includesSubentities``.
    package var includesSubentities = true
    /// The date attribute and how it is read.
    package var date: DateAttribute
    /// Rows before it are expired.
    package var cutoff: Instant
    /// The rows that the rule considers.
    package var filter: StorePredicate
    /// The newest rows that the rule keeps, if any.
    package var keepLast: KeepLast?
    /// The rows of each bucket of the calendar that the rule keeps, if any.
    package var thinning: Thinning?
    /// The rows that other rules of the entity keep, each as a ``StorePredicate/notKept(_:)`` or ``StorePredicate/notPicked(_:)``.
    package var keptByOthers: [StorePredicate] = []
    /// Whether the entity may lose its last readable row. If not, a batch that would delete it is rolled back and fails.
    package var mayEmpty = true
    /// What the rows become in the transaction that deletes them; nil: nothing. The filter excludes rows without a price.
    package var rollup: Rollup?
    /// Rows that must stay. A row is not deleted if a hold keeps it, or if a held row would be deleted with it.
    package var holds: [HeldRows] = []
    /// What the preceding rules delete, in order. Their rows are counted there and not here.
    package var preceding: [BatchDeleteRequest]
    /// What happens to rows that refer to deleted rows.
    package var relationships: BatchDeleteRequest.RelationshipRule
    /// The name of the engine's technique to use, for tests and measurements; nil: the engine chooses.
    package var technique: String?
    /// The maximum number of rows that all parts of the deletion delete; nil: no limit. A method that could exceed it is not used.
    package var maxRows: Int?
    /// Whether a Core Data history that cannot be continued is left unchanged; see ``BatchDeleteRequest/ignoresUnknownHistory``.
    package var ignoresUnknownHistory = false
    /// Whether the deletion reports the ID of each deleted row.
    package var wantsObjectIDs = false
    /// The rule under whose name the deletion archives each row before it deletes it; nil: rows are not archived. See
    /// ``RetentionWriter/beginArchive(_:)``.
    package var archiveRule: String?
    /// The newest ``DeletionPart/note`` of a deletion of the entity's rows; nil: none is known.
    package var note: String?
    /// Whether all rows are counted even if an index shows that none is expired.
    package var countsAllRows: Bool
    /// Whether the remaining rows are counted if some rows are expired, as a limit on a share of all rows needs. They are always counted if
    /// that costs nothing.
    package var countsKeptRows: Bool
    /// Whether the rows that relationships would delete or change are counted even if no decision depends on their number.
    package var countsRelatedRows: Bool

    /// Makes a question.
    package init(
        entity: String, date: DateAttribute, cutoff: Instant, filter: StorePredicate = .all, keepLast: KeepLast? = nil,
        preceding: [BatchDeleteRequest] = [], relationships: BatchDeleteRequest.RelationshipRule = .asDeclared,
        countsAllRows: Bool = true, countsKeptRows: Bool = true, countsRelatedRows: Bool = true
    ) {
        self.entity = entity
        self.date = date
        self.cutoff = cutoff
        self.filter = filter
        self.keepLast = keepLast
        self.preceding = preceding
        self.relationships = relationships
        self.countsAllRows = countsAllRows
        self.countsKeptRows = countsKeptRows
        self.countsRelatedRows = countsRelatedRows
    }

    /// The rows that the rule deletes: readable rows before the cutoff that match the filter and are not spared.
    package var expired: StorePredicate { expired(from: nil) }

    /// The rows of ``expired`` that are not wholly before an instant.
    package func expired(from start: Instant?) -> StorePredicate {
        let old = StorePredicate.date(DateRange(date, from: start, before: cutoff)) && filter
        return notSpared.map { old && $0 } ?? old
    }

    /// The condition that ``keepLast``, ``thinning``, ``keptByOthers`` and ``holds`` add; nil: there are none.
    package var notSpared: StorePredicate? {
        let parts = notKept + [notHeld].compactMap(\.self)
        return parts.isEmpty ? nil : parts.reduce(.all) { $0 && $1 }
    }

    /// The thinning with ``cutoff``.
    package var thinningBeforeCutoff: Thinning? {
        var thinning = thinning
        thinning?.cutoff = cutoff
        return thinning
    }

    /// The conditions that ``keepLast`` and ``thinning`` do not keep a row, whatever the cutoff.
    package var ownKeepers: [StorePredicate] {
        [keepLast.map(StorePredicate.notKept), thinning.map(StorePredicate.notPicked)].compactMap(\.self)
    }

    /// The conditions that neither this rule nor another one keeps a row before ``cutoff``.
    private var notKept: [StorePredicate] {
        (ownKeepers + keptByOthers).map { keeper in
            switch keeper {
            case .notKept(var keepLast):
                keepLast.relevantBefore = cutoff
                return spared(by: .notKept(keepLast), keepLast.among, keepLast.date)
            case .notPicked(var thinning):
                thinning.cutoff = cutoff
                return spared(by: .notPicked(thinning), thinning.among, thinning.date)
            default: return keeper
            }
        }
    }

    /// The condition that a keeper does not keep a row, or that the row is not among those from which it chooses.
    private func spared(by keeper: StorePredicate, _ among: StorePredicate, _ date: DateAttribute) -> StorePredicate {
        // The keeper chooses from all rows of the rule.
        if among == filter, date == self.date { return keeper }
        return .or([.notTrue(.readable(date) && among), keeper])
    }
}

/// The answer to a ``SurveyRequest``: exact counts, never estimates.
///
/// Rows are those that match the rule's filter, unless a member says otherwise.
package struct Survey: Hashable, Sendable {
    /// Why a row's date cannot be used.
    package enum Unreadable: String, Hashable, Sendable, CaseIterable {
        /// NULL.
        case null
        /// A value of a type that the format does not have, such as text among numbers.
        case wrongType
        /// A value of the right type that is not a date.
        case notADate
        /// A value that programs use for "no date": 0, or Core Data's distant past or future.
        case sentinel
        /// A date before `earliest`.
        case beforeEarliest
        /// A date after `latest`.
        case afterLatest
    }

    /// The unreadable rows of one kind, with an example.
    package struct UnreadableRows: Hashable, Sendable {
        /// Why they cannot be read.
        package var reason: Unreadable
        /// How many there are; at least 1.
        package var rowCount: Int
        /// The value of one of them.
        package var example: StoreValue

        /// Makes a count of unreadable rows.
        package init(reason: Unreadable, rowCount: Int, example: StoreValue) {
            self.reason = reason
            self.rowCount = rowCount
            self.example = example
        }
    }

    /// The rows that a tier keeps.
    package struct TierCount: Hashable, Sendable {
        /// The size of the tier's buckets.
        package var unit: CalendarUnit
        /// How many rows there are; at least 1.
        package var rowCount: Int

        /// Makes a count of kept rows.
        package init(unit: CalendarUnit, rowCount: Int) {
            self.unit = unit
            self.rowCount = rowCount
        }
    }

    /// Rows that prevent a delete.
    package struct Obstacle: Hashable, Sendable {
        /// Why a relationship prevents the delete.
        package enum Objection: Hashable, Sendable {
            /// The source rows refer to rows that would be deleted, and their foreign key or the request forbids it.
            case pointing
            /// The source rows would lose a reference, and a constraint, an index or another reference does not allow that.
            case fixedReference
            /// The Core Data model says deny. A batch delete cannot carry that out, whether rows match or not.
            case denyRule
            /// The rows at the other end require the row that would be deleted.
            case mandatoryInverse
            /// The source rows refer to rows that would be deleted, and the model has no inverse that would clear the reference.
            case noInverse
            /// The source rows hold numbers that may refer to deleted rows, and no model of the store decides it.
            case unproven
        }

        /// The relationship that forbids the delete. For a relationship of a model, the source is the entity that declares it.
        package var relationship: Relationship
        /// How many rows prevent the delete: source rows or, for a deny rule or an inverse, rows at the other end.
        package var rowCount: Int
        /// Why the relationship prevents the delete.
        package var objection: Objection
        /// Whether the source has an attribute that may hold a date, so that a rule could delete its rows.
        package var sourceHasDates = true

        /// Makes an obstacle.
        package init(relationship: Relationship, rowCount: Int, objection: Objection = .pointing) {
            self.relationship = relationship
            self.rowCount = rowCount
            self.objection = objection
        }
    }

    /// All rows that match the filter; nil if they were not counted.
    package var rowCount: Int?
    /// Rows whose date can be read; nil if they were not counted.
    package var readableCount: Int?
    /// Rows that the rule deletes and no preceding rule deletes.
    package var expiredCount = 0
    /// Rows that the rule would delete if it were the only one.
    package var expiredAloneCount = 0
    /// Rows before the cutoff that `keepLast` or `thinning`, of this rule or of another one, spares.
    package var keptByRuleCount = 0
    /// How many rows before the cutoff `thinning` spares, for each tier that keeps any. A row of several tiers counts for the one with the
    /// largest unit.
    package var keptByTier: [TierCount] = []
    /// Rows before the cutoff that holds keep and the rule does not. Each row counts once.
    package var heldCount = 0
    /// The held rows for each hold of the request, in its order.
    package var keptByHold: [HeldCount] = []
    /// Unreadable rows, by kind.
    package var unreadable: [UnreadableRows] = []
    /// The oldest readable date.
    package var oldest: Instant?
    /// The newest readable date.
    package var newest: Instant?
    /// The oldest date among the rows that the rule deletes; nil: it was not looked for.
    package var oldestExpired: Instant?
    /// The newest date among the rows that the rule deletes.
    package var newestExpired: Instant?
    /// The newest readable date of the whole entity, whatever the filter.
    package var newestOfEntity: Instant?
    /// The largest value of the whole entity among those of the format's storage type, before `earliest` is applied.
    package var newestValue: StoreValue?
    /// Whether readable rows of the entity, inside or outside the filter, remain after this rule alone; true if the rule deletes nothing.
    package var leavesReadableRows = true
    /// Rows that a cascade deletes.
    package var cascadedCount = 0
    /// Rows that a cascade deletes, by the name of their table, where the engine knows it. The name is in lower case if case does not
    /// matter.
    package var cascadedCounts: [String: Int] = [:]
    /// Rows that lose a reference.
    package var nullifiedCount = 0
    /// Relationships that forbid the delete.
    package var obstacles: [Obstacle] = []
    /// The names of files beside a Core Data store to which only expired rows refer. They are deleted with the rows.
    package var externalFiles: [String] = []
    /// Whether ``index`` gives all rows in the order of their dates, not only the rows of each group.
    package var isInDateOrder = false
    /// The index that gives the rows in the order of their dates; nil: none.
    package var index: String?
    /// Why an index that begins with the date does not give the rows in the order of their dates, as a clause; nil: it does, or there is no
    /// such index.
    package var indexObstacle: String?
    /// Whether all texts of a text format have one form, so that an index on them is in date order; false also if that was not checked.
    package var hasUniformText = false
    /// Why the history of the store cannot be continued; nil: it can, or there is none.
    package var historyObstacle: String?
    /// Why aggregates that the store keeps of the rows would lose them, as a clause; nil: they would not, or there are none.
    package var rollupObstacle: String?
    /// What else the store does with the rows that the rule's user should know, as sentences without a full stop.
    package var notes: [String] = []
    /// Why this schema does not allow the delete at all; nil: it does.
    package var unsupported: String?
    /// The ``remedy`` if a preceding rule is the obstacle.
    package static let aloneRemedy = "carry the rule out in a run of its own (--rule)"
    /// What makes an ``unsupported`` delete possible, as an imperative; nil: only another schema.
    package var remedy: String?

    /// Makes an empty survey; engines fill it.
    package init() {}

    /// The rows of a table that a cascade deletes.
    package func cascadedCount(of table: String) -> Int {
        cascadedCounts[table] ?? cascadedCounts[table.folded] ?? 0
    }

    /// The number of unreadable rows of every kind.
    package var unreadableCount: Int { unreadable.reduce(0) { $0 + $1.rowCount } }
}

extension BatchDeleteRequest {
    /// Makes a request for all rows that a deletion deletes.
    package init(_ request: SurveyRequest, resultType: ResultType = .statusOnly) {
        self.init(
            fetchRequest: StoreFetchRequest(
                entity: request.entity, predicate: request.expired,
                includesSubentities: request.includesSubentities),
            resultType: resultType, relationships: request.relationships)
    }
}
