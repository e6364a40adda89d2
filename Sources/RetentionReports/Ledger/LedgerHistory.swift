package import PriceStore
package import RetentionJob

/// Past runs for reading.
package struct LedgerHistory {
    private let reader: any StoreReader

    /// Makes a history over the store of a ledger.
    package init(reader: any StoreReader) {
        self.reader = reader
    }

    /// Which runs to read; nil: no condition.
    package struct Query: Hashable, Sendable {
        /// At most this many, the newest.
        package var last: Int?
        /// Runs with this rule; other rules are left out.
        package var rule: String?
        /// Runs that started then or later.
        package var since: Instant?
        /// Runs with this outcome, or with a rule of this outcome.
        package var outcome: String?
        /// The run whose identifier begins so.
        package var run: String?

        package init(
            last: Int? = nil, rule: String? = nil, since: Instant? = nil, outcome: String? = nil, run: String? = nil
        ) {
            self.last = last
            self.rule = rule
            self.since = since
            self.outcome = outcome
            self.run = run
        }
    }

    /// The runs of a query, newest last; empty if the store contains no ledger.
    ///
    /// - Parameter isAtWork: whether a run is in progress on the store of that path. The newest run without an end is
    ///   then running; all others without an end have crashed.
    package func runs(_ query: Query = Query(), isAtWork: (String) -> Bool) throws -> [LedgerRun] {
        guard try reader.entity(named: LedgerRow.runEntityName) != nil else { return [] }
        var found: [LedgerRun] = []
        var lowest: Int64?
        var storesWithLaterRuns: Set<String> = []
        while true {
            let page = try page(before: lowest)
            guard let first = page.first, let last = page.last else { break }
            let rules = try rules(from: last.number, through: first.number)
            for var run in page {
                run.report.rules = rules[run.number] ?? []
                let isNewest = storesWithLaterRuns.insert(run.report.store).inserted
                if run.outcome == .running, !isNewest || !isAtWork(run.report.store) { run.outcome = .crashed }
                if let since = query.since, run.report.started < since { continue }
                guard let run = matching(run, query) else { continue }
                found.append(run)
                if found.count == query.last { return found.reversed() }
            }
            lowest = Int64(last.number)
        }
        return found.reversed()
    }

    /// What the guards need to know about the last thousand runs of a store; empty if the store contains no ledger.
    ///
    /// The order is the order of recording, not of the clock. A run with a refused clock is ignored: otherwise the
    /// refusal of one run would make the same clock acceptable to the next.
    ///
    /// - Parameters:
    ///   - store: the real path or the address of the store.
    ///   - number: the current run, which is not included.
    package func memory(store: String, before number: Int? = nil) throws -> RunMemory {
        guard try reader.entity(named: LedgerRow.runEntityName) != nil else { return RunMemory() }
        let isEarlier = number.map { Predicate.compare("number", .less, .integer(Int64($0))) } ?? .all
        let rows = try reader.fetch(
            FetchRequest(
                entity: LedgerRow.runEntityName,
                predicate: .compare("store", .equal, .text(store))
                    && .compare("clock_believed", .equal, .integer(1)) && isEarlier,
                sortDescriptors: [SortDescriptor("number", ascending: false)], fetchLimit: 1000),
            attributes: ["number", "started_us", "finished_us"])
        let ends: [Instant] = rows.compactMap { row in
            for case .integer(let microseconds) in row.dropFirst().reversed() {
                return Instant(microseconds: microseconds)
            }
            return nil
        }
        let gaps = zip(ends, ends.dropFirst()).map { $0.since($1) }
        return RunMemory(
            lastRun: ends.first, longestGap: gaps.max(), hasCrash: try hasCrash(store: store, isEarlier),
            deletedBefore: try deletedBefore(runs: rows.compactMap(\.first)))
    }

    /// What the last runs of each rule that deleted rows have left nothing before: their cutoff or, where they ended early,
    /// the oldest row that stayed.
    private func deletedBefore(runs: [StoreValue]) throws -> [[String]: Instant] {
        guard let first = runs.last else { return [:] }
        let rows = try rows(
            LedgerRow.ruleEntity,
            where: .compare("run_number", .greaterOrEqual, first) && .compare("deleted", .greater, .integer(0)),
            order: [SortDescriptor("run_number", ascending: false)], limit: 500,
            attributes: ["run_number", "name", "entity", "cutoff_us", "residue", "oldest_overdue_us"])
        let isOfStore = Set(runs)
        var found: [[String]: Instant?] = [:]
        for row in rows where row["run_number"].map(isOfStore.contains) == true {
            guard case .text(let name)? = row["name"], case .text(let entity)? = row["entity"],
                found[[name, entity]] == nil
            else { continue }
            let isDone = row["residue"] == .integer(0)
            if case .integer(let instant)? = row[isDone ? "cutoff_us" : "oldest_overdue_us"] {
                found[[name, entity]] = .some(Instant(microseconds: instant))
            } else {
                found[[name, entity]] = .some(nil)
            }
        }
        return found.compactMapValues { $0 }
    }

    /// Whether a run crashed and none since has got further than to fail.
    private func hasCrash(store: String, _ isEarlier: Predicate) throws -> Bool {
        let rows = try reader.fetch(
            FetchRequest(
                entity: LedgerRow.runEntityName,
                predicate: .compare("store", .equal, .text(store)) && isEarlier,
                sortDescriptors: [SortDescriptor("number", ascending: false)], fetchLimit: 1000),
            attributes: ["outcome"])
        let outcomes = rows.compactMap { row -> LedgerRun.Outcome? in
            guard case .text(let word)? = row.first else { return nil }
            return LedgerRun.Outcome(rawValue: word)
        }
        guard let last = outcomes.first(where: { $0 != .failed }) else { return false }
        return last == .crashed || last == .running
    }

    private func matching(_ run: LedgerRun, _ query: Query) -> LedgerRun? {
        var run = run
        if let prefix = query.run, !run.report.runID.uppercased().hasPrefix(prefix.uppercased()) { return nil }
        if let rule = query.rule {
            run.report.rules.removeAll { $0.name != rule }
            guard !run.report.rules.isEmpty else { return nil }
        }
        if let outcome = query.outcome, run.outcome.rawValue != outcome {
            guard run.report.rules.contains(where: { $0.outcome.rawValue == outcome }) else { return nil }
        }
        return run
    }

    /// The next runs, newest first.
    private func page(before number: Int64?) throws -> [LedgerRun] {
        try rows(
            LedgerRow.runEntity, where: number.map { .compare("number", .less, .integer($0)) } ?? .all,
            order: [SortDescriptor("number", ascending: false)], limit: 200
        ).map(LedgerRow.run)
    }

    /// The rules of a range of runs, by run.
    private func rules(from first: Int, through last: Int) throws -> [Int: [RunReport.RuleReport]] {
        let rows = try rows(
            LedgerRow.ruleEntity,
            where: .compare("run_number", .greaterOrEqual, .integer(Int64(first)))
                && .compare("run_number", .lessOrEqual, .integer(Int64(last))),
            order: [SortDescriptor("run_number"), SortDescriptor("position")], limit: nil)
        var rules: [Int: [RunReport.RuleReport]] = [:]
        for row in rows {
            guard case .integer(let number) = row["run_number"] else { continue }
            rules[Int(number), default: []].append(LedgerRow.rule(row))
        }
        return rules
    }

    /// - Parameter attributes: the wanted ones; nil: all.
    private func rows(
        _ entity: Entity, where predicate: Predicate, order: [SortDescriptor], limit: Int?, attributes: [String]? = nil
    ) throws -> [[String: StoreValue]] {
        // A ledger of an earlier version lacks attributes until the next run adds them.
        let present = try reader.entity(named: entity.name)
        let names = (attributes ?? entity.attributes.map(\.name)).filter { present?.attribute(named: $0) != nil }
        guard !names.isEmpty else { return [] }
        return try reader.fetch(
            FetchRequest(entity: entity.name, predicate: predicate, sortDescriptors: order, fetchLimit: limit),
            attributes: names
        ).map { Dictionary(zip(names, $0)) { first, _ in first } }
    }
}
