package import PriceStore

/// The slow, obvious judge: what the contract says of every single row, without SQL and without an engine.
///
/// All rules decide on the store as it was at the beginning; relationships are judged as the rules before leave it.
package struct ReferenceJudge {
    /// The store before any rule.
    package let original: ReferenceStore
    /// The store as the rules that were judged and not refused leave it.
    package internal(set) var current: ReferenceStore
    /// What the rules that were not refused delete, in order: what the next survey must be told.
    package private(set) var preceding: [BatchDeleteRequest] = []

    package init(_ store: ReferenceStore) {
        original = store
        current = store
    }

    /// What a rule finds and does.
    package struct Verdict {
        /// What a survey must say. Strategy, index and examples are the engine's own.
        package var survey = Survey()
        /// The rows that the rule deletes, by their numbers.
        package var deleted: Set<Int64> = []
        /// The rows that go by a cascade, by table.
        package var cascaded: [String: Set<Int64>] = [:]
        /// The rows that lose a reference and stay, by table.
        package var nullified: [String: Set<Int64>] = [:]
        /// Whether the schema refuses the rule, so that nothing of it is carried out.
        package var isRefused: Bool { !survey.related.obstacles.isEmpty || hasUnusableHold || hasCircle || clearsFixed }
        /// Whether the cascades lead back to a table that they have passed, which an engine may refuse.
        package var hasCircle = false
        /// Whether references are cleared whose tables do not allow that.
        package var clearsFixed = false
        /// Whether a hold asks for a reference that is cleared in rows that the rule deletes: a plan refuses the rule.
        package var hasUnusableHold = false
        /// The rows that the rule keeps by `keepLast` or `thinning`, whatever their dates.
        package var kept: Set<Int64> = []
        /// Whether the rule is not carried out, whatever it finds.
        package var isWithheld = false
        /// Whether what the rule looks at is changed by a relationship before all of its rows are gone.
        package var dependsOnNullified = false
    }

    /// Judges the next rule and carries it out on ``current`` unless it is refused. `preceding` of the request is not
    /// looked at: the judge knows.
    ///
    /// - Parameters:
    ///   - asked: the request beside the other rules, as the store gets it; nil: there are none.
    ///   - others: the other rules.
    ///   - isWithheld: whether it is not carried out, whatever it finds.
    package mutating func judge(
        _ request: SurveyRequest, asked: SurveyRequest? = nil, beside others: [SurveyRequest] = [],
        isWithheld: Bool = false
    ) -> Verdict {
        var verdict = Verdict()
        verdict.isWithheld = isWithheld
        guard let table = original.tables[request.entity] else { return verdict }
        // A rule that keeps rows leaves those alone that the rules which keep none delete.
        let siblings = others.filter { $0.entity == request.entity }
        let goneFirst = siblings.filter { !$0.keepsRows }.reduce(into: Set<Int64>()) {
            $0.formUnion(deletedAlone($1, table))
        }
        let picked = pickedRows(request, table, besides: goneFirst).filter { $0.value.isExpired }.mapValues(\.unit)
        var kept = keptRows(request, table, besides: goneFirst).union(picked.keys)
        verdict.kept = kept.union(pickedRows(request, table, besides: goneFirst).keys)
        if request.keepsRows {
            for other in siblings {
                kept.formUnion(keptRows(other, table, besides: goneFirst))
                kept.formUnion(pickedRows(other, table, besides: goneFirst).keys)
            }
        }
        var would: Set<Int64> = []
        var unreadable: [Survey.Unreadable: Int] = [:]
        var readableOfEntity: [(id: Int64, reading: ReferenceDate.Reading)] = []
        var matching: [(id: Int64, reading: ReferenceDate.Reading)] = []
        verdict.survey.rowCount = 0
        for row in table.rows {
            let matches = isTrue(request.filter, row, table) && !(request.keepsRows && goneFirst.contains(row.id))
            if matches { verdict.survey.rowCount? += 1 }
            switch ReferenceDate(row[request.date.name], request.date, cutoff: request.cutoff) {
            case .unreadable(let reason): if matches { unreadable[reason, default: 0] += 1 }
            case .date(let reading):
                readableOfEntity.append((row.id, reading))
                guard matches else { continue }
                matching.append((row.id, reading))
                guard reading.isExpired else { continue }
                if kept.contains(row.id) { verdict.survey.kept.byRuleCount += 1 } else { would.insert(row.id) }
            }
        }
        verdict.survey.kept.byTier = CalendarUnit.allCases.compactMap { unit in
            let count = picked.values.count { $0 == unit }
            return count > 0 ? .init(unit: unit, rowCount: count) : nil
        }
        let expired = spare(would, request, into: &verdict.survey)
        let isThere = Set(current.tables[request.entity]?.rows.map(\.id) ?? [])
        verdict.deleted = expired.intersection(isThere)
        verdict.survey.readableCount = matching.count
        verdict.survey.expiredAloneCount = expired.count
        verdict.survey.expiredCount = verdict.deleted.count
        for reason in Survey.Unreadable.allCases {
            guard let rowCount = unreadable[reason] else { continue }
            verdict.survey.unreadable.append(.init(reason: reason, rowCount: rowCount, example: .null))
        }
        verdict.survey.dates.oldest = matching.map(\.reading.start).min()
        verdict.survey.dates.newest = matching.map(\.reading.start).max()
        verdict.survey.dates.newestOfEntity = readableOfEntity.map(\.reading.start).max()
        verdict.survey.dates.newestExpired = matching.filter { verdict.deleted.contains($0.id) }.map(\.reading.start)
            .max()
        verdict.survey.dates.newestValue = newestValue(request, table)
        verdict.hasUnusableHold = hasUnusableHold(request)
        verdict.hasCircle = hasCircle(request)
        verdict.clearsFixed = clearsFixed(request)
        carryOut(asked ?? request, into: &verdict)
        let gone = expired.union(verdict.cascaded[request.entity] ?? [])
        verdict.survey.leavesReadableRows = expired.isEmpty || readableOfEntity.contains { !gone.contains($0.id) }
        if !verdict.isRefused, !verdict.isWithheld, !verdict.dependsOnNullified {
            preceding.append(
                BatchDeleteRequest(
                    fetchRequest: StoreFetchRequest(entity: request.entity, predicate: (asked ?? request).expired),
                    relationships: request.relationships))
        }
        return verdict
    }

    /// The rows that a rule which keeps none would delete if it were the only one and there were no hold.
    private func deletedAlone(_ request: SurveyRequest, _ table: ReferenceStore.Table) -> Set<Int64> {
        let expired = table.rows.filter { row in
            isTrue(request.filter, row, table)
                && ReferenceDate(row[request.date.name], request.date, cutoff: request.cutoff).reading?.isExpired
                    == true
        }
        return Set(expired.map(\.id))
    }

    /// The newest rows of each group and all that are tied with the last of them.
    ///
    /// - Parameter gone: rows that are not among them.
    private func keptRows(
        _ request: SurveyRequest, _ table: ReferenceStore.Table, besides gone: Set<Int64>
    ) -> Set<Int64> {
        guard let keepLast = request.keepers.keepLast else { return [] }
        var groups: [(key: [StoreValue], rows: [(id: Int64, reading: ReferenceDate.Reading)])] = []
        for row in table.rows where isTrue(request.filter, row, table) && !gone.contains(row.id) {
            guard let reading = ReferenceDate(row[keepLast.date.name], keepLast.date, cutoff: request.cutoff).reading
            else { continue }
            let key = keepLast.groupedBy.map { row[$0] }
            let known = groups.firstIndex { group in
                zip(group.key, zip(key, keepLast.groupedBy)).allSatisfy {
                    ReferenceValue.isSame($0, $1.0, table.collation($1.1))
                }
            }
            if let known {
                groups[known].rows.append((row.id, reading))
            } else {
                groups.append((key, [(row.id, reading)]))
            }
        }
        var kept: Set<Int64> = []
        for (_, rows) in groups {
            let newestFirst = rows.sorted { $0.reading.isNewer(than: $1.reading) }
            let last = newestFirst[min(keepLast.count, newestFirst.count) - 1].reading
            kept.formUnion(rows.filter { !last.isNewer(than: $0.reading) }.map(\.id))
        }
        return kept
    }

    /// The largest value of the format's own kind that is no sentinel, believed or not.
    private func newestValue(_ request: SurveyRequest, _ table: ReferenceStore.Table) -> StoreValue? {
        let date = request.date
        let values = table.rows.map { $0[date.name] }
        if date.encoding.isNumeric {
            return values.filter {
                if case .span = date.encoding.read($0, zone: date.zone) { true } else { false }
            }.max { (ReferenceValue.compare($0, $1) ?? 0) < 0 }
        }
        let newest = values.compactMap { date.encoding.read($0, zone: date.zone).start }.max()
        return newest.map { date.encoding.value(of: $0, zone: date.zone) }
    }

    // MARK: Predicates

    private func isTrue(_ predicate: StorePredicate, _ row: ReferenceStore.Row, _ table: ReferenceStore.Table) -> Bool {
        truth(predicate, row, table) == true
    }

    /// True, false, or nil for unknown. Only what a `where` can say.
    func truth(_ predicate: StorePredicate, _ row: ReferenceStore.Row, _ table: ReferenceStore.Table) -> Bool? {
        func order(_ name: String, _ value: StoreValue) -> Int? {
            ReferenceValue.compare(
                row[name], ReferenceValue.converted(value, table.affinity(name)), table.collation(name))
        }
        switch predicate {
        case .all: return true
        case .compare(let name, let comparison, let value):
            return order(name, value).map { order in
                switch comparison {
                case .equal: order == 0
                case .notEqual: order != 0
                case .less: order < 0
                case .lessOrEqual: order <= 0
                case .greater: order > 0
                case .greaterOrEqual: order >= 0
                }
            }
        case .isIn(let name, let values):
            if row[name].isNull { return nil }
            if values.contains(where: { order(name, $0) == 0 }) { return true }
            return values.contains(.null) ? nil : false
        case .between(let name, let low, let high):
            return order(name, low).flatMap { isLow in order(name, high).map { isLow >= 0 && $0 <= 0 } }
        case .isNull(let name): return row[name].isNull
        case .isNotNull(let name): return !row[name].isNull
        case .and(let parts):
            let truths = parts.map { truth($0, row, table) }
            return truths.contains(false) ? false : truths.contains(nil) ? nil : true
        case .or(let parts):
            let truths = parts.map { truth($0, row, table) }
            return truths.contains(true) ? true : truths.contains(nil) ? nil : false
        case .notTrue(let part): return truth(part, row, table) != true
        case .not(let part): return truth(part, row, table).map { !$0 }
        case .date(let range):
            let isFrom = range.from.map { !truth(of: range.date, row, $0, isBefore: true) } ?? true
            return range.before.map { isFrom && truth(of: range.date, row, $0, isBefore: true) }
        case .dateCompare(let date, .greaterOrEqual, let instant): return truth(of: date, row, instant, isBefore: false)
        // The generator makes none of these.
        case .spares, .key, .begins, .contains, .dateCompare, .declaredDate,
            .objectIDs:
            return nil
        }
    }
}
