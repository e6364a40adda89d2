/// A time zone, for calendar arithmetic and for dates without a zone.
///
/// UTC uses integer arithmetic only. Other zones load Foundation's time zone data when they are created.
///
/// ```swift
/// let berlin = CalendarZone(identifier: "Europe/Berlin") ?? .utc
/// let midnight = DateEncoding.yyyymmdd.instant(of: 20_250_131, zone: berlin)
/// ```
public struct CalendarZone: Hashable, Sendable {
    /// The IANA name, as `Europe/Berlin`, or `UTC`.
    public let identifier: String
    /// The offsets of the zone; nil: UTC.
    let offsets: ZoneOffsets?

    /// Coordinated universal time.
    public static let utc = CalendarZone(identifier: "UTC", offsets: nil)
}

extension CalendarZone {
    /// Creates the zone of an IANA name, in the spelling of the time zone data; nil: there is no zone of that name.
    /// All names of UTC (`Etc/UTC`, `GMT`, `Z` …) give ``utc``.
    public init?(identifier: String) {
        if CalendarZone.namesOfUTC.contains(identifier) {
            self = .utc
        } else if let offsets = ZoneOffsets.named(identifier) {
            self.init(identifier: identifier, offsets: offsets)
        } else {
            return nil
        }
    }

    private static let namesOfUTC: Set<String> = [
        "UTC", "Etc/UTC", "GMT", "Z", "Etc/GMT", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "Etc/Greenwich", "Etc/GMT0",
        "Etc/GMT+0", "Etc/GMT-0", "UCT", "Universal", "Zulu", "Greenwich", "GMT0", "GMT+0", "GMT-0",
    ]

    /// Whether the zone is UTC, so that local times are neither skipped nor repeated.
    public var isUTC: Bool { offsets == nil }

    package func civil(of instant: Instant) -> CivilDateTime {
        let seconds = Int(instant.microseconds).flooringDivision(by: 1_000_000)
        let offset = offsets?.segment(at: seconds).offset ?? 0
        // The second that holds the distant past begins before it. The product may wrap, the difference does not.
        let microsecond = Int(instant.microseconds) &- seconds &* 1_000_000
        return CivilDateTime(localSeconds: seconds + offset, microsecond: microsecond)
    }

    /// Which instant a local time that occurs twice means. It occurs twice when clocks are set back.
    package enum Occurrence: Hashable, Sendable {
        /// The earlier one. It is used for the starts of days and buckets, and for cutoffs, so that nothing is deleted too early.
        case first
        /// The later one. It is used for all dates that are read, so that no row is taken for older than it is.
        case last
    }

    /// The instant of a local time, without an occurrence as dates are read. A local time that the zone skips uses the offset before the gap.
    package func instant(of civil: CivilDateTime, _ occurrence: Occurrence = .last) -> Instant {
        Instant(
            saturating: Int128(seconds(ofLocal: civil.localSeconds, occurrence)) * 1_000_000
                + Int128(civil.microsecond))
    }

    /// The instant at which a local day begins. If midnight occurs twice, the first one.
    package func startOfDay(_ date: CivilDate) -> Instant {
        instant(of: CivilDateTime(date), .first)
    }

    /// Seconds since 1970-01-01T00:00:00Z at a local time, given in seconds since 1970-01-01T00:00:00 local time.
    @inline(__always)
    func seconds(ofLocal local: Int, _ occurrence: Occurrence) -> Int {
        guard let offsets else { return local }
        return offsets.seconds(ofLocal: local, occurrence)
    }

    /// Whether two zones have the same name.
    public static func == (a: CalendarZone, b: CalendarZone) -> Bool { a.identifier == b.identifier }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(identifier) }
}
