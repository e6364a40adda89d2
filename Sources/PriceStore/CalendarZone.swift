/// A time zone, for calendar arithmetic and for dates that carry none.
///
/// UTC is answered by integer arithmetic alone; other zones load Foundation's time zone data when first used.
public struct CalendarZone: Hashable, Sendable {
    /// The IANA name, as `Europe/Berlin`, or `UTC`.
    public let identifier: String

    /// Coordinated universal time.
    public static let utc = CalendarZone(validated: "UTC")

    private init(validated identifier: String) { self.identifier = identifier }
}
