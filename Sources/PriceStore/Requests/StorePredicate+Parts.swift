extension StorePredicate {
    /// The rows in which an attribute is a finite number.
    package static func isNumber(_ name: String, atLeast least: Double = -.greatestFiniteMagnitude) -> StorePredicate {
        .between(name, .real(least), .real(.greatestFiniteMagnitude))
    }

    /// The conditions that `and`, `or`, `not` and `notTrue` combine to this one, in order.
    package var leaves: [StorePredicate] {
        switch self {
        case .and(let parts), .or(let parts): parts.flatMap(\.leaves)
        case .not(let part), .notTrue(let part): part.leaves
        default: [self]
        }
    }

    /// The newest rows that the condition spares, once for each time that it names them.
    package var keptRows: [KeepLast] {
        leaves.compactMap { if case .notKept(let keepLast)? = $0.spared { keepLast } else { nil } }
    }

    /// The picks of rules that the condition spares, once for each time that it names them.
    package var thinnings: [Thinning] {
        leaves.compactMap { if case .notPicked(let thinning)? = $0.spared { thinning } else { nil } }
    }

    package var holds: [HeldRows] {
        leaves.flatMap { if case .notHeld(let holds, _)? = $0.spared { holds } else { [HeldRows]() } }
    }

    package var isThinning: Bool { !thinnings.isEmpty }

    /// Whether the condition spares rows that a rule keeps.
    package var sparesKeptRows: Bool { !keptRows.isEmpty || isThinning }
}
