import PriceStore

/// A mistake in an age or a duration, and what to write instead.
package struct DurationMistake: Error, Hashable, Sendable {
    /// A sentence without a full stop.
    package let message: String

    init(_ message: String) { self.message = message }
}

/// A unit of an age or a duration, largest first.
enum DurationUnit: String, Comparable, Sendable {
    case years = "y"
    case months = "mo"
    case weeks = "w"
    case days = "d"
    case hours = "h"
    case minutes = "min"
    case seconds = "s"
    case milliseconds = "ms"

    /// The length in milliseconds. For years and months it is the mean of the Gregorian calendar, which is used for bounds only.
    var meanMilliseconds: Int128 {
        switch self {
        case .years: 31_556_952_000
        case .months: 2_629_746_000
        case .weeks: 604_800_000
        case .days: 86_400_000
        case .hours: 3_600_000
        case .minutes: 60_000
        case .seconds: 1000
        case .milliseconds: 1
        }
    }

    static func < (a: DurationUnit, b: DurationUnit) -> Bool { a.meanMilliseconds > b.meanMilliseconds }

    /// The unit of a common word: `days`, `hrs`.
    static func suggestion(for word: String) -> DurationUnit? {
        var word = word.lowercased()
        if word.count > 1, word.hasSuffix("s"), word != "ms" { word.removeLast() }
        return switch word {
        case "y", "yr", "year", "a", "anno": .years
        case "mo", "mon", "mth", "month": .months
        case "w", "wk", "week": .weeks
        case "d", "day": .days
        case "h", "hr", "hour": .hours
        case "min", "minute": .minutes
        case "s", "sec", "second": .seconds
        case "ms", "msec", "milli", "millisecond": .milliseconds
        default: nil
        }
    }
}

/// The amounts of an age or a duration as written: `1y6mo`.
struct DurationGrammar {
    /// Longer ages and durations are errors, so that arithmetic never overflows.
    static let longestYears: Int128 = 10_000

    let units: Set<DurationUnit>

    /// Reads a text into amounts, each at least 0 and not all 0. None is so large that arithmetic overflows.
    func amounts(of text: String) throws(DurationMistake) -> [DurationUnit: Int] {
        if text.contains(where: \.isWhitespace) {
            let offer =
                suggestion(for: text).map { ": write \($0)" } ?? "; expected a number and a unit, such as \(example)"
            throw DurationMistake("'\(text)' has a space in it\(offer)")
        }
        if text.hasPrefix("-") {
            let rest = text.dropFirst()
            throw DurationMistake(
                rest.allSatisfy(\.isNumber)
                    ? "'\(text)' is negative and has no unit: write for example \(examples(of: rest))"
                    : "'\(text)' is negative: write it without the minus sign")
        }
        let parts = try parts(of: text)
        var total: Int128 = 0
        for (unit, amount) in parts {
            guard units.contains(unit) else {
                let what =
                    unit == .milliseconds
                    ? "is in milliseconds, which cannot be used here"
                    : "has '\(unit.rawValue)', a calendar unit, where an exact time is meant"
                throw DurationMistake("'\(text)' \(what); the units are \(unitList)")
            }
            total += Int128(amount) * unit.meanMilliseconds
        }
        if total == 0 { throw DurationMistake("'\(text)' is zero: it must be greater than zero") }
        if total > Self.longestYears * DurationUnit.years.meanMilliseconds { throw tooLong(text) }
        return parts
    }

    private func parts(of text: String) throws(DurationMistake) -> [DurationUnit: Int] {
        var parts: [(unit: DurationUnit, amount: Int)] = []
        /// The index in `parts` of an `m`, which may mean minutes or months.
        var ambiguous: Int?
        var rest = Substring(text)
        while !rest.isEmpty {
            let amount = try takeNumber(&rest, of: text)
            let name = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(name.count)
            if name.isEmpty { throw rest.isEmpty ? missingUnit(text) : unreadable(text) }
            if name == "m" || name == "M" {
                ambiguous = parts.count
                parts.append((.minutes, amount))
            } else if let unit = DurationUnit(rawValue: String(name)) {
                parts.append((unit, amount))
            } else {
                let meant = suggestion(for: text).map { "did you mean \($0)? The" } ?? "the"
                throw DurationMistake("'\(name)' in '\(text)' is not a unit; \(meant) units are \(unitList)")
            }
        }
        if parts.isEmpty { throw unreadable(text) }
        if let ambiguous { throw self.ambiguous(parts, at: ambiguous, in: text) }
        for (before, after) in zip(parts, parts.dropFirst()) where after.unit <= before.unit {
            if after.unit == before.unit || parts.filter({ $0.unit == after.unit }).count > 1 {
                throw DurationMistake("'\(text)' has the unit '\(after.unit.rawValue)' twice")
            }
            throw DurationMistake("'\(text)' must have its largest unit first: write \(Self.spelled(parts))")
        }
        return Dictionary(firstOf: parts.map { ($0.unit, $0.amount) })
    }

