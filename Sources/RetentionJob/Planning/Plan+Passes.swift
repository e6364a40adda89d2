import PriceStore
import RetentionPolicy

extension Plan {
    /// The steps that delete something, by their places, in file order: those that go through the same table in the same
    /// way, one after the other, share a pass.
    ///
    /// A pass of a great many rules is split: a rebuild asks of each row whether any of them names it.
    var passes: [[Int]] {
        var passes: [[Int]] = []
        for (index, step) in steps.enumerated() {
            guard case .planned = step.disposition else { continue }
            if let last = passes.last?.last, passes[passes.count - 1].count < Self.mostInPass,
                steps[last].sharesPass(with: step)
            {
                passes[passes.count - 1].append(index)
            } else {
                passes.append([index])
            }
        }
        return passes
    }

    private static let mostInPass = 50
}

extension Plan {
    /// Has the steps know in whose pass they are.
    mutating func noteSharedPasses() {
        for pass in passes {
            for index in pass.dropFirst() { steps[index].sharesPassWith = steps[pass[0]].rule.name }
        }
    }
}

extension Plan.Step {
    /// Whether two steps can go through their table together. A limit of rows needs a pass of its own.
    fileprivate func sharesPass(with other: Plan.Step) -> Bool {
        guard let request, let second = other.request else { return false }
        return rule.entity.lowercased() == other.rule.entity.lowercased() && request.strategy == second.strategy
            && request.strategy.readsWholeTable && isStrategyChosen == other.isStrategyChosen
            && request.ignoresUnknownHistory == second.ignoresUnknownHistory
            && [self, other].allSatisfy {
                $0.survey.allowsSharedPass && $0.survey.expiredCount > 0 && $0.maxRows == nil
            }
    }
}
