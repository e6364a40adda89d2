/// A condition on the rows of an entity, in terms of the store: attributes, values, dates, keys.
///
/// A predicate is true, false or unknown for a row, as in SQL. Only rows for which it is true are fetched, changed or deleted. A comparison
/// with NULL is unknown. ``and(_:)`` is false if a part is false, and ``or(_:)`` is true if a part is true; otherwise an unknown part makes
/// them unknown. ``not(_:)`` of unknown is unknown, so neither `p` nor `not(p)` finds a row whose attribute is NULL; ``notTrue(_:)`` finds
/// it. A condition on keys is never unknown. A condition on a date that is NULL is unknown or false. Values are compared with the affinity
/// and collation of the column.
///
/// ```swift
/// let isOld = Attribute("time", .unixSeconds) < now - .seconds(30 * 86_400)
/// let oldGold = StoreFetchRequest(entity: "price", predicate: Attribute("metal") == "gold" && isOld)
/// ```
public indirect enum StorePredicate: Hashable, Sendable {
    /// How two values are compared.
    public enum Operator: String, Hashable, Sendable, CaseIterable {
        /// Equal.
        case equal
        /// Not equal; never matches NULL.
        case notEqual
        /// Less.
        case less
        /// Less or equal.
        case lessOrEqual
        /// Greater.
        case greater
        /// Greater or equal.
        case greaterOrEqual
    }

    /// Always true.
    case all
    /// The attribute compared with a value.
    case compare(String, Operator, StoreValue)
    /// The attribute is at least the first value and at most the second.
    case between(String, StoreValue, StoreValue)
    /// The attribute is a text that begins with this one. Texts are compared scalar by scalar, whatever the column's collation: upper and
    /// lower case differ, and no character is a wildcard. Unknown for NULL, and false for any other value that is not text.
    case begins(String, with: String)
    /// The attribute is a text that contains this one; compared as in ``begins(_:with:)``.
    case contains(String, String)
    /// The attribute equals one of the values; never matches NULL.
    case isIn(String, [StoreValue])
    /// The attribute has no value.
    case isNull(String)
    /// The attribute has a value.
    case isNotNull(String)
    /// Every part is true. Empty: true.
    case and([StorePredicate])
    /// At least one part is true. Empty: false.
    case or([StorePredicate])
    /// The part is false. Unknown if the part is unknown.
    case not(StorePredicate)
    /// The part is not true (false or unknown).
    case notTrue(StorePredicate)
    /// The date attribute can be read and is in the range.
    case date(DateRange)
    /// The date attribute, in the format that the store declares for it, compares with the instant in this way.
    case declaredDate(String, Operator, Instant)
    /// The date attribute is valid, and its first instant compares with the given one in this way. Rows with an unreadable date never
    /// match, not even with ``Operator/notEqual``. A value that represents a span (a day, a month) is compared by its start; ``date(_:)``
    /// is for spans that must lie wholly before an instant.
    case dateCompare(DateAttribute, Operator, Instant)
    /// The row is none of those that a policy of the program `retention` keeps. Only that program makes such a condition.
    case spares(SparedRows)
    /// The key of the row is in a range; see ``KeyRange``.
    case key(KeyRange)
    /// The row is one of these. IDs of another entity or of another store are an error. Empty: false.
    case objectIDs([ObjectID])

    /// Both predicates are true; ``all`` is left out.
    public static func && (a: StorePredicate, b: StorePredicate) -> StorePredicate {
        switch (a, b) {
        case (.all, let other), (let other, .all): other
        case (.and(let first), .and(let second)): .and(first + second)
        case (.and(let parts), let other): .and(parts + [other])
        case (let other, .and(let parts)): .and([other] + parts)
        default: .and([a, b])
        }
    }

    /// At least one of the predicates is true.
    public static func || (a: StorePredicate, b: StorePredicate) -> StorePredicate {
        .or(a.alternatives + b.alternatives)
    }

    private var alternatives: [StorePredicate] { if case .or(let parts) = self { parts } else { [self] } }

    /// The opposite; the same as ``not(_:)``.
    public static prefix func ! (part: StorePredicate) -> StorePredicate { .not(part) }
}

/// A date attribute and how it is read.
///
/// ```swift
/// let date = DateAttribute(name: "time", encoding: .unixSeconds)
/// ```
public struct DateAttribute: Hashable, Sendable {
    /// The attribute's name.
    public let name: String
    /// The format of its values.
    public let encoding: DateEncoding
    /// The zone of text without an offset and of calendar dates.
    public let zone: CalendarZone
    /// Earlier dates are invalid, and their rows are unreadable.
    public let earliest: Instant
    /// Later dates are invalid, and their rows are unreadable; nil: no bound.
    public let latest: Instant?
    /// Whether a stored 0 is a date. It is one only if the rule sets `earliest`.
    public let trustsZero: Bool

    /// Makes a date attribute.
    public init(
        name: String, encoding: DateEncoding, zone: CalendarZone = .utc, earliest: Instant = .distantPast,
        latest: Instant? = nil, trustsZero: Bool = false
    ) {
        self.name = name
        self.encoding = encoding
        self.zone = zone
        self.earliest = earliest
        self.latest = latest
        self.trustsZero = trustsZero
    }
}

/// A range of valid dates: wholly before one instant, and not wholly before another.
///
/// ```swift
/// let january = DateRange(date, from: Instant(iso8601: "2025-01-01"), before: Instant(iso8601: "2025-02-01"))
/// let prices = StoreFetchRequest(entity: "price", predicate: .date(january))
/// ```
public struct DateRange: Hashable, Sendable {
    /// The date attribute.
    public let date: DateAttribute
    /// The start of the range. A row wholly before it is not in the range; nil: the earliest valid date.
    public let from: Instant?
    /// The end of the range, exclusive. A value that represents a span (a day, a month, a year) is in the range only if the whole span is;
    /// nil: every readable row is in the range.
    public let before: Instant?

    /// Makes the range between two instants; without them, the range of all readable rows.
    public init(_ date: DateAttribute, from: Instant? = nil, before: Instant? = nil) {
        self.date = date
        self.from = from
        self.before = before
    }
}

/// A range of keys in key order: of rowids, or of primary keys in a table without rowids.
///
/// ```swift
/// let firstKeys = KeyRange(after: nil, through: [2])
/// let firstItems = StoreFetchRequest(entity: "item", predicate: .key(firstKeys))
/// ```
public struct KeyRange: Hashable, Sendable {
    /// The lower end, exclusive; nil: from the first row.
    public let after: [StoreValue]?
    /// The upper end, inclusive; nil: to the last row.
    public let through: [StoreValue]?

    /// Makes a range of keys.
    public init(after: [StoreValue]?, through: [StoreValue]?) {
        self.after = after
        self.through = through
    }
}
