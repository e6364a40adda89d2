package import PriceStore

/// What an attribute looks like as a date: in which format its values make sense, and how sure that is. For people: no
/// delete ever depends on it.
package struct DateRecognition: Hashable, Sendable {
    /// How sure a format is.
    package enum Certainty: String, Hashable, Sendable, CaseIterable {
        /// The store itself says it, as a Core Data model does.
        case declared
        /// The values say it, and nothing speaks against it.
        case sure
        /// The values say it, with a doubt that the reason names.
        case likely
        /// Another format fits as well, or nothing but the values speaks for a date.
        case unsure
    }

    /// The sampled values, read in one format.
    package struct Reading: Hashable, Sendable {
        package var encoding: DateEncoding
        /// The newest of the dates.
        package var newest: Instant
        /// How many of the values are dates in it.
        package var valueCount: Int
        /// Whether the newest date lies in the 20 years before the clock.
        package var isRecent: Bool
        /// Whether values of its kind are hardly anything but dates.
        package var isPlain: Bool
        /// Whether even the oldest of the dates is more than a day after the clock.
        package var isInFuture = false
    }

    /// The format; nil: the attribute's name or type speaks of a date, but no format reads its values.
    package var encoding: DateEncoding?
    package var certainty: Certainty
    /// Why, as a sentence without a full stop.
    package var reason: String
    /// Some of the values.
    package var examples: [StoreValue]
    /// Other formats in which at least nine tenths of the values are dates, the likeliest first.
    package var alternatives: [Reading]
    /// Whether all of the dates are more than a day after the clock: they say when something ends, or the format is wrong.
    package var isInFuture = false

    /// Judges an attribute by its values, its name and its type; nil: nothing speaks of a date.
    ///
    /// - Parameters:
    ///   - samples: values from across the entity; NULL does not count.
    ///   - clock: by which it is judged whether dates are plausible.
    package init?(_ attribute: Attribute, samples: [StoreValue], clock: Instant) {
        let values = samples.filter { !$0.isNull }
        let hint = Self.hint(attribute)
        examples = Array(values.prefix(3))
        alternatives = []
        if let declared = attribute.dateEncoding {
            (encoding, certainty, reason) = (declared, .declared, "the store says so")
            return
        }
        guard !values.isEmpty else {
            guard let hint else { return nil }
            (encoding, certainty, reason) = (nil, .unsure, "its \(hint) speaks of a date, but it has no values")
            return
        }
        let readings = Self.readings(values, clock: clock, hasHint: hint != nil)
        guard let best = readings.first else {
            guard let hint else { return nil }
            reason =
                "its \(hint) speaks of a date, but no format reads its values, "
                + "such as \(SafeText.example(values[0]))"
            (encoding, certainty) = (nil, .unsure)
            return
        }
        alternatives = Array(readings.dropFirst())
        encoding = best.encoding
        isInFuture = best.isInFuture
        certainty = Self.certainty(best, of: values.count, alternatives: alternatives, hasHint: hint != nil)
        reason = Self.reason(best, values, alternatives, hint)
    }

    /// The formats in which at least nine tenths of the values are dates, the likeliest first.
    private static func readings(_ values: [StoreValue], clock: Instant, hasHint: Bool) -> [Reading] {
        let recent = clock.advanced(byMicroseconds: -20 * year)...clock.advanced(byMicroseconds: day)
        var readings = DateEncoding.recognise(values, now: clock, zone: .utc).map { encoding, newest, share in
            Reading(
                encoding: encoding, newest: newest, valueCount: Int((share * Double(values.count)).rounded()),
                isRecent: recent.contains(newest), isPlain: isPlain(encoding, values))
        }
        // Dates that are written out are dates however old they are.
        for encoding in [DateEncoding.iso8601, .yyyymmdd, .yyyymmddhhmmss] where isPlain(encoding, values) {
            let dates = values.compactMap { encoding.read($0, zone: .utc).start }
            guard let newest = dates.max(), let oldest = dates.min() else { continue }
            readings.removeAll { $0.encoding == encoding }
            readings.append(
                Reading(
                    encoding: encoding, newest: newest, valueCount: dates.count, isRecent: recent.contains(newest),
                    isPlain: true, isInFuture: oldest > clock.advanced(byMicroseconds: day)))
        }
        // Numbers that a name or a type calls dates may be dates ahead, such as those on which something expires.
        if hasHint {
            readings += future(values, clock: clock).filter { reading in
                !readings.contains { $0.encoding == reading.encoding }
            }
        }
        readings = readings.filter { reading in
            guard reading.valueCount * 10 >= values.count * 9, !isAtEpoch(reading) else { return false }
            if hasHint || reading.isPlain { return true }
            // Any whole numbers can be read as something: without a name or type that speaks of a date all of them must
            // lie in the last years, and in a format that small numbers do not fit.
            let oldest = values.compactMap { reading.encoding.read($0, zone: .utc).start }.min()
            return reading.isRecent && reading.encoding != .unixDays && reading.valueCount == values.count
                && oldest.map(recent.contains) == true
        }
        return readings.sorted { a, b in
            if a.isRecent != b.isRecent { return a.isRecent }
            if a.isPlain != b.isPlain { return a.isPlain }
            if a.isInFuture != b.isInFuture { return b.isInFuture }
            return (a.valueCount, a.newest) > (b.valueCount, b.newest)
        }
    }

    /// The formats in which all of the values are dates of the 20 years after the clock.
    private static func future(_ values: [StoreValue], clock: Instant) -> [Reading] {
        let ahead = clock.advanced(byMicroseconds: day)...clock.advanced(byMicroseconds: 20 * year)
        return DateEncoding.allCases.filter { $0 != .native && $0 != .unixDays }.compactMap { encoding in
            let dates = values.compactMap { encoding.read($0, zone: .utc).start }
            guard dates.count == values.count, let newest = dates.max(), dates.allSatisfy(ahead.contains) else {
                return nil
            }
            return Reading(
                encoding: encoding, newest: newest, valueCount: dates.count, isRecent: false,
                isPlain: isPlain(encoding, values), isInFuture: true)
        }
    }

    /// Whether the dates are the first year after Apple's epoch: so are any numbers that are small for the format.
    private static func isAtEpoch(_ reading: Reading) -> Bool {
        [.appleSeconds, .appleNanoseconds].contains(reading.encoding)
            && reading.newest < Instant(unixSeconds: 1_009_843_200)
    }

    private static func certainty(
        _ best: Reading, of count: Int, alternatives: [Reading], hasHint: Bool
    ) -> Certainty {
        if alternatives.contains(where: { $0.isRecent == best.isRecent && $0.isPlain == best.isPlain }) {
            return .unsure
        }
        guard best.isPlain || (hasHint && best.isRecent) else { return .unsure }
        return best.valueCount == count && (best.isPlain || alternatives.isEmpty) ? .sure : .likely
    }

    private static func reason(
        _ best: Reading, _ values: [StoreValue], _ alternatives: [Reading], _ hint: String?
    ) -> String {
        var reason =
            "\(best.valueCount) of \(values.count) sampled values are dates in it, such as "
            + SafeText.example(values[0])
        if hint == nil, !best.isPlain { reason += "; its name and type say nothing of a date" }
        if best.isInFuture {
            reason += "; all of them lie ahead of the clock"
        } else if !best.isRecent, !best.isPlain {
            reason += "; the newest is more than 20 years old"
        }
        if let other = alternatives.first {
            reason += "; in \(other.encoding.rawValue) the newest is \(Figures.instant(other.newest))"
        } else {
            reason += "; no other format fits"
        }
        return reason
    }

    /// Whether the values that a format reads are hardly anything but dates: written out with year, month and day.
    private static func isPlain(_ encoding: DateEncoding, _ values: [StoreValue]) -> Bool {
        switch encoding {
        case .iso8601:
            values.contains { if case .text(let text) = $0 { text.utf8.count >= 7 } else { false } }
        case .yyyymmdd, .yyyymmddhhmmss: values.contains { encoding.read($0, zone: .utc).start != nil }
        default: false
        }
    }

    /// What speaks of a date beside the values: `type`, `name`, or nil.
    private static func hint(_ attribute: Attribute) -> String? {
        let type = attribute.declaredType.uppercased()
        if type.contains("DATE") || type.contains("TIME") { return "type" }
        return words(attribute.name).contains(where: dateWords.contains) ? "name" : nil
    }

    private static let dateWords: Set<String> = [
        "at", "created", "date", "datetime", "day", "expires", "expiry", "modified", "seen", "since", "time",
        "timestamp", "ts", "updated", "until", "when",
    ]

    /// The words of a name, in lower case: `updateTime`, `update_time` and `UPDATE TIME` have the same.
    private static func words(_ name: String) -> [String] {
        var words = [""]
        var wasLower = false
        for character in name {
            let isLetter = character.isLetter
            if !isLetter || (character.isUppercase && wasLower) { words.append("") }
            if isLetter { words[words.count - 1] += character.lowercased() }
            wasLower = character.isLowercase
        }
        return words
    }

    private static let day: Int64 = 86_400_000_000
    private static let year: Int64 = 365 * day
}
