/// What a stored value says as a date.
package enum DateReading: Hashable, Sendable {
    /// The interval that the value represents: start inclusive, end exclusive and later than the start. An instant is a
    /// microsecond long. At the very end of the range of ``Instant`` start and end are equal.
    case span(start: Instant, end: Instant)
    /// It is not a date, and why: ``Survey/Unreadable/null``, `wrongType`, `notADate`, or `sentinel` for Core Data's distant
    /// past and future. Whether a stored 0 is a date is for ``DateAttribute/trustsZero`` to say; here it is one.
    case unreadable(Survey.Unreadable)

    /// The first instant of the stretch; nil: the value is not a date.
    package var start: Instant? {
        if case .span(let start, _) = self { start } else { nil }
    }
}