    private func takeNumber(_ rest: inout Substring, of text: String) throws(DurationMistake) -> Int {
        let digits = rest.prefix { ("0"..."9").contains($0) }
        if digits.isEmpty { throw unreadable(text) }
        rest = rest.dropFirst(digits.count)
        if rest.first == "." || rest.first == "," {
            throw DurationMistake("'\(text)' has a fraction: write a whole number of a smaller unit")
        }
        // 10,000 years are fewer than 10^15 milliseconds.
        guard let amount = Int(digits), amount < 1_000_000_000_000_000 else { throw tooLong(text) }
        return amount
    }

    private func ambiguous(
        _ parts: [(unit: DurationUnit, amount: Int)], at index: Int, in text: String
    ) -> DurationMistake {
        func offer(_ unit: DurationUnit) -> String? {
            var offered = parts
            offered[index].unit = unit
            if Set(offered.map(\.unit)).count < offered.count { return nil }
            return Self.spelled(offered)
        }
        let minutes = offer(.minutes).map { "\($0) (minutes)" }
        let months = offer(.months).map { "\($0) (months)" }
        if let minutes, let months, !units.contains(.months) {
            return DurationMistake("'\(text)' is ambiguous: write \(minutes); \(months) cannot be used here")
        }
        let offers = [minutes, months].compactMap(\.self).joined(separator: " or ")
        return DurationMistake("'\(text)' is ambiguous: write \(offers.isEmpty ? "min or mo" : offers)")
    }

    /// How to write a length of time given in common words: `30 days`, `1 year, 6 months`; nil: it is not clear.
    private func suggestion(for text: String) -> String? {
        var parts: [(unit: DurationUnit, amount: Int)] = []
        var rest = Substring(text.lowercased())
        while true {
            rest = rest.drop { $0.isWhitespace || $0 == "," }
            if rest.hasPrefix("and ") { rest = rest.dropFirst(4).drop(while: \.isWhitespace) }
            if rest.isEmpty { break }
            let digits = rest.prefix { ("0"..."9").contains($0) }
            rest = rest.dropFirst(digits.count).drop(while: \.isWhitespace)
            let word = rest.prefix(while: \.isLetter)
            rest = rest.dropFirst(word.count)
            guard let amount = Int(digits), let unit = DurationUnit.suggestion(for: String(word)) else { return nil }
            parts.append((unit, amount))
        }
        let written = Self.spelled(parts)
        return (try? amounts(of: written)) == nil ? nil : written
    }

    /// A number with units that may be meant; of zero, which is never allowed, another one.
    private func examples(of number: some StringProtocol) -> String {
        let some = Int(number) == 0 ? "30" : String(number)
        return (units.contains(.weeks) ? [.days, .hours] : [DurationUnit.seconds, .minutes]).map { some + $0.rawValue }
            .joined(separator: " or ")
    }

    private func missingUnit(_ text: String) -> DurationMistake {
        let digits = String(text.reversed().prefix { ("0"..."9").contains($0) }.reversed())
        if digits == text {
            return DurationMistake("'\(text)' has no unit: write for example \(examples(of: text))")
        }
        return DurationMistake("the '\(digits)' at the end of '\(text)' has no unit; the units are \(unitList)")
    }

    private func unreadable(_ text: String) -> DurationMistake {
        DurationMistake("'\(text)' is not a duration; expected a number and a unit, such as \(example)")
    }

    private var example: String { units.contains(.weeks) ? "30d or 1y6mo" : "90s or 10min" }

    private func tooLong(_ text: String) -> DurationMistake {
        DurationMistake("'\(text)' is more than 10,000 years, the longest that can be used")
    }

    /// The units, such as `y, mo, w, d, h, min, s`.
    var unitList: String { units.sorted().map(\.rawValue).joined(separator: ", ") }

    private static func spelled(_ parts: [(unit: DurationUnit, amount: Int)]) -> String {
        parts.sorted { $0.unit < $1.unit }.map { "\($0.amount)\($0.unit.rawValue)" }.joined()
    }
}
