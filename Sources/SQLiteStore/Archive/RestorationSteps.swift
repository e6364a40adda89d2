import PriceStore

/// What is restored together: rows of one table, rows of several tables that refer to each other, or references.
struct RestorationStep: Hashable {
    var portions: [AttachedArchive.Portion]
    /// Whether the rows refer to each other in a circle, so that no part of them can be restored before the others.
    var isWhole: Bool

    var rowCount: Int { portions.reduce(0) { $0 + $1.rows.count } }
}

extension AttachedArchive {
    /// All that is to be restored: the last part first, and of each part first the rows, parents before children, and then
    /// the references.
    var steps: [RestorationStep] {
        var steps: [RestorationStep] = []
        // Most parts are about the same tables.
        var orders: [Set<Int>: [(tables: [Int], isWhole: Bool)]] = [:]
        for part in parts.reversed() {
            let rows = Dictionary(
                part.portions.filter { tables[$0.table].kind == .rows }.map { ($0.table, $0) }
            ) { first, _ in first }
            let numbers = Set(rows.keys)
            let order = orders[numbers] ?? groups(of: numbers)
            orders[numbers] = order
            for group in order {
                steps.append(RestorationStep(portions: group.tables.compactMap { rows[$0] }, isWhole: group.isWhole))
            }
            for portion in part.portions where tables[portion.table].kind == .references {
                steps.append(RestorationStep(portions: [portion], isWhole: false))
            }
        }
        return steps
    }

    /// Tables in groups, so that a row refers only to rows of its own group and of those before it.
    private func groups(of numbers: Set<Int>) -> [(tables: [Int], isWhole: Bool)] {
        var groups: [(tables: [Int], isWhole: Bool)] = []
        var waiting = numbers.sorted()
        func parents(_ number: Int) -> Set<String> {
            Set(tables[number].relationships.map { $0.destination.lowercased() })
        }
        while !waiting.isEmpty {
            let names = Set(waiting.map { tables[$0].table.lowercased() })
            let free = waiting.filter { parents($0).isDisjoint(with: names) }
            guard !free.isEmpty else {
                groups.append((waiting, true))
                break
            }
            groups += free.map { ([$0], false) }
            waiting.removeAll(where: free.contains)
        }
        return groups
    }
}
