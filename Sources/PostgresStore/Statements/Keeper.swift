import PriceStore

/// A part of a deletion's condition that spares the rows that a rule keeps.
struct Keeper: Hashable {
    /// The keeping part and the table of the rows.
    struct Key: Hashable {
        var table: Int
        /// A ``StorePredicate/notKept(_:)`` or ``StorePredicate/notPicked(_:)``.
        var predicate: StorePredicate
    }

    /// A ``StorePredicate/notKept(_:)`` or ``StorePredicate/notPicked(_:)``.
    var predicate: StorePredicate
    /// The rows that it may spare; nil for all rows.
    var among: StorePredicate?

    /// Nil for any other part.
    init?(_ part: StorePredicate) {
        switch part {
        case .spares where part.isKeeper: predicate = part
        case .or(let parts):
            guard parts.count == 2, case .notTrue(let among) = parts[0], parts[1].isKeeper, !among.sparesKeptRows else {
                return nil
            }
            (predicate, self.among) = (parts[1], among)
        default: return nil
        }
    }
}

extension StorePredicate {
    /// The parts that spare rows that rules keep, each once; nil if another condition decides whether one applies.
    var keepers: [Keeper]? {
        guard sparesKeptRows else { return [] }
        var parts = [self]
        if case .and(let all) = self { parts = all }
        var found: [Keeper] = []
        for part in parts where part.sparesKeptRows {
            guard let keeper = Keeper(part) else { return nil }
            if !found.contains(keeper) { found.append(keeper) }
        }
        return found
    }
}
