extension SurveyRequest {
    /// Whether the rule keeps rows of its own.
    package var keepsRows: Bool { keepLast != nil || thinning != nil }

    /// Whether two rules that keep rows read the same dates. Otherwise what one keeps cannot be kept from the other.
    package func readsDates(of other: SurveyRequest) -> Bool {
        date.name == other.date.name && date.encoding == other.date.encoding && date.zone == other.date.zone
    }

    /// Has a rule that keeps rows stand beside other rules, none of which may be itself.
    ///
    /// It leaves the rows that are deleted by rules which keep none to these rules: it neither keeps nor deletes them, under a hold or
    /// not. What one such rule keeps is kept from the others, too. So the order of the rules does not matter.
    package mutating func keepApart(from others: [SurveyRequest]) {
        guard keepsRows else { return }
        let others = others.filter { $0.entity == entity }
        let deleting = others.filter { !$0.keepsRows }
        keptByOthers = others.filter { $0.keepsRows && !$0.filter.isDisjoint(from: filter) }.flatMap {
            $0.leaving(deleting).ownKeepers
        }
        self = leaving(deleting)
    }

    /// The request without the rows that others delete.
    private func leaving(_ others: [SurveyRequest]) -> SurveyRequest {
        let others = others.filter { !$0.filter.isDisjoint(from: filter) }
        func left(_ rows: StorePredicate) -> StorePredicate {
            others.reduce(rows) { $0 && .notTrue($1.deletionWithoutHolds) }
        }
        var request = self
        request.filter = left(filter)
        request.keepLast = keepLast.map {
            KeepLast(count: $0.count, groupedBy: $0.groupedBy, among: left($0.among), date: $0.date)
        }
        request.thinning = thinning.map {
            Thinning(tiers: $0.tiers, pick: $0.pick, groupedBy: $0.groupedBy, among: left($0.among), date: $0.date)
        }
        return request
    }
}
