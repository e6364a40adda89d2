import PriceStore

/// A part of a deletion's condition that spares the rows that a rule keeps.
struct Keeper: Hashable {
    /// The rows that are kept.
    enum Kept: Hashable {
        case newest(KeepLast)
        case picks(Thinning)
    }

    /// The kept rows and their table.
    struct Key: Hashable {
        var table: Int
        var kept: Kept
    }

    var kept: Kept
    /// The rows that it may spare; nil for all rows.
    var among: StorePredicate?

    /// Nil for any other part.
    init?(_ part: StorePredicate) {
        switch part {
        case .spares(let spared):
            switch spared.kind {
            case .notKept(let keepLast): kept = .newest(keepLast)
            case .notPicked(let thinning): kept = .picks(thinning)
            case .notHeld: return nil
            }
        case .or(let parts):
            guard parts.count == 2, case .notTrue(let among) = parts[0], !among.sparesKeptRows,
                let keeper = Keeper(parts[1]), keeper.among == nil
            else { return nil }
            (kept, self.among) = (keeper.kept, among)
        default: return nil
        }
    }
}

extension StorePredicate {
    /// The parts that spare rows that rules keep, each once; nil if another condition decides whether one applies.
    var keepers: [Keeper]? {
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
