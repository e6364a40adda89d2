/// Reads exact durations, such as budgets and waiting times, in which a day always has 24 hours.
package enum PolicyDuration {
    /// Reads a duration: `90s`, `10min`, `1h30min`.
    ///
    /// - Parameters:
    ///   - text: numbers with the units `d`, `h`, `min`, `s`, largest first, each once.
    ///   - allowsMilliseconds: whether `ms` is allowed.
    /// - Returns: the duration, greater than zero, or what to write instead.
    package static func parse(
        _ text: String, allowsMilliseconds: Bool = false
    ) -> Result<Duration, DurationMistake> {
        do throws(DurationMistake) {
            let amounts = try grammar(allowsMilliseconds: allowsMilliseconds).amounts(of: text)
            let milliseconds = amounts.reduce(Int128(0)) { $0 + Int128($1.value) * $1.key.meanMilliseconds }
            return .success(.milliseconds(Int64(clamping: milliseconds)))
        } catch {
            return .failure(error)
        }
    }

    /// The units of a duration.
    static func grammar(allowsMilliseconds: Bool) -> DurationGrammar {
        let units: Set<DurationUnit> = [.days, .hours, .minutes, .seconds]
        return DurationGrammar(units: allowsMilliseconds ? units.union([.milliseconds]) : units)
    }
}
