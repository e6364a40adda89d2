/// The answer to a ``SurveyRequest``: exact counts, never estimates.
///
/// Rows are those that match the rule's filter, unless a member says otherwise.
package struct Survey: Hashable, Sendable {
    /// Why a row's date cannot be used.
    package enum Unreadable: String, Hashable, Sendable, CaseIterable {
        case null
        /// A value of a type that the format does not have, such as text among numbers.
        case wrongType
        /// A value of the right type that is not a date.
        case notADate
        /// A value that programs use for "no date": 0, or Core Data's distant past or future.
        case sentinel
        case beforeEarliest
        case afterLatest
    }

    /// The unreadable rows of one kind, with an example.
    package struct UnreadableRows: Hashable, Sendable {
        package var reason: Unreadable
        /// How many there are; at least 1.
        package var rowCount: Int
        /// The value of one of them.
        package var example: StoreValue

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
            /// The Core Data model says deny. A batch delete cannot carry that out, whether rows match or not.
            case denyRule
            /// The rows at the other end require the row that would be deleted.
            case mandatoryInverse
            /// The source rows refer to rows that would be deleted, and the model has no inverse that would clear the reference.
            case noInverse
        }

        /// The relationship that forbids the delete. For a relationship of a model, the source is the entity that declares it.
        package var relationship: Relationship
        /// How many rows prevent the delete: source rows or, for a deny rule or an inverse, rows at the other end.
        package var rowCount: Int
        package var objection: Objection

        package init(relationship: Relationship, rowCount: Int, objection: Objection = .pointing) {
            self.relationship = relationship
            self.rowCount = rowCount
            self.objection = objection
        }
    }

    /// The rows before the cutoff that stay.
    package struct Kept: Hashable, Sendable {
        /// Rows that `keepLast` or `thinning` spares, of this rule or of another one.
        package var byRuleCount = 0
        /// How many rows `thinning` spares, for each tier with one at least; a row of several tiers counts for the one with
        /// the largest unit.
        package var byTier: [TierCount] = []
        /// Rows that holds keep and the rule itself does not, each once.
        package var heldCount = 0
        /// The same for each hold of the request, in its order; a row under two holds counts for both.
        package var byHold: [HeldCount] = []

        package init() {}
    }

    /// The ends of the dates.
    package struct Dates: Hashable, Sendable {
        package var oldest: Instant?
        package var newest: Instant?
        /// The oldest date among the rows that the rule deletes; nil: it was not looked for.
        package var oldestExpired: Instant?
        /// The newest date among the rows that the rule deletes.
        package var newestExpired: Instant?
        /// The newest readable date of the whole entity, whatever the filter.
        package var newestOfEntity: Instant?
        /// The largest value of the whole entity that the format's kind of storage has, before `earliest` is applied.
        package var newestValue: StoreValue?
    }

    /// What relationships do when the rows are deleted.
    package struct Related: Hashable, Sendable {
        package var cascadedCount = 0
        /// The same by the name of their table, where the engine knows it; in lower case where letter case does not matter.
        package var cascadedCounts: [String: Int] = [:]
        package var nullifiedCount = 0
        package var obstacles: [Obstacle] = []

        package func cascadedCount(of table: String) -> Int {
            cascadedCounts[table] ?? cascadedCounts[table.folded] ?? 0
        }
    }

    /// The way to the rows in the order of their dates.
    package struct Index: Hashable, Sendable {
        package var name: String?
        /// Whether it gives all rows in the order of their dates, not only those of each group.
        package var isInDateOrder = false
        /// Why an index that begins with the date does not give the rows in the order of their dates, as a clause; nil if
        /// there is no such index, or it does.
        package var obstacle: String?
    }

    /// What the store keeps beside the rows and would lose with them, each as a clause; nil: it would not, or has no such
    /// thing.
    package struct Losses: Hashable, Sendable {
        /// Why the history of the store cannot be continued.
        package var history: String?
        /// The table of a mirror that reads the history whose rows are deleted.
        package var mirror: String?
        /// What aggregates that the store makes of the rows would lose.
        package var aggregates: AggregateLoss?
    }

    /// Why an aggregate would lose expired rows.
    package struct AggregateLoss: Hashable, Sendable {
        /// Why, as a clause.
        package var reason: String
        /// The oldest row that the aggregate does not have; nil: that is not the reason.
        package var oldest: Instant?
        /// The statement that makes the aggregate whole if nothing was deleted from its buckets; nil: there is none.
        package var statement: String?

        package init(_ reason: String, oldest: Instant? = nil, statement: String? = nil) {
            self.reason = reason
            self.oldest = oldest
            self.statement = statement
        }
    }

    /// What else the engine has found, for the deletion of the same rows. Two are always equal.
    package struct Basis: Hashable, Sendable {
        /// The engine's own type; nil: nothing.
        package var findings: (any EngineFindings)?

        package static func == (_: Basis, _: Basis) -> Bool { true }

        package func hash(into hasher: inout Hasher) {}
    }

    /// All rows that match the filter; nil if they were not counted.
    package var rowCount: Int?
    /// Rows whose date can be read; nil if they were not counted.
    package var readableCount: Int?
    /// Rows that the rule deletes and no preceding rule deletes.
    package var expiredCount = 0
    /// Rows that the rule would delete if it were the only one.
    package var expiredAloneCount = 0
    /// Whether readable rows of the entity, inside or outside the filter, remain after this rule alone. It says nothing
    /// if the rule deletes nothing.
    package var leavesReadableRows = true
    package var unreadable: [UnreadableRows] = []
    package var kept = Kept()
    package var dates = Dates()
    package var related = Related()
    package var index = Index()
    package var losses = Losses()
    /// What else the store does with the rows, and the rule's user should know; sentences without a full stop.
    package var notes: [String] = []
    /// Why this schema does not allow the delete at all; nil: it does.
    package var unsupported: String?
    /// The ``remedy`` if a preceding rule is the obstacle.
    package static let aloneRemedy = "carry the rule out in a run of its own (--rule)"
    /// What makes an ``unsupported`` delete possible, as an imperative; nil: only another schema.
    package var remedy: String?
    package var basis = Basis()

    package init() {}

    package var unreadableCount: Int { unreadable.reduce(0) { $0 + $1.rowCount } }
}
