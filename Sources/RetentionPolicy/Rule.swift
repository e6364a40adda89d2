package import PriceStore

/// A rule: which rows of an entity are kept, and for how long.
package struct Rule: Sendable {
    package var name: String
    package var entity: String
    /// Names, or patterns of names, that ``entity`` does not match if it is a pattern.
    package var except: [String] = []
    /// Whether the rule leaves out entities that are missing, or lack an attribute.
    package var skipsMissing = false
    /// The rule of the policy, if this is the rule for one of the entities that match its pattern, or for one of its ages; set after the
    /// store was read.
    package var family: Family?
    package var dateAttribute: String
    /// The SQL name of the date attribute's column in a Core Data store; nil: it follows from the attribute's name.
    package var column: String?
    /// The format of the dates; nil: the store must declare it.
    package var dateFormat: DateEncoding?
    /// The attribute of ``column``, set after the store was read; nil: ``dateAttribute``.
    package var dateName: String?
    /// Whether the store declares the same format, so that the unit cannot be wrong.
    package var isFormatStored = false
    /// The aggregates that the store keeps over the rows, set after the store was read.
    package var aggregates: [AggregateBuckets] = []
    package var maxAge: MaxAge
    /// The ages of rows by the value of an attribute; nil: all rows have ``maxAge``.
    package var ages: AgesSetting?
    /// The rows with one of the ages, if this is the rule for it; set after the store was read.
    package var share: AgeShare?
    /// What makes rows expire before ``maxAge``; nil: nothing.
    package var bound: SizeBound?
    /// What ``bound`` means for the rows of the store, set before a plan is made; nil: no row expires sooner.
    package var bounded: SizeBound.Finding?
    /// The `where` of the policy; ``StorePredicate/all`` without one.
    package var filter: StorePredicate = .all
    /// The rows that the rule considers.
    package var rows: StorePredicate { share.map { filter && $0.rows } ?? filter }
    package var keepLast: KeepLastSetting?
    package var thin: ThinSetting?
    /// What the rows become when they are deleted; nil: nothing.
    package var rollup: RollupSetting?
    /// Earlier dates are invalid; nil: the default, 1971-01-01 in the policy's zone.
    package var earliest: Instant?
    package var latest: Instant?
    /// The calendar unit to whose start the cutoff is moved back.
    package var align: CalendarUnit?
    package var relationships = BatchDeleteRequest.RelationshipRule.asDeclared
    package var allowEmpty = false
    package var limits = Limits()
    package var accept: Set<RefusalCode> = []
    package var batch = BatchSetting()
    package var reclaim: ReclaimMode = .auto
    package var isEnabled = true
    /// Whether the rule's rows are archived before they are deleted: the policy has an archive, and the rule does not set `archive: none`.
    package var isArchived = false
    /// What the user lacks to carry the rule out for one of the entities that match its pattern, set after the store was read; nil: nothing.
    package var lacking: StoreError?
    /// The positions of the rule's keys in the file.
    package var marks: Marks

    package init(name: String, entity: String, dateAttribute: String, maxAge: MaxAge, marks: Marks) {
        self.name = name
        self.entity = entity
        self.dateAttribute = dateAttribute
        self.maxAge = maxAge
        self.marks = marks
    }

    /// A rule of the policy for all entities that match a pattern, or with several ages.
    package struct Family: Hashable, Sendable {
        package var name: String
        /// The pattern, or the table of the ages.
        package var entity: String

        package init(name: String, entity: String) { (self.name, self.entity) = (name, entity) }

        /// Whether the pattern matches the name of an entity, regardless of `except`.
        package func mayMatch(_ entity: String) -> Bool {
            EntityPattern(self.entity)?.matches(in: [entity]).isEmpty == false
        }

        package func member(_ part: String) -> String { "\(name):\(part)" }
    }

    /// The default of ``earliest``: 1971-01-01 in the zone.
    package static func defaultEarliest(_ zone: CalendarZone) -> Instant {
        zone.instant(of: CivilDateTime(CivilDate(year: 1971, month: 1, day: 1)))
    }

    /// How much one transaction deletes, and the pause between two.
    package struct BatchSetting: Hashable, Sendable {
        /// The pause between two batches.
        package enum Pause: Hashable, Sendable {
            /// As long as the batch took while others use the store, otherwise none.
            case auto
            case none
            case fixed(Duration)
        }
        /// The rows of the first batch; without a target, of every batch.
        package var rows = 100
        package var fewestRows = 1
        /// How long a batch should take. The number of rows is adjusted to it; nil: the number is fixed.
        package var target: Duration? = .milliseconds(8)
        /// How long a batch should take while nothing else uses the store; nil: ``target``.
        package var targetAlone: Duration?
        package var pause = Pause.auto

        package init() {}

        package static func fixed(rows: Int) -> BatchSetting {
            var setting = BatchSetting()
            setting.rows = rows
            setting.target = nil
            return setting
        }
    }

    /// The newest rows of each group are never deleted.
    package struct KeepLastSetting: Hashable, Sendable {
        package var count: Int
        package var per: [String]

        package init(count: Int, per: [String]) {
            self.count = count
            self.per = per
        }
    }

    /// In each bucket of the calendar, one of the rows that are past `max_age` is kept, or up to four.
    package struct ThinSetting: Hashable, Sendable {
        /// Buckets of one size, and how long their picks are kept.
        package struct Tier: Hashable, Sendable {
            package var unit: CalendarUnit
            /// How long picks are kept; nil: forever.
            package var age: MaxAge?

            package init(_ unit: CalendarUnit, age: MaxAge?) {
                self.unit = unit
                self.age = age
            }

            /// Whether the tier keeps its picks at least as long as another one.
            func isAtLeast(_ other: Tier, isUTC: Bool) -> Bool {
                guard let age else { return true }
                return other.age.map { age.isAtLeast($0, isUTC: isUTC) } ?? false
            }
        }

        package var per: [String]
        package var pick: Thinning.Pick
        /// The tiers, smallest unit first; at least one.
        package var tiers: [Tier]

        package init(per: [String] = [], pick: Thinning.Pick = .last, tiers: [Tier]) {
            self.per = per
            self.pick = pick
            self.tiers = tiers
        }

        /// The attributes that determine which rows are kept, besides the date.
        package var names: [String] { per + [pick.price].compactMap(\.self) }
    }

    /// What is wrong with the tiers of ``thin`` if rows have an age. Each tier must be able to keep a row that nothing else keeps.
    package func thinMistakes(with age: MaxAge, zone: CalendarZone) -> [Diagnostic] {
        (thin?.tiers ?? []).compactMap { tier in
            guard let tierAge = tier.age, age.isAtLeast(tierAge, isUTC: zone.isUTC) else { return nil }
            let key = tier.unit.tierName
            return Diagnostic(
                at: marks.value("thin.\(key)"),
                "'\(key)' must be longer than 'max_age' (\(age.written)); younger rows are kept anyway")
        }
    }

    /// Limits above which a rule is refused and deletes nothing.
    package struct Limits: Hashable, Sendable {
        package var maxRows: Int?
        /// Greater than 0, at most 1.
        package var maxFraction: Double?

        /// The maximum number of rows that may have come back; nil: the larger of 1,000 and 1 % of the rows.
        package var maxLateRows: Int?
        /// The minimum of the default of ``maxLateRows``.
        package static let lateRows = 1000

        /// How long the newest row may stay the same before nothing is deleted; nil: the longer of ``silence`` and three times the longest
        /// gap between runs.
        package var maxSilence: MaxAge?
        /// The minimum of the default of ``maxSilence``.
        package static let silence = Duration.seconds(7 * 86_400)
    }
}

