/// Reads exact durations, such as budgets and waiting times, in which a day always has 24 hours.
package enum PolicyDuration {
    /// Reads a duration, which is greater than zero: `90s`, `10min`, `1h30min`. Units are `d`, `h`, `min`, `s`, largest first, each once.
    ///
    /// - Parameter allowsMilliseconds: whether `ms` is a unit, too.
    /// - Throws: ``DurationMistake`` with a message that says what to write instead.
    package static func parse(
        _ text: String, allowsMilliseconds: Bool = false
    ) throws(DurationMistake) -> Duration {
        let amounts = try grammar(allowsMilliseconds: allowsMilliseconds).amounts(of: text)
        let milliseconds = amounts.reduce(Int128(0)) { $0 + Int128($1.value) * $1.key.meanMilliseconds }
        return .milliseconds(Int64(clamping: milliseconds))
    }

    static func grammar(allowsMilliseconds: Bool) -> DurationGrammar {
        let units: Set<DurationUnit> = [.days, .hours, .minutes, .seconds]
        return DurationGrammar(units: allowsMilliseconds ? units.union([.milliseconds]) : units)
    }
}
