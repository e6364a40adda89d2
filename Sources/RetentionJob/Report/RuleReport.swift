package import PriceStore
package import RetentionPolicy

extension RunReport {
    /// The result of one rule.
    package struct RuleReport: Sendable {
        /// The plan's findings, before any delete.
        package struct Planned: Sendable {
            package var rows: Int?
            /// Which rows of its entity the rule counts. It is only for texts.
            package var filter = StorePredicate.all
            /// Whether expired rows were counted. They are not if the rule was refused earlier, or its dates have a wrong unit.
            package var isCounted = true
            package var expired = 0
            package var unreadable: [Survey.UnreadableRows] = []
            package var oldest: Instant?
            package var newest: Instant?
            package var newestExpired: Instant?
            /// Whether the kept rows include rows that another rule keeps from this one.
            package var keepsForOthers = false
            /// The store's triggers that the delete fires, each with its table: `audit of Price`.
            package var triggers: [String] = []
            /// Rows that will expire soon; nil: not a dry run.
            package var forecast: Forecast?
            /// Groups of `keep_last` without new rows; nil: there are none, or it is unknown.
            package var silent: SilentGroups?
            /// Rows for a review; nil: not requested.
            package var sample: RowSample?

            /// The number of rows whose date cannot be used.
            package var unreadableCount: Int { unreadable.reduce(0) { $0 + $1.rowCount } }
        }

        /// The candles made of the rows; nil counts: the rows do not become candles.
        package struct Candles: Sendable {
            /// Rows before the cutoff that stay because they have no price.
            package var unpriced: Int?
            /// Candles created.
            package var created: Int?
            /// Existing candles changed.
            package var changed: Int?
        }

        /// What the memory of earlier runs tells about the rule.
        package struct Remembered: Sendable {
            /// Whether no run has carried out a rule for its entity yet. It is only for texts.
            package var isFirst = false
            /// Expired rows older than the cutoff before which an earlier run left none; nil: unknown.
            package var late: Int?
            /// Why the rule is wider than before; nil: it is not, or no earlier run is known.
            package var widened: WidenedRule?
        }

        /// How the rows are deleted.
        package struct Method: Sendable {
            /// The engine's name of the method; nil: no row is deleted.
            package var name: String?
            /// Why this method is used; nil: it is the default.
            package var reason: String?
            /// The index that finds the rows.
            package var index: String?
        }

        /// What was deleted and changed; in a dry run, the predicted effects of relationships.
        package struct Done: Sendable {
            package var deleted = 0
            /// Rows of all tables that were archived before they were deleted; nil: the rule is not archived.
            package var archived: Int?
            package var cascaded = 0
            package var nullified = 0
            /// Rows that triggers of the store deleted, by table; those in tables that a cascade reaches count as ``cascaded``.
            package var byTriggers: [String: Int] = [:]
            /// The date of the oldest deleted row; nil: nothing was deleted, or it is unknown because the rule stopped partway.
            package var oldest: Instant?
            /// The date of the newest deleted row.
            package var newest: Instant?
            /// How long a rebuild or a single statement locked the store; nil: there was none.
            package var lockElapsed: Duration?
            package var batches = 0
            package var elapsed: Duration = .zero

            /// Rows that triggers deleted, in all tables.
            package var triggerCount: Int { byTriggers.values.reduce(0, +) }
            /// Rows of all tables deleted by the rule, its cascades and triggers.
            package var goneCount: Int { deleted + cascaded + triggerCount }

            /// How the archived rows differ from the deleted ones, as a sentence without a full stop; nil: they do not, or the rule is not
            /// archived.
            package var archiveDifference: String? {
                guard let archived, archived != goneCount else { return nil }
                return "\(Figures.count(archived, "row", "was", "were")) archived, and "
                    + "\(Figures.count(goneCount, "row", "was", "were")) deleted"
            }
        }

        /// What remains after the run.
        package struct Left: Sendable {
            /// The residue: expired rows that remain.
            package var expired = 0
            /// The date of the oldest residue row; nil: none remains, or it is unknown.
            package var oldest: Instant?
            /// The space of the entity's rows and indexes; nil: not measured.
            package var entityBytes: Int64?
        }

        package var name: String
        /// The rule of the policy, if its entity is a pattern and this is the result for one table.
        package var family: String?
        /// The SHA-256 of the rule with its names as in the store; nil: its rows were not counted.
        package var ruleSHA256: String?
        package var entity: String
        package var dateAttribute: String
        package var dateFormat: DateEncoding?
        package var maxAge: String
        package var cutoff: Instant
        package var outcome: Outcome
        package var refusal: RefusalCode?
        /// All reasons why the rule was refused, causes first; ``refusal`` is the first.
        package var refusals: [RefusalReport] = []
        /// Why the rule was refused, failed or stopped, as a sentence.
        package var message: String?
        /// Refusals that applied but were accepted.
        package var accepted: [RefusalCode] = []
        package var planned = Planned()
        /// Rows before the cutoff that stay.
        package var kept = Survey.Kept()
        package var candles = Candles()
        package var remembered = Remembered()
        package var method = Method()
        package var done = Done()
        package var left = Left()
        /// Advice about the schema, each a sentence with the statement.
        package var advice: [String] = []
        package var unknown: Set<String> = []

        package init(
            name: String, entity: String, dateAttribute: String, dateFormat: DateEncoding?, maxAge: String,
            cutoff: Instant, outcome: Outcome
        ) {
            self.name = name
            self.entity = entity
            self.dateAttribute = dateAttribute
            self.dateFormat = dateFormat
            self.maxAge = maxAge
            self.cutoff = cutoff
            self.outcome = outcome
        }

        /// How long the oldest residue row has been overdue; nil: none remains, or its date is unknown.
        package var overdue: Duration? { left.expired > 0 ? left.oldest.map { cutoff.since($0) } : nil }
    }
}
