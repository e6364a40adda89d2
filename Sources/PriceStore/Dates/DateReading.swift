/// A stored value read as a date.
package enum DateReading: Hashable, Sendable {
    /// The interval that the value represents: start inclusive, end exclusive and later than the start. An instant is a
    /// microsecond long. At the very end of the range of ``Instant`` start and end are equal.
    case span(start: Instant, end: Instant)
    /// The value is not a date, and why: ``Survey/Unreadable/null``, `wrongType`, `notADate`, or `sentinel` for Core Data's distant past
    /// and future. A stored 0 is a date here; ``DateAttribute/trustsZero`` says whether it counts as one.
    case unreadable(Survey.Unreadable)

    package var start: Instant? {
        if case .span(let start, _) = self { start } else { nil }
    }
}
