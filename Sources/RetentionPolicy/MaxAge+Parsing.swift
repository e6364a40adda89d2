extension MaxAge {
    /// The units of an age.
    static let grammar = DurationGrammar(
        units: [.years, .months, .weeks, .days, .hours, .minutes, .seconds])

    /// Reads an age: `30d`, `1y6mo`.
    ///
    /// Units are `y`, `mo`, `w`, `d`, `h`, `min`, `s`, joined largest first, each once; at most 10,000 years in all.
    ///
    /// - Throws: ``DurationMistake`` with a message that says what to write instead.
    package init(parsing text: String) throws(DurationMistake) {
        let amounts = try Self.grammar.amounts(of: text)
        self.init(written: text)
        years = amounts[.years, default: 0]
        months = amounts[.months, default: 0]
        weeks = amounts[.weeks, default: 0]
        days = amounts[.days, default: 0]
        hours = amounts[.hours, default: 0]
        minutes = amounts[.minutes, default: 0]
        seconds = amounts[.seconds, default: 0]
    }
}
