import RetentionPolicy
import Testing

struct MaxAgeParsingTests {
    struct Good: Sendable, CustomTestStringConvertible {
        var text: String
        /// Months, days, seconds.
        var amounts: [Int128]
        var testDescription: String { text }
    }

    @Test(arguments: [
        Good(text: "30d", amounts: [0, 30, 0]),
        Good(text: "1y6mo", amounts: [18, 0, 0]),
        Good(text: "1y2mo3w4d5h6min7s", amounts: [14, 25, 18_367]),
        Good(text: "90min", amounts: [0, 0, 5400]),
        Good(text: "0030d", amounts: [0, 30, 0]),
        Good(text: "1y0d", amounts: [12, 0, 0]),
        Good(text: "10000y", amounts: [120_000, 0, 0]),
    ])
    func reads(row: Good) throws {
        let age = try MaxAge(parsing: row.text)
        #expect([age.months, age.days, age.seconds] == row.amounts)
        #expect(age.written == row.text)
    }

    struct Bad: Sendable, CustomTestStringConvertible {
        var text: String
        var message: String
        var testDescription: String { text }
    }

    @Test(arguments: [
        Bad(text: "30m", message: "'30m' is ambiguous: write 30min (minutes) or 30mo (months)"),
        Bad(text: "1y6m", message: "'1y6m' is ambiguous: write 1y6min (minutes) or 1y6mo (months)"),
        Bad(text: "1mo5m", message: "'1mo5m' is ambiguous: write 1mo5min (minutes)"),
        Bad(text: "30M", message: "'30M' is ambiguous: write 30min (minutes) or 30mo (months)"),
        Bad(text: "30", message: "'30' has no unit: write for example 30d or 30h"),
        Bad(text: "1d30", message: "the '30' at the end of '1d30' has no unit; the units are y, mo, w, d, h, min, s"),
        Bad(text: "0d", message: "'0d' is zero: it must be greater than zero"),
        Bad(text: "-1d", message: "'-1d' is negative: write it without the minus sign"),
        Bad(text: "1.5d", message: "'1.5d' has a fraction: write a whole number of a smaller unit"),
        Bad(text: "1,5h", message: "'1,5h' has a fraction: write a whole number of a smaller unit"),
        Bad(text: "10000y1s", message: "'10000y1s' is more than 10,000 years, the longest that can be used"),
        Bad(
            text: "1y9223372036854775807d",
            message: "'1y9223372036854775807d' is more than 10,000 years, the longest that can be used"),
        Bad(
            text: "9223372036854775808d",
            message: "'9223372036854775808d' is more than 10,000 years, the longest that can be used"),
        Bad(
            text: "999999999999999y",
            message: "'999999999999999y' is more than 10,000 years, the longest that can be used"),
        Bad(
            text: "500ms",
            message: "'500ms' is in milliseconds, which cannot be used here; the units are y, mo, w, d, h, min, s"),
        Bad(text: "1d1y", message: "'1d1y' must have its largest unit first: write 1y1d"),
        Bad(text: "1d1d", message: "'1d1d' has the unit 'd' twice"),
        Bad(text: "1d1h1d", message: "'1d1h1d' has the unit 'd' twice"),
        Bad(text: "30 d", message: "'30 d' has a space in it: write 30d"),
        Bad(
            text: "30days",
            message: "'days' in '30days' is not a unit; did you mean 30d? The units are y, mo, w, d, h, min, s"),
        Bad(
            text: "30D", message: "'D' in '30D' is not a unit; did you mean 30d? The units are y, mo, w, d, h, min, s"),
        Bad(text: "3q", message: "'q' in '3q' is not a unit; the units are y, mo, w, d, h, min, s"),
        Bad(text: "d", message: "'d' is not a duration; expected a number and a unit, such as 30d or 1y6mo"),
        Bad(text: "", message: "'' is not a duration; expected a number and a unit, such as 30d or 1y6mo"),
        Bad(text: "P30D", message: "'P30D' is not a duration; expected a number and a unit, such as 30d or 1y6mo"),
        Bad(text: "٣٠d", message: "'٣٠d' is not a duration; expected a number and a unit, such as 30d or 1y6mo"),
    ])
    func refuses(row: Bad) {
        do throws(DurationMistake) {
            let age = try MaxAge(parsing: row.text)
            Issue.record("read as \(age)")
        } catch {
            #expect(error.message == row.message)
        }
    }

    struct Budget: Sendable, CustomTestStringConvertible {
        var text: String
        var duration: Duration?
        var milliseconds = false
        var testDescription: String { text }
    }

    @Test(arguments: [
        Budget(text: "90s", duration: .seconds(90)),
        Budget(text: "10min", duration: .seconds(600)),
        Budget(text: "1h30min", duration: .seconds(5400)),
        Budget(text: "1d", duration: .seconds(86_400)),
        Budget(text: "250ms", duration: .milliseconds(250), milliseconds: true),
        Budget(text: "1s5ms", duration: .milliseconds(1005), milliseconds: true),
        Budget(text: "250ms", duration: nil),
        Budget(text: "1mo", duration: nil),
        Budget(text: "1w", duration: nil),
        Budget(text: "1y", duration: nil),
        Budget(text: "10m", duration: nil),
        Budget(text: "10", duration: nil),
        Budget(text: "0s", duration: nil),
        Budget(text: "99999999999d", duration: nil),
    ])
    func readsExactDurations(row: Budget) {
        let parsed = try? PolicyDuration.parse(row.text, allowsMilliseconds: row.milliseconds)
        #expect(parsed == row.duration)
    }
}
