extension SurveyRequest {
    package var keepsRows: Bool { keepers.keepLast != nil || keepers.thinning != nil }

    /// Whether two rules that keep rows read the same dates. If not, the rows that one keeps cannot be kept from the other.
    package func readsDates(of other: SurveyRequest) -> Bool {
        date.name == other.date.name && date.encoding == other.date.encoding && date.zone == other.date.zone
    }

    /// Adapts a rule that keeps rows to the other rules, which must not include the rule itself.
    ///
    /// Rows that are deleted by rules which keep none are left to those rules: this rule neither keeps nor deletes them, under a hold or
    /// not. Rows that one rule keeps are also kept from the others. So the order of the rules does not matter.
    package mutating func keepApart(from others: [SurveyRequest]) {
        guard keepsRows else { return }
        let others = others.filter { $0.entity == entity }
        let deleting = others.filter { !$0.keepsRows }
        keepers.others = others.filter { $0.keepsRows && !$0.filter.isDisjoint(from: filter) }.flatMap {
            $0.leaving(deleting).ownKeepers
        }
        self = leaving(deleting)
    }

    /// The request without the rows that other rules delete.
    private func leaving(_ others: [SurveyRequest]) -> SurveyRequest {
        let others = others.filter { !$0.filter.isDisjoint(from: filter) }
        func left(_ rows: StorePredicate) -> StorePredicate {
            others.reduce(rows) { $0 && .notTrue($1.deletionWithoutHolds) }
        }
        var request = self
        request.filter = left(filter)
        if let among = keepers.keepLast?.among { request.keepers.keepLast?.among = left(among) }
        if let among = keepers.thinning?.among { request.keepers.thinning?.among = left(among) }
        return request
    }
}
