extension StorePredicate {
    /// The conditions of which `and`, `or`, `not` and `notTrue` make this one, in order.
    package var leaves: [StorePredicate] {
        switch self {
        case .and(let parts), .or(let parts): parts.flatMap(\.leaves)
        case .not(let part), .notTrue(let part): part.leaves
        default: [self]
        }
    }

    /// What a rule spares as its newest rows, once for each time that the condition says so.
    package var keptRows: [KeepLast] {
        leaves.compactMap { if case .notKept(let keepLast) = $0 { keepLast } else { nil } }
    }

    /// The same for the picks of rules.
    package var thinnings: [Thinning] {
        leaves.compactMap { if case .notPicked(let thinning) = $0 { thinning } else { nil } }
    }

    /// The holds that the condition spares.
    package var holds: [HeldRows] {
        leaves.flatMap { if case .notHeld(let holds, _) = $0 { holds } else { [HeldRows]() } }
    }

    /// Whether the condition spares picks.
    package var isThinning: Bool { !thinnings.isEmpty }

    /// Whether the condition, apart from its parts, spares rows that a rule keeps.
    package var isKeeper: Bool {
        switch self {
        case .notKept, .notPicked: true
        default: false
        }
    }

    /// Whether the condition spares rows that a rule keeps.
    package var sparesKeptRows: Bool { leaves.contains(where: \.isKeeper) }
}