/// Why a rule is refused. Most refusals can be accepted by name.
package enum RefusalCode: String, Hashable, Sendable, CaseIterable {
    case wouldEmptyEntity = "would_empty_entity"
    case tooManyRows = "too_many_rows"
    case tooLargeFraction = "too_large_fraction"
    case futureDates = "future_dates"
    case wrongUnit = "wrong_unit"
    case mixedFormats = "mixed_formats"
    case clockMovedBack = "clock_moved_back"
    case clockJumped = "clock_jumped"
    case feedStopped = "feed_stopped"
    case relationshipDenied = "relationship_denied"
    case historyTracking = "history_tracking"
    case historyMirrored = "history_mirrored"
    case aggregateIncomplete = "aggregate_incomplete"
    case holdUnusable = "hold_unusable"
    case unsupportedSchema = "unsupported_schema"
    case notArchivable = "not_archivable"
    case restoredRows = "restored_rows"
    case policyWidened = "policy_widened"
    case rowsCameBack = "rows_came_back"
    case keptRowsDeleted = "kept_rows_deleted"
    case planDrifted = "plan_drifted"

    /// The refusals that are accepted by hand, for one run. A policy cannot name them.
    package static let acceptableByHandOnly: Set<RefusalCode> = [.restoredRows, .policyWidened, .rowsCameBack]

    package static let acceptable = allCases.filter {
        ![.unsupportedSchema, .historyTracking, .notArchivable, .holdUnusable, .planDrifted].contains($0)
    }

    /// Doubts about dates, formats and the clock. While one of them stands, other refusals may only follow from it.
    package static let doubts: Set<RefusalCode> = [
        .wrongUnit, .clockMovedBack, .clockJumped, .mixedFormats, .futureDates,
    ]

    /// The code that a ledger or a plan recorded, perhaps by an earlier version.
    package init?(recorded: String) { self.init(rawValue: Self.formerNames[recorded] ?? recorded) }

    /// What earlier versions called the codes.
    package static let formerNames = ["held": "restored_rows", "rollup_incomplete": "aggregate_incomplete"]
}
