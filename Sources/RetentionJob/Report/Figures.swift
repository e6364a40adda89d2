package import PriceStore
import RetentionPolicy

/// Formats numbers, durations and instants for people. Uses only integer arithmetic: a formatter would load locale data in every run.
package enum Figures {
    /// A whole number with digits in groups of three: `500,000`.
    package static func grouped(_ number: some BinaryInteger) -> String {
        let digits = Array(String(number.magnitude).utf8)
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
            text.unicodeScalars.append(Unicode.Scalar(digit))
        }
        return text
    }

    /// A number and its noun: `1 rule`, `2,000 rows`.
    package static func count(_ number: Int, _ noun: String, plural: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    /// A number, its noun and a verb: `1 row is`, `2,000 rows are`.
    package static func count(_ number: Int, _ noun: String, _ one: String, _ many: String) -> String {
        "\(count(number, noun)) \(number == 1 ? one : many)"
    }

    /// The rows that each tier keeps, longest tier first: `41 monthly, 312 daily`.
    package static func tiers(_ counts: [Survey.TierCount]) -> String {
        counts.reversed().map { "\(grouped($0.rowCount)) \($0.unit.tierName)" }.joined(separator: ", ")
    }

    /// A part of a whole in percent with one decimal, rounded down, so that `100.0%` means all. Nil if the whole is 0.
    package static func percent(_ part: Int, of whole: Int) -> String? {
        guard whole > 0, part >= 0 else { return nil }
        let perMille = Int128(part) * 1000 / Int128(whole)
        if perMille == 0, part > 0 { return "<0.1%" }
        return "\(perMille / 10).\(perMille % 10)%"
    }

    /// The same in parentheses after a blank; empty if the whole is 0.
    static func share(_ part: Int, of whole: Int) -> String { percent(part, of: whole).map { " (\($0))" } ?? "" }

    /// A size in the largest binary unit that keeps it at 1 or more: `12.3 MiB`.
    package static func bytes(_ count: Int64) -> String {
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
        guard count.magnitude >= 1024 else { return "\(count) bytes" }
        var divisor: UInt64 = 1024
        var unit = 0
        while unit + 1 < units.count, count.magnitude / divisor >= 1024 {
            divisor *= 1024
            unit += 1
        }
        let tenths = UInt128(count.magnitude) * 10 / UInt128(divisor)
        return "\(count < 0 ? "-" : "")\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// A duration: `840 ms`, `12.3 s`, `4 min 05 s`, `2 h 04 min`, and from a day on, to the nearest hour, `3 d 02 h`.
    package static func duration(_ duration: Duration) -> String {
        let milliseconds = max(0, duration.wholeMicroseconds / 1000)
        let seconds = milliseconds / 1000
        switch seconds {
        case ..<1: return "\(milliseconds) ms"
        case ..<60: return "\(seconds).\(milliseconds % 1000 / 100) s"
        case ..<3600: return "\(seconds / 60) min \(twoDigits(seconds % 60)) s"
        case ..<86_400: return "\(seconds / 3600) h \(twoDigits(seconds % 3600 / 60)) min"
        default:
            // A job that begins at the same time each night is milliseconds early or late.
            let hours = (seconds + 1800) / 3600
            return "\(grouped(hours / 24)) d \(twoDigits(hours % 24)) h"
        }
    }

    /// A duration in days, to the nearest one.
    package static func days(_ duration: Duration) -> Int64 {
        let (days, rest) = duration.wholeMicroseconds.quotientAndRemainder(dividingBy: 86_400_000_000)
        return days + (rest >= 43_200_000_000 ? 1 : 0)
    }

    /// Seconds as a decimal number with at most six decimals and no trailing zeros: `12.3`, `0.01`, `0`.
    package static func seconds(_ duration: Duration) -> String {
        let microseconds = duration.wholeMicroseconds
        let magnitude = microseconds.magnitude
        var text = "\(microseconds < 0 ? "-" : "")\(magnitude / 1_000_000)"
        let fraction = magnitude % 1_000_000
        guard fraction > 0 else { return text }
        var digits = String(fraction + 1_000_000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        text += "." + digits
        return text
    }

    /// An instant in UTC with a space instead of `T`: `2026-11-21 00:00:00Z`.
    package static func instant(_ instant: Instant) -> String { instant.plain + "Z" }

    /// The first and last dates of some rows, to follow their count: `, dated from … to …`; blank if unknown.
    package static func span(_ first: Instant?, _ last: Instant?) -> String {
        guard let first, let last else { return "" }
        return first == last ? ", dated \(instant(first))," : ", dated from \(instant(first)) to \(instant(last)),"
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension Duration {
    /// The duration in whole microseconds, truncated, and saturated at the ends of the range.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        return Int64(clamping: Int128(seconds) * 1_000_000 + Int128(attoseconds) / 1_000_000_000_000)
    }

    /// A duration of whole microseconds.
    package init(wholeMicroseconds: Int64) {
        let (seconds, rest) = wholeMicroseconds.quotientAndRemainder(dividingBy: 1_000_000)
        self.init(secondsComponent: seconds, attosecondsComponent: rest * 1_000_000_000_000)
    }
}
