package import PriceStore
package import RetentionJob
package import RetentionPolicy

/// Reads past runs. A store is named by its real path or its address.
package struct LedgerHistory {
    let reader: any StoreReader
    private let links: [String]
    /// Which runs are of which store; nil: they are looked for.
    let index: LedgerIndex?

    /// Makes a history over the store of a ledger.
    ///
    /// - Parameter links: the links by which a policy leads to the store whose runs are asked for.
    init(reader: any StoreReader, links: [String] = [], index: LedgerIndex? = nil) {
        (self.reader, self.links, self.index) = (reader, links, index)
    }

    func runs(of names: StoreNames) throws -> StorePredicate {
        guard let index else { return try names.predicate(in: reader) }
        try index.update(from: reader)
        return names.predicate(in: index)
    }

    /// The number of the last run of a store; 0: none is recorded.
    package func lastRun(of store: String) throws -> Int64 {
        try index?.update(from: reader)
        return index?.last(of: names(of: store)) ?? 0
    }

    /// The runs to read. Nil sets no condition.
    package struct Query: Hashable, Sendable {
        /// The maximum number of runs, the newest ones.
        package var last: Int?
        /// Runs with this rule, without their other rules. One that ended before its rules are known had all that it did not leave out.
        package var rule: String?
        /// Runs that started at this instant or later.
        package var since: Instant?
        /// Runs with this outcome, or with a rule of this outcome.
        package var outcome: String?
        /// The run whose ID begins with this text.
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
    /// - Parameters:
    ///   - store: of many stores, the one whose runs are read; nil: those of all.
    ///   - isAtWork: whether a run is in progress on the store of a path. If so, the newest run without an end is running; all others
    ///     without an end have crashed.
    package func runs(
        _ query: Query = Query(), of store: String? = nil, isAtWork: (String) -> Bool
    ) throws -> [LedgerRun] {
        guard try reader.entity(named: LedgerRow.runEntityName) != nil else { return [] }
        let ofStore = try index == nil ? .all : store.map { try runs(of: names(of: $0)) } ?? .all
        var found: [LedgerRun] = []
        var lowest: Int64?
        var storesWithOpenRuns: Set<String> = []
        // Undos are read before the runs that they undid.
        var undos: [String: LedgerRun.UndoneBy] = [:]
        // The last run that was allowed to delete restored rows again, by store and rule.
        var deletedAgain: [[String]: String] = [:]
        while true {
            let page = try page(before: lowest, ofStore)
            guard let last = page.last else { break }
            let rules = try rules(of: page)
            for var run in page {
                run.report.rules = rules[run.number] ?? []
                if run.outcome == .running,
                    !storesWithOpenRuns.insert(run.report.store).inserted || !isAtWork(run.report.store)
                {
                    run.outcome = .crashed
                }
                run.undoneBy = undos[run.report.runID]
                run.undoneBy?.findLeft(in: run.report.rules)
                if let undo = run.report.undo {
                    let again = undo.rules.compactMap { rule in
                        run.storeKeys.lazy.compactMap { deletedAgain[[$0, rule]] }.first
                    }.first
                    undos[undo.run, default: LedgerRun.UndoneBy()].note(undo, by: run, deletedAgainBy: again)
                }
                for rule in run.report.rules where rule.accepted.contains(.restoredRows) && rule.done.deleted > 0 {
                    for key in run.storeKeys.map({ [$0, rule.name] }) {
                        deletedAgain[key] = deletedAgain[key] ?? run.report.runID
                    }
                }
                if let since = query.since, run.report.started < since { continue }
                guard let run = matching(run, query) else { continue }
                found.append(run)
                if found.count == query.last { return found.reversed() }
            }
            lowest = Int64(last.number)
        }
        return found.reversed()
    }

    /// How the last runs of a store ended.
    package struct Ends: Sendable {
        /// When the last run ended; nil: none is recorded.
        package var last: Instant?
        /// Its exit code and its outcome: of runs of some rules that count as one, the worst with which one of the rules was left.
        package var exitCode: Int32?
        package var outcome: LedgerRun.Outcome?
        /// When the last run with exit code 0 ended.
        package var success: Instant?
        /// The last results of the rules that a run of some rules leaves out.
        package var leftOut: [RunReport.RuleReport] = []

        package init() {}
    }

    /// How the last runs of all rules of a store ended, of one policy or of all; see ``ExpectedRuns``.
    ///
    /// - Parameter onlyRules: the rules of a run whose other rules are asked for; empty: all.
    package func ends(of policy: Policy? = nil, store: String, besides onlyRules: [String] = []) throws -> Ends {
        guard try reader.entity(named: LedgerRow.runEntityName) != nil else { return Ends() }
        let others = try policy.map { try otherPolicies(than: $0, store: store) } ?? []
        let ended =
            try runs(of: names(of: store)) && .isNotNull("finished_us") && .notTrue(Self.isUndo)
            && .notTrue(.isIn("config", others.map { .text($0) }))
        typealias End = (time: Instant?, code: Int32?, outcome: LedgerRun.Outcome?)
        func last(_ runs: StorePredicate) throws -> End? {
            let newest = try reader.newestRuns(
                where: runs, limit: Self.mostEnds, attributes: ["finished_us", "exit_code", "only_rules", "outcome"])
            var expected = ExpectedRuns(policy)
            var ofRules: [String: End] = [:]
            var found: End?
            for row in newest.reversed() {
                let only = [String]("only_rules", of: row) ?? []
                let end: End = (
                    row["finished_us"].flatMap(Self.instant), row["exit_code"]?.number.map { Int32(clamping: $0) },
                    row["outcome"]?.string.flatMap(LedgerRun.Outcome.init)
                )
                for rule in only { ofRules[rule] = end }
                guard expected.count(only) else { continue }
                found = only.isEmpty ? end : ofRules.values.max(by: { $0.code ?? 0 < $1.code ?? 0 })
                found?.time = end.time
                ofRules = [:]
            }
            return found
        }
        var ends = Ends()
        if let run = try last(ended) { (ends.last, ends.exitCode, ends.outcome) = run }
        ends.success = try last(ended && .compare("exit_code", .equal, .integer(0)))?.time
        if let policy, !onlyRules.isEmpty { ends.leftOut = try lastResults(of: policy, ended, besides: onlyRules) }
        return ends
    }

    /// The last results of the rules of a policy, without some: those of the last run of all rules, and of runs of some rules after it.
    private func lastResults(
        of policy: Policy, _ runs: StorePredicate, besides onlyRules: [String]
    ) throws -> [RunReport.RuleReport] {
        let names = Set(policy.rules.filter(\.isEnabled).map { $0.family?.name ?? $0.name })
        let page = try page(before: nil, runs)
        let results = try rules(of: page)
        var (found, seen): ([RunReport.RuleReport], Set<String>) = ([], [])
        for run in page {
            guard let rules = results[run.number] else { continue }
            found += rules.filter { rule in
                names.contains(rule.family ?? rule.name)
                    && onlyRules.allSatisfy { $0 != rule.name && $0 != rule.family }
                    && seen.insert(rule.name).inserted
            }
            if run.report.onlyRules.isEmpty { break }
        }
        return found
    }

    /// How many of the newest runs may be those of some rules.
    private static let mostEnds = 100

    /// The IDs of all runs of the ledger.
    package func identifiers() throws -> [String] {
        try reader.rows(of: LedgerRow.runEntityName, attributes: ["run"]).compactMap { $0["run"]?.string }
    }

    /// Whether a run is one of a store.
    package func isRun(_ run: LedgerRun, of store: String) -> Bool {
        names(of: store).include(run) || FilePlace.realPath(run.report.store) == store
    }

    /// Whether the ledger has runs of a store.
    package func knows(_ store: String) throws -> Bool {
        guard try reader.entity(named: LedgerRow.runEntityName) != nil else { return false }
        return try reader.count(
            StoreFetchRequest(
                entity: LedgerRow.runEntityName, predicate: try runs(of: names(of: store)))) > 0
    }

    func names(of store: String) -> StoreNames { StoreNames(store, links: links, in: reader) }

    static let isUndo = StorePredicate.compare("mode", .equal, .text(RunReport.Mode.undo.rawValue))

    /// The newest hash of the chain; nil: the ledger has none.
    package func chainHead() throws -> String? {
        try LedgerChain.newest(in: reader)?["hash"]?.string
    }

    /// Whether a run has this hash, or the chain begins after it. If so, every later record is still there.
    package func hasRun(hash: String) throws -> Bool {
        guard try chainHead() != nil else { return false }
        return try reader.count(
            StoreFetchRequest(
                entity: LedgerRow.runEntityName,
                predicate: .compare("hash", .equal, .text(hash)) || .compare("previous_hash", .equal, .text(hash)))) > 0
    }

    /// The run that carried out a plan; nil: none did.
    package func run(ofPlan sha256: String) throws -> String? {
        guard try reader.runsHave("plan_sha256") else { return nil }
        return try reader.rows(
            of: LedgerRow.runEntityName, where: .compare("plan_sha256", .equal, .text(sha256)), limit: 1,
            attributes: ["run"]
        ).first?["run"]?.string
    }

    static func instant(_ value: StoreValue) -> Instant? {
        value.number.map { Instant(microseconds: $0) }
    }

    private func matching(_ run: LedgerRun, _ query: Query) -> LedgerRun? {
        var run = run
        if let prefix = query.run, !run.report.runID.uppercased().hasPrefix(prefix.uppercased()) { return nil }
        if let rule = query.rule {
            let only = run.report.onlyRules
            let isUnknown = run.report.rules.isEmpty && run.outcome != .completed && run.report.undo == nil
            run.report.rules.removeAll { $0.name != rule && $0.family != rule }
            guard !run.report.rules.isEmpty || isUnknown && (only.isEmpty || only.contains(rule)) else { return nil }
        }
        if let outcome = query.outcome, run.outcome.rawValue != outcome {
            guard run.report.rules.contains(where: { $0.outcome.rawValue == outcome }) else { return nil }
        }
        return run
    }

    /// The next runs, newest first.
    private func page(before number: Int64?, _ runs: StorePredicate) throws -> [LedgerRun] {
        try reader.newestRuns(
            where: runs && (number.map { .compare("number", .less, .integer($0)) } ?? .all), limit: 200
        ).map(LedgerRow.run)
    }

    func rules(of runs: [LedgerRun]) throws -> [Int: [RunReport.RuleReport]] {
        let rows = try LedgerChain.rules(ofRuns: runs.map { Int64($0.number) }, in: reader)
        return Dictionary(firstOf: rows.map { (Int($0), $1.map(LedgerRow.rule)) })
    }
}

extension LedgerRun {
    /// The names by which the ledger knows the store of the run; see ``StoreNames``.
    fileprivate var storeKeys: [String] {
        [report.store] + [relativeStore, FilePlace.realPath(report.store)].compactMap(\.self)
    }
}
