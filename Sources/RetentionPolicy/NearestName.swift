/// Finds the known name that a misspelt one probably means.
package enum NearestName {
    /// Longer names are not compared, because the work grows with the square of the length.
    private static let longestName = 64

    /// The name of `candidates` that is nearest to `name`; nil: none is near enough.
    ///
    /// The same letters in another case, or with other separators, come first. Then come the fewest typing errors (a letter omitted, added,
    /// changed, or two swapped): at most one error for every three letters, and at most three. Otherwise an abbreviation of only one
    /// candidate (`unix_milis`) matches that candidate.
    package static func match(_ name: String, in candidates: [String]) -> String? {
        let wanted = Array(name.lowercased().unicodeScalars.prefix(longestName + 1))
        guard !wanted.isEmpty, wanted.count <= longestName else { return nil }
        let squeezed = squeeze(wanted)
        var best: (name: String, slips: Int)?
        var abbreviated: [String] = []
        for candidate in candidates where candidate != name {
            let scalars = Array(candidate.lowercased().unicodeScalars)
            if scalars == wanted { return candidate }
            if wanted.count >= 4, isAbbreviation(wanted, of: scalars) { abbreviated.append(candidate) }
            let length = Swift.max(wanted.count, scalars.count)
            var limit = Swift.min(3, length / 3)
            if squeeze(scalars) == squeezed {
                limit = length
            } else if abs(wanted.count - scalars.count) > limit {
                continue
            }
            let slips = limit == length ? 0 : distance(wanted, scalars)
            if slips <= limit, slips < best?.slips ?? .max { best = (candidate, slips) }
        }
        return best?.name ?? (abbreviated.count == 1 ? abbreviated.first : nil)
    }

    /// The text `; did you mean 'x'?`, or another text if no name is near.
    package static func suggestion(for name: String, in candidates: [String], otherwise: String = "") -> String {
        match(name, in: candidates).map { "; did you mean '\($0)'?" } ?? otherwise
    }

    private static func squeeze(_ name: [Unicode.Scalar]) -> [Unicode.Scalar] {
        name.filter { $0 != "_" && $0 != "-" && $0 != " " && $0 != "." }
    }

    /// Whether all letters of a name occur in a longer one, in the same order.
    private static func isAbbreviation(_ name: [Unicode.Scalar], of candidate: [Unicode.Scalar]) -> Bool {
        var rest = ArraySlice(candidate)
        for letter in name {
            guard let index = rest.firstIndex(of: letter) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }

    /// Damerau-Levenshtein distance (optimal string alignment).
    private static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        var beforeLast = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            row.reserveCapacity(b.count + 1)
            for j in b.indices {
                var cost = Swift.min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = Swift.min(cost, beforeLast[j - 1] + 1) }
                row.append(cost)
            }
            (beforeLast, last) = (last, row)
        }
        return last[b.count]
    }
}
