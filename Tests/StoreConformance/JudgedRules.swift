package import PriceStore

/// The rules of a random store in their order, with the judge's verdict on each.
package struct JudgedRules {
    /// The rules as they are asked, with what the rules before them delete.
    package private(set) var requests: [SurveyRequest] = []
    package private(set) var verdicts: [ReferenceJudge.Verdict] = []
    /// What the rules leave.
    package private(set) var after: ReferenceStore

    package init(_ rules: [SurveyRequest], on store: ReferenceStore) {
        after = store
        // A rule is refused if a cascade would take a row that it keeps; then all is judged again without it.
        var refused: Set<Int> = []
        repeat {
            var judge = ReferenceJudge(store)
            (requests, verdicts) = ([], [])
            for (index, rule) in rules.enumerated() {
                let others = Array(rules[..<index] + rules[(index + 1)...])
                var request = rule
                request.keepApart(from: others)
                request.preceding = judge.preceding
                requests.append(request)
                verdicts.append(judge.judge(rule, asked: request, beside: others, isWithheld: refused.contains(index)))
            }
            after = judge.current
        } while refuseNext(of: &refused)
    }

    /// Finds a rule that would lose what it keeps, and is carried out.
    private func refuseNext(of refused: inout Set<Int>) -> Bool {
        let next = verdicts.indices.first { index in
            isCarriedOut(index)
                && verdicts.indices.contains { other in
                    isCarriedOut(other)
                        && !verdicts[index].kept.isDisjoint(
                            with: verdicts[other].cascaded[requests[index].entity] ?? [])
                }
        }
        return next.map { refused.insert($0).inserted } ?? false
    }

    /// The rules, a line each, for a failure.
    package var story: [String] {
        requests.map {
            """
            \($0.entity): \($0.date.name) \($0.date.encoding) \($0.date.zone.identifier) before \($0.cutoff.rfc3339) \
            earliest \($0.date.earliest.rfc3339) latest \($0.date.latest?.rfc3339 ?? "-") where \($0.filter) \
            thin \($0.keepers.thinning.map { "\($0.pick) per \($0.groupedBy) \($0.tiers.map { "\($0.unit) \($0.since.rfc3339)" })" } ?? "-") \
            keep \($0.keepers.keepLast.map { "\($0.count) per \($0.groupedBy)" } ?? "-") relationships \($0.relationships) \
            holds \($0.keepers.holds.map { "\($0.entity): \($0.rows)" })
            """
        }
    }

    /// What the rules are and what the judge says of them, as words that a generator must reach.
    package var kinds: Set<String> {
        var seen: Set<String> = []
        for (request, verdict) in zip(requests, verdicts) {
            if verdict.isRefused { seen.insert("refused") }
            if verdict.survey.expiredCount > 0 { seen.insert("expired") }
            if verdict.survey.expiredCount < verdict.survey.expiredAloneCount { seen.insert("counted before") }
            if verdict.survey.related.cascadedCount > 0 { seen.insert("cascaded") }
            if verdict.survey.related.nullifiedCount > 0 { seen.insert("nullified") }
            if verdict.survey.kept.byRuleCount > 0 { seen.insert("kept") }
            if verdict.survey.kept.byTier.count > 1 { seen.insert("thinned") }
            if request.keepers.thinning?.pick.price != nil, verdict.survey.expiredCount > 0,
                verdict.survey.kept.byRuleCount > 0
            {
                seen.insert("candles kept")
            }
            if !request.keepers.others.isEmpty, verdict.survey.expiredCount > 0 { seen.insert("kept from others") }
            if request.keepsRows, request.filter.allAttributeNames.contains(request.date.name),
                verdict.survey.expiredCount > 0
            {
                seen.insert("kept beside others")
            }
            if verdict.survey.kept.heldCount > 0 { seen.insert("held") }
            if verdict.survey.kept.byHold.contains(where: { $0.relatedCount > 0 }) { seen.insert("held with others") }
            if !verdict.survey.leavesReadableRows { seen.insert("empties") }
            if verdict.survey.unreadable.count > 2 { seen.insert("unreadable") }
            if request.date.zone != .utc { seen.insert("zone") }
            seen.insert(request.date.encoding.rawValue)
        }
        return seen
    }

    /// Whether a run carries a rule out: where the survey finds nothing, no batch is sent.
    package func isCarriedOut(_ index: Int) -> Bool {
        let verdict = verdicts[index]
        return !verdict.isRefused && !verdict.isWithheld && !verdict.dependsOnNullified
            && verdict.survey.expiredCount > 0
    }

    /// Where the survey of a rule differs from the verdict on it.
    package func differences(_ survey: Survey, ofRule index: Int) -> [String] {
        let found: [String]
        if verdicts[index].hasCircle {
            found = survey.unsupported == nil ? ["cascades lead back: not refused"] : []
        } else if verdicts[index].clearsFixed {
            found = survey.unsupported == nil ? ["references that must stay are cleared: not refused"] : []
        } else if verdicts[index].dependsOnNullified {
            found = survey.unsupported == nil ? ["what a relationship changes decides which rows go: not refused"] : []
        } else if let reason = survey.unsupported {
            found = ["unsupported: \(reason)"]
        } else {
            found = Laws.differences(survey, verdicts[index].survey)
        }
        return found.map { "rule \(index): " + $0 }
    }

    /// The methods of all rules in each round: every one that is possible for a rule comes up, and then one statement.
    package static func rounds<Method: DeletionMethod>(_ possible: [[Method]]) -> [[Method]] {
        let count = possible.map(\.count).max() ?? 0
        return (0...count).map { round in
            possible.map { round < count && !$0.isEmpty ? $0[round % $0.count] : .whole }
        }
    }

    /// Which rows are not in a table that should be, and the other way round.
    package func differences(_ rows: [ReferenceStore.Row], in table: String) -> [String] {
        let (left, expected) = (Set(rows.map(\.id)), Set((after.tables[table]?.rows ?? []).map(\.id)))
        guard left != expected else { return [] }
        return [
            "\(table): rows \(left.subtracting(expected).sorted()) should be gone, "
                + "\(expected.subtracting(left).sorted()) should be there"
        ]
    }
}
