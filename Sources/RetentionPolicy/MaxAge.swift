/// How long a row is kept: calendar months, calendar days and exact seconds, each at least 0 and not all 0.
package struct MaxAge: Hashable, Sendable {
    package var months: Int128 = 0
    package var days: Int128 = 0
    package var seconds: Int128 = 0
    /// The age as the user wrote it.
    package var written: String

    package init(written: String) { self.written = written }

    static let grammar = DurationGrammar(
        units: [.years, .months, .weeks, .days, .hours, .minutes, .seconds])

    /// Reads an age: `30d`, `1y6mo`.
    ///
    /// Units are `y`, `mo`, `w`, `d`, `h`, `min`, `s`, joined largest first, each once; at most 10,000 years in all.
    ///
    /// - Throws: ``DurationMistake`` with a message that says what to write instead.
    package init(parsing text: String) throws(DurationMistake) {
        self.init(written: text)
        for (unit, amount) in try Self.grammar.amounts(of: text) {
            switch unit {
            case .years: months += Int128(amount) * 12
            case .months: months += Int128(amount)
            case .weeks: days += Int128(amount) * 7
            case .days: days += Int128(amount)
            case .hours, .minutes, .seconds, .milliseconds: seconds += Int128(amount) * unit.meanMilliseconds / 1000
            }
        }
    }
}
