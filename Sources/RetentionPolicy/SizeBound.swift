package import PriceStore

/// A bound on what a rule keeps: the oldest rows beyond it expire before `max_age`, but none that is younger than an age.
package struct SizeBound: Hashable, Sendable {
    /// What is bounded.
    package enum Measure: Hashable, Sendable {
        /// The newest rows stay: `newest_rows`. Rows with equal dates stay or go together.
        case rows(Int)
        /// The bytes of the rows and their indexes: `max_size`.
        case bytes(Int)
    }

    package var measure: Measure
    package var neverYoungerThan: MaxAge

    package init(_ measure: Measure, neverYoungerThan: MaxAge) {
        (self.measure, self.neverYoungerThan) = (measure, neverYoungerThan)
    }

    package var key: String {
        switch measure {
        case .rows: "newest_rows"
        case .bytes: "max_size"
        }
    }

    /// What a bound means for the rows of a store at an instant: those before the cutoff expire. The excess is that of the rows or bytes from
    /// the cutoff on, if they are more than the bound: they are too young to go; nil: the bound is met.
    package typealias Finding = (cutoff: Instant, excess: Int?)

    /// Whether no row expires sooner by this bound than by another one.
    func isWithin(_ other: SizeBound, isUTC: Bool) -> Bool {
        guard neverYoungerThan.isAtLeast(other.neverYoungerThan, isUTC: isUTC) else { return false }
        switch (measure, other.measure) {
        case (.rows(let own), .rows(let others)), (.bytes(let own), .bytes(let others)): return own >= others
        default: return false
        }
    }

    /// Reads a size: `500MB`, `2GiB`. Units are `kB`, `MB`, `GB`, `TB` of 1000, `KiB`, `MiB`, `GiB`, `TiB` of 1024, and `B`; nil: it is none.
    static func bytes(_ text: String) -> Int? {
        guard let match = text.wholeMatch(of: #/([0-9]{1,15})([kKMGT]?)(i?)B/#), let number = Int(match.1), number > 0,
            match.2.isEmpty ? match.3.isEmpty : true
        else { return nil }
        let power = match.2.isEmpty ? 0 : (Array("KMGT").firstIndex(of: Character(match.2.uppercased())) ?? 0) + 1
        let unit = match.3.isEmpty ? 1000 : 1024
        let (bytes, isTooLarge) = number.multipliedReportingOverflow(
            by: (0..<power).reduce(1) { size, _ in size * unit })
        return isTooLarge ? nil : bytes
    }
}

extension PolicyBuilder {
    /// Reads the bound of a rule, and checks it beside the rest of the rule.
    mutating func bound(_ group: SettingGroup, _ rule: Rule) -> SizeBound? {
        let keys = ["newest_rows", "max_size"].filter { group[$0] != nil }
        guard let key = keys.first, let mark = group[key]?.keyMark else {
            if let mark = group["never_younger_than"]?.keyMark {
                reader.report(mark, "'never_younger_than' is for a bound: write newest_rows: 1000000 or max_size: 2GB")
            }
            return nil
        }
        if keys.count > 1 { reader.report(mark, "'newest_rows' and 'max_size' are two bounds; a rule has one") }
        if rule.ages != nil {
            reader.report(mark, "'\(key)' is for a rule with one age: write a rule for each, with 'where'")
        }
        guard let least = group.age("never_younger_than") else {
            if group["never_younger_than"] == nil {
                reader.report(
                    mark, "'\(key)' needs never_younger_than, the age of rows that stay whatever the bound: 7d")
            }
            return nil
        }
        if rule.ages == nil, least.isAtLeast(rule.maxAge, isUTC: reader.zone.isUTC) {
            reader.report(
                rule.marks.value("never_younger_than"),
                "'never_younger_than' must be shorter than 'max_age' (\(rule.maxAge.written)); otherwise the bound does nothing"
            )
        }
        let measure =
            group.integer("newest_rows").map(SizeBound.Measure.rows) ?? group.integer("max_size").map { .bytes($0) }
        return measure.map { SizeBound($0, neverYoungerThan: least) }
    }
}
