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
    /// The rows that other rules of the entity keep, each a ``StorePredicate/notKept(_:)`` or ``StorePredicate/notPicked(_:)``.
    package var keptByOthers: [StorePredicate] = []
    /// Whether the entity may lose its last readable row. If not, a batch that would delete it is undone and fails.
    package var mayEmpty = true
    /// What the rows become in the transaction that deletes them; nil: nothing. The filter leaves rows without a price out.
    package var rollup: Rollup?
    /// Rows that must stay: no row is deleted that one of these holds, nor one with which such a row would be deleted.
    package var holds: [HeldRows] = []
    /// What the rules before this one delete, in order: their rows are counted there and not here.
    package var preceding: [BatchDeleteRequest]
    /// What happens to rows that refer to deleted rows.
    package var relationships: BatchDeleteRequest.RelationshipRule
    /// The engine's name of a technique to use, for tests and measurements. Nil: the engine chooses.
    package var technique: String?
    /// The largest number of rows that the deletion deletes, all parts together; nil: no limit. A method that could exceed
    /// it is not used.
    package var maxRows: Int?
    /// Whether a history of a Core Data store that cannot be continued is left unchanged; see
    /// ``BatchDeleteRequest/ignoresUnknownHistory``.
    package var ignoresUnknownHistory = false
    /// Whether the deletion reports the ID of each deleted row.
    package var wantsObjectIDs = false
    /// The rule under whose name the deletion archives each row before it deletes it; nil: rows are not archived. See
    /// ``StoreWriter/beginArchive(_:)``.
    package var archiveRule: String?
    /// The newest ``DeletionPart/note`` of a deletion of the entity's rows; nil: none is known.
    package var note: String?
    /// Whether all rows are counted even if an index shows that none is expired.
    package var countsAllRows: Bool
    /// Whether the remaining rows are counted if some rows are expired, as for a limit that is a share of all rows.
    /// They are always counted if that costs nothing.
    package var countsKeptRows: Bool
    /// Whether the rows that relationships would delete or change are counted even if no decision depends on it.
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

    /// What the rule deletes: readable rows before the cutoff that match the filter and are not spared.
    package var expired: StorePredicate { expired(from: nil) }

    /// The rows of ``expired`` that are not wholly before an instant.
    package func expired(from start: Instant?) -> StorePredicate {
        let old = StorePredicate.date(DateRange(date, from: start, before: cutoff)) && filter
        return notSpared.map { old && $0 } ?? old
    }

    /// The condition that ``keepLast``, ``thinning``, ``keptByOthers`` and ``holds`` add; nil without them.
    package var notSpared: StorePredicate? {
        let parts = notKept + [notHeld].compactMap(\.self)
        return parts.isEmpty ? nil : parts.reduce(.all) { $0 && $1 }
    }

    /// The thinning of the rows before ``cutoff``.
    package var thinningBeforeCutoff: Thinning? {
        var thinning = thinning
        thinning?.cutoff = cutoff
        return thinning
    }

    /// What the rule itself keeps, whatever its cutoff: of each kind the condition that a row is not kept.
    package var ownKeepers: [StorePredicate] {
        [keepLast.map(StorePredicate.notKept), thinning.map(StorePredicate.notPicked)].compactMap(\.self)
    }

    /// The conditions that a row before ``cutoff`` is not kept by this rule or by another one.
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

    /// The condition that something does not keep a row, if it is one of those among which kept rows are chosen.
    private func spared(by keeper: StorePredicate, _ among: StorePredicate, _ date: DateAttribute) -> StorePredicate {
        // All rows of the rule are.
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
        /// A value of a kind that the format does not have, as text among numbers.
        case wrongType
        /// A value of the right kind that is not a date.
        case notADate
        /// A value that programs use for "no date": 0, Core Data's distant past or future.
        case sentinel
        /// A date before `earliest`.
        case beforeEarliest
        /// A date after `latest`.
        case afterLatest
    }

    /// A number of unreadable rows of one kind, and one of their values.
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
        /// What makes a relationship an obstacle.
        package enum Objection: Hashable, Sendable {
            /// The source rows refer to rows that would be deleted, and their key, or the request, forbids it.
            case pointing
            /// The source rows would lose a reference, and a constraint, an index or another reference does not allow
            /// that.
            case fixedReference
            /// A Core Data model says deny: a batch delete cannot carry that out, whether rows match or not.
            case denyRule
            /// The rows at the other end require the row that would be deleted.
            case mandatoryInverse
            /// The source rows refer to rows that would be deleted, and the model has no inverse that would clear it.
            case noInverse
            /// The source rows hold numbers that may refer to deleted rows, and the store has no model to decide it.
            case unproven
        }

        /// The relationship that forbids it; for a model's relationship the source is the entity that declares it.
        package var relationship: Relationship
        /// How many rows prevent the delete: source rows, or for a deny rule or an inverse, rows at the other end.
        package var rowCount: Int
        /// What makes it an obstacle.
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
    /// Rows that the rule deletes and no rule before it does.
    package var expiredCount = 0
    /// Rows that the rule would delete if it were the only one.
    package var expiredAloneCount = 0
    /// Rows before the cutoff that `keepLast` or `thinning` spares, of this rule or of another one.
    package var keptByRuleCount = 0
    /// How many rows before the cutoff `thinning` spares, for each tier with one at least; a row of several tiers counts for
    /// the one with the largest unit.
    package var keptByTier: [TierCount] = []
    /// Rows before the cutoff that holds keep and the rule itself does not, each once.
    package var heldCount = 0
    /// The same for each hold of the request, in its order.
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
    /// The largest value of the whole entity that the format's kind of storage has, before `earliest` is applied.
    package var newestValue: StoreValue?
    /// Whether readable rows of the entity, inside or outside the filter, remain after this rule alone; true if it
    /// deletes nothing.
    package var leavesReadableRows = true
    /// Rows that a cascade deletes.
    package var cascadedCount = 0
    /// The same by the name of their table, where the engine knows it; in lower case where letter case does not matter.
    package var cascadedCounts: [String: Int] = [:]
    /// Rows that lose a reference.
    package var nullifiedCount = 0
    /// Relationships that forbid the delete.
    package var obstacles: [Obstacle] = []
    /// The names of files beside a Core Data store to which only expired rows refer. They are deleted with the rows.
    package var externalFiles: [String] = []
    /// Whether ``index`` gives all rows in the order of their dates, not only those of each group.
    package var isInDateOrder = false
    /// The index that gives the rows in the order of their dates; nil: none.
    package var index: String?
    /// Why an index that begins with the date does not give the rows in the order of their dates, as a clause; nil if
    /// there is no such index, or it does.
    package var indexObstacle: String?
    /// Whether all texts of a text format have one shape, so that an index on them would be in date order; false if
    /// that was not checked.
    package var hasUniformText = false
    /// Why the history of the store cannot be continued; nil if it can, or if there is none.
    package var historyObstacle: String?
    /// Why summaries that the store keeps of the rows would lose them, as a clause; nil: they would not, or there are none.
    package var rollupObstacle: String?
    /// What else the store does with the rows, and the rule's user should know; sentences without a full stop.
    package var notes: [String] = []
    /// Why the delete cannot be done at all in this schema; nil: it can.
    package var unsupported: String?
    /// The ``remedy`` where a rule before it is the obstacle.
    package static let aloneRemedy = "carry the rule out in a run of its own (--rule)"
    /// What makes an ``unsupported`` delete possible, as an imperative; nil: nothing but another schema.
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
    /// All rows that a deletion deletes.
    package init(_ request: SurveyRequest, resultType: ResultType = .statusOnly) {
        self.init(
            fetchRequest: StoreFetchRequest(
                entity: request.entity, predicate: request.expired,
                includesSubentities: request.includesSubentities),
            resultType: resultType, relationships: request.relationships)
    }
}
