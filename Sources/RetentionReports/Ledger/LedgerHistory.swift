package import PriceStore
package import RetentionJob
package import RetentionPolicy

/// Reads past runs.
package struct LedgerHistory {
    let reader: any StoreReader
    private let links: [String]
    /// Which runs are of which store; nil: they are looked for.
    private let index: LedgerIndex?

    /// Makes a history over the store of a ledger.
    ///
    /// - Parameter links: the links by which a policy leads to the store whose runs are asked for.
    init(reader: any StoreReader, links: [String] = [], index: LedgerIndex? = nil) {
        (self.reader, self.links, self.index) = (reader, links, index)
    }

    /// The condition for the runs of a store.
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
        /// Runs with this rule. Their other rules are left out.
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
        var storesWithLaterRuns: Set<String> = []
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
                let isNewest = storesWithLaterRuns.insert(run.report.store).inserted
                if run.outcome == .running, !isNewest || !isAtWork(run.report.store) { run.outcome = .crashed }
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
    package struct Ends: Hashable, Sendable {
        /// When the last run ended; nil: none is recorded.
        package var last: Instant?
        /// Its exit code.
        package var exitCode: Int32?
        /// When the last run with exit code 0 ended.
        package var success: Instant?

        package init() {}
    }

    /// How the last runs of all rules of a store ended, of one policy or of all; see ``ExpectedRuns``.
    ///
    /// - Parameter store: the real path or the address of the store.
    package func ends(of policy: Policy? = nil, store: String) throws -> Ends {
        guard try reader.entity(named: LedgerRow.runEntityName) != nil else { return Ends() }
        let others = try policy.map { try otherPolicies(than: $0, store: store) } ?? []
        let ended =
            try runs(of: names(of: store)) && .isNotNull("finished_us") && .notTrue(Self.isUndo)
            && .notTrue(.isIn("config", others.map { .text($0) }))
        func last(_ runs: StorePredicate) throws -> (time: Instant?, code: Int64?)? {
            let newest = try rows(
                LedgerRow.runEntity, where: runs, order: [StoreSortDescriptor("number", ascending: false)],
                limit: Self.mostEnds, attributes: ["finished_us", "exit_code", "only_rules"])
            var expected = ExpectedRuns(policy)
            return newest.reversed().filter { expected.count($0.lines("only_rules")) }.last.map {
                ($0["finished_us"].flatMap(Self.instant), $0["exit_code"]?.number)
            }
        }
        var ends = Ends()
        if let run = try last(ended) { (ends.last, ends.exitCode) = (run.time, run.code.map { Int32(clamping: $0) }) }
        ends.success = try last(ended && .compare("exit_code", .equal, .integer(0)))?.time
        return ends
    }

    /// How many of the newest runs may be those of some rules.
    private static let mostEnds = 100

    /// The IDs of all runs of the ledger.
    package func identifiers() throws -> [String] {
        guard try reader.entity(named: LedgerRow.runEntityName) != nil else { return [] }
        return try reader.fetch(StoreFetchRequest(entity: LedgerRow.runEntityName), attributes: ["run"])
            .compactMap { $0.first?.string }
    }

    /// What the guards need to know about the last thousand runs of a store; empty if the store contains no ledger.
    ///
    /// The order is that of recording, not of the clock. A run with a refused clock is ignored. Otherwise the refusal of one run would make
    /// the same clock acceptable to the next.
    ///
    /// - Parameters:
    ///   - store: the real path or the address of the store.
    ///   - number: the current run, which is not included.
    package func memory(store: String, before number: Int? = nil) throws -> RunMemory {
        guard try reader.entity(named: LedgerRow.runEntityName) != nil else { return RunMemory() }
        let isEarlier = number.map { StorePredicate.compare("number", .less, .integer(Int64($0))) } ?? .all
        let ofStore = try runs(of: names(of: store)) && isEarlier
        let rows = try reader.fetch(
            StoreFetchRequest(
                entity: LedgerRow.runEntityName,
                predicate: ofStore && .compare("clock_believed", .equal, .integer(1)),
                sortDescriptors: [StoreSortDescriptor("number", ascending: false)], fetchLimit: 1000),
            attributes: ["number", "started_us", "finished_us", "as_of_us", "mode", "outcome"])
        let ends = rows.compactMap { Self.instant($0[2]) ?? Self.instant($0[1]) }
        let gaps = zip(ends, ends.dropFirst()).map { $0.since($1) }
        var memory = RunMemory(
            lastRun: ends.first, longestGap: gaps.max(), hasCrash: try hasCrash(ofStore),
            restorations: try restorations(names(of: store), of: store, isEarlier))
        let isOpen = [LedgerRun.Outcome.crashed, .running].map { StoreValue.text($0.rawValue) }
        memory.crashedAsOf = rows.filter {
            isOpen.contains($0[5]) && $0[4] != .text(RunReport.Mode.undo.rawValue)
        }.compactMap { Self.instant($0[3]) }.max()
        memory.deletedBefore = try deletedBefore(runs: rows.prefix(100).map { $0[0] })
        for line in try carriedOut(ofStore) {
            if let rule = RunMemory.CarriedOut(line: line) {
                memory.rules.append(rule)
            } else {
                memory.damagedRules.append(line)
            }
        }
        if memory == RunMemory(), let index {
            (memory.otherStore, memory.isOtherGone) = (index.goneStore ?? index.lastStore, index.goneStore != nil)
        } else if memory == RunMemory() {
            func number(_ value: StoreValue) -> Int64 { if case .integer(let number) = value { number } else { 0 } }
            let others = try reader.figures(
                [.max("number")],
                of: StoreFetchRequest(entity: LedgerRow.runEntityName, predicate: isEarlier), groupedBy: ["store"]
            ).sorted { number($0[1]) > number($1[1]) }.compactMap { $0[0].string }.filter { $0 != store }
            // A ledger of many stores knows others too: one that is gone may have been moved.
            let gone = others.first { $0.hasPrefix("/") && FilePlace($0).facts == nil }
            (memory.otherStore, memory.isOtherGone) = (gone ?? others.first, gone != nil)
        }
        return memory
    }

    /// Whether a run is one of a store.
    ///
    /// - Parameter store: the real path or the address of the store.
    package func isRun(_ run: LedgerRun, of store: String) -> Bool {
        names(of: store).include(run) || FilePlace.realPath(run.report.store) == store
    }

    /// Whether the ledger has runs of a store.
    ///
    /// - Parameter store: the real path or the address of the store.
    package func knows(_ store: String) throws -> Bool {
        guard try reader.entity(named: LedgerRow.runEntityName) != nil else { return false }
        return try reader.count(
            StoreFetchRequest(
                entity: LedgerRow.runEntityName, predicate: try runs(of: names(of: store)))) > 0
    }

    func names(of store: String) -> StoreNames { StoreNames(store, links: links, in: reader) }

    private static let isUndo = StorePredicate.compare("mode", .equal, .text(RunReport.Mode.undo.rawValue))

    /// What undos of a store have restored, newest first.
    ///
    /// - Parameters:
    ///   - names: the names of the store.
    ///   - store: its real path or address.
    private func restorations(
        _ names: StoreNames, of store: String, _ isEarlier: StorePredicate = .all
    ) throws -> [RunMemory.Restored] {
        guard try reader.entity(named: LedgerRow.runEntityName)?.attribute(named: "undoes") != nil else { return [] }
        // A run has many attributes, so they are read only if there is an undo.
        let isUndo = index.map { StorePredicate.isIn("number", $0.undos.map { .integer($0) }) } ?? Self.isUndo
        let places =
            try index?.undos.isEmpty == true
            ? []
            : rows(
                LedgerRow.runEntity, where: isEarlier && isUndo, order: [], limit: nil,
                attributes: ["number", "store", LedgerRow.storeRelative])
        guard !places.isEmpty else { return [] }
        let leading = Set(
            try places.filter { try mayBePlace($0, of: store) || isNew(names, since: $0) }.compactMap { $0["store"] }
        ).sorted { ($0.string ?? "") < ($1.string ?? "") }
        let ofStore = try (names.predicate(in: reader) || .isIn("store", leading)) && isEarlier
        return try rows(
            LedgerRow.runEntity, where: ofStore && Self.isUndo,
            order: [StoreSortDescriptor("number", ascending: false)], limit: 1000
        ).compactMap { row in
            var restored = try restored(row, ofStore)
            if !names.include(LedgerRow.run(row)), !mayBePlace(row, of: store) {
                restored?.store = row["store"]?.string
            }
            return restored
        }
    }

    /// Whether a file has no run before an undo of another one: it may be that file with a new name, or a copy of it.
    private func isNew(_ names: StoreNames, since undo: [String: StoreValue]) throws -> Bool {
        guard names.relative != nil, undo["store"]?.string?.hasPrefix("/") == true, let number = undo["number"]?.number
        else { return false }
        return try reader.count(
            StoreFetchRequest(
                entity: LedgerRow.runEntityName,
                predicate: try runs(of: names) && .compare("number", .less, .integer(number)))) == 0
    }

    /// Whether the path that a run has recorded leads to a store now, or to no file any more: then any store may have been moved from there.
    private func mayBePlace(_ row: [String: StoreValue], of store: String) -> Bool {
        guard let path = row["store"]?.string, path.hasPrefix("/"), store.hasPrefix("/") else { return false }
        if let place = FilePlace.realPath(path) { return place == store }
        // A store that was moved with the ledger is where it was from there.
        let folder = FilePlace(reader.name, followsLink: true).folder
        return row[LedgerRow.storeRelative]?.string.flatMap { FilePlace.realPath(folder + "/" + $0) } == nil
    }

    /// What an undo has restored; nil: nothing. An undo that has not ended may have restored rows.
    ///
    /// - Parameter ofStore: the runs of its store.
    private func restored(_ row: [String: StoreValue], _ ofStore: StorePredicate) throws -> RunMemory.Restored? {
        let undo = LedgerRow.run(row)
        guard let figures = undo.report.undo else { return nil }
        let isEnded = undo.outcome != .running && undo.outcome != .crashed
        // Rows that were already present may have come from a backup.
        guard !isEnded || figures.done.restoredCount + figures.done.presentCount + figures.done.referenceCount > 0
        else { return nil }
        let undone = try rows(
            LedgerRow.runEntity, where: .compare("run", .equal, .text(figures.run)), order: [], limit: 1
        ).first.map(LedgerRow.run)
        let entities = try undone.map {
            try rows(
                LedgerRow.ruleEntity, where: .compare("run_number", .equal, .integer(Int64($0.number))), order: [],
                limit: nil, attributes: ["entity"])
        }
        return RunMemory.Restored(
            undo: undo.report.runID, run: figures.run, ended: undo.report.finished, asOf: undone?.report.asOf,
            rules: Set(figures.rules), tables: Set(row.lines("undo_tables")),
            entities: Set((entities ?? []).compactMap { $0["entity"]?.string }),
            accepted: try rulesThatAccepted(.restoredRows, after: Int64(undo.number), ofStore))
    }

    /// The rules that a later run of the store completed despite a refusal. A run that was stopped accepts nothing for the next one.
    private func rulesThatAccepted(
        _ code: RefusalCode, after number: Int64, _ ofStore: StorePredicate
    ) throws -> [RecordedRule] {
        let later = try rows(
            LedgerRow.ruleEntity, where: .compare("run_number", .greater, .integer(number)), order: [], limit: nil)
        let accepted = later.filter { row in
            let rule = LedgerRow.rule(row)
            return rule.accepted.contains(code) && rule.outcome == .completed
        }
        guard !accepted.isEmpty else { return [] }
        let numbers = Set(accepted.compactMap { $0["run_number"]?.number })
        let runs = try rows(
            LedgerRow.runEntity, where: ofStore && .isIn("number", numbers.map { .integer($0) }), order: [], limit: nil)
        return runs.flatMap { run in
            let names = accepted.filter { $0["run_number"]?.number == run["number"]?.number }.map {
                LedgerRow.rule($0).name
            }
            return run.lines("rules").compactMap(RunMemory.CarriedOut.init(line:)).map(\.record)
                .filter { names.contains($0.rule.name) }
        }
    }

    /// The number of the first run, up to a given one, that is needed by an undo which still protects rows: the undo itself, or the run
    /// that it undid. An undo protects rows until later runs have accepted their deletion by all rules whose rows it restored.
    ///
    /// - Returns: the number; nil: there is no such undo.
    func firstHolding(through number: Int64) throws -> Int64? {
        guard try reader.entity(named: LedgerRow.runEntityName)?.attribute(named: "undoes") != nil else { return nil }
        var first: Int64?
        for row in try rows(LedgerRow.runEntity, where: Self.isUndo, order: [], limit: nil) {
            let ofStore = try row["store"]?.string.map {
                try StoreNames($0, links: [], in: reader).predicate(in: reader)
            }
            guard let restored = try restored(row, ofStore ?? .all),
                !restored.rules.isSubset(of: restored.accepted.map(\.rule.name)),
                let lowest = try reader.fetch(
                    StoreFetchRequest(
                        entity: LedgerRow.runEntityName,
                        predicate: .isIn("run", [restored.undo, restored.run].map { .text($0) }),
                        sortDescriptors: [StoreSortDescriptor("number")], fetchLimit: 1), attributes: ["number"]
                ).first?.first?.number, lowest <= number
            else { continue }
            first = min(first ?? lowest, lowest)
        }
        return first
    }

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
        guard try reader.entity(named: LedgerRow.runEntityName)?.attribute(named: "plan_sha256") != nil else {
            return nil
        }
        return try rows(
            LedgerRow.runEntity, where: .compare("plan_sha256", .equal, .text(sha256)), order: [], limit: 1,
            attributes: ["run"]
        ).first.map(LedgerRow.run)?.report.runID
    }

    private static func instant(_ value: StoreValue) -> Instant? {
        value.number.map { Instant(microseconds: $0) }
    }

    /// The latest cutoff of some runs that deleted rows of an entity, by ``RunMemory/deletedKey(_:)``.
    private func deletedBefore(runs: [StoreValue]) throws -> [String: Instant] {
        guard try reader.entity(named: LedgerRow.ruleEntityName) != nil, !runs.isEmpty else { return [:] }
        let found = try reader.fetch(
            StoreFetchRequest(
                entity: LedgerRow.ruleEntityName,
                predicate: .isIn("run_number", runs) && .compare("deleted", .greater, .integer(0))),
            attributes: ["entity", "cutoff_us"])
        return found.reduce(into: [:]) { latest, row in
            guard case .text(let entity) = row[0], let cutoff = Self.instant(row[1]) else { return }
            let key = RunMemory.deletedKey(entity)
            latest[key] = max(latest[key] ?? cutoff, cutoff)
        }
    }

    /// The lines of the rules that runs of a store last carried out.
    private func carriedOut(_ ofStore: StorePredicate) throws -> [String] {
        guard try reader.entity(named: LedgerRow.runEntityName)?.attribute(named: "rules") != nil else {
            return []
        }
        let last = try rows(
            LedgerRow.runEntity,
            where: ofStore && .isNotNull("rules"),
            order: [StoreSortDescriptor("number", ascending: false)], limit: 1, attributes: ["rules"])
        guard let row = last.first, let value = row["rules"] else { return [] }
        let lines = row.lines("rules")
        return lines.isEmpty && value != .null ? ["damaged"] : lines
    }

    /// Whether a run crashed and every later one failed.
    private func hasCrash(_ ofStore: StorePredicate) throws -> Bool {
        let rows = try reader.fetch(
            StoreFetchRequest(
                entity: LedgerRow.runEntityName,
                predicate: ofStore,
                sortDescriptors: [StoreSortDescriptor("number", ascending: false)], fetchLimit: 1000),
            attributes: ["outcome", "mode"])
        let outcomes = rows.compactMap { row -> LedgerRun.Outcome? in
            guard case .text(let word)? = row.first, let outcome = LedgerRun.Outcome(rawValue: word) else { return nil }
            // An undo checks only the tables of its archive.
            let isUndo = row.last == .text(RunReport.Mode.undo.rawValue)
            return isUndo && outcome != .crashed && outcome != .running ? nil : outcome
        }
        guard let last = outcomes.first(where: { $0 != .failed }) else { return false }
        return last == .crashed || last == .running
    }

    private func matching(_ run: LedgerRun, _ query: Query) -> LedgerRun? {
        var run = run
        if let prefix = query.run, !run.report.runID.uppercased().hasPrefix(prefix.uppercased()) { return nil }
        if let rule = query.rule {
            run.report.rules.removeAll { $0.name != rule && $0.family != rule }
            guard !run.report.rules.isEmpty else { return nil }
        }
        if let outcome = query.outcome, run.outcome.rawValue != outcome {
            guard run.report.rules.contains(where: { $0.outcome.rawValue == outcome }) else { return nil }
        }
        return run
    }

    /// The next runs, newest first.
    private func page(before number: Int64?, _ runs: StorePredicate) throws -> [LedgerRun] {
        try rows(
            LedgerRow.runEntity, where: runs && (number.map { .compare("number", .less, .integer($0)) } ?? .all),
            order: [StoreSortDescriptor("number", ascending: false)], limit: 200
        ).map(LedgerRow.run)
    }

    /// The rules of some runs, by run.
    private func rules(of runs: [LedgerRun]) throws -> [Int: [RunReport.RuleReport]] {
        let rows = try rows(
            LedgerRow.ruleEntity, where: .isIn("run_number", runs.map { .integer(Int64($0.number)) }),
            order: [StoreSortDescriptor("run_number"), StoreSortDescriptor("position")], limit: nil)
        var rules: [Int: [RunReport.RuleReport]] = [:]
        for row in rows {
            guard case .integer(let number) = row["run_number"] else { continue }
            rules[Int(number), default: []].append(LedgerRow.rule(row))
        }
        return rules
    }

    /// - Parameter attributes: the attributes to read; nil: all.
    func rows(
        _ entity: Entity, where predicate: StorePredicate, order: [StoreSortDescriptor], limit: Int?,
        attributes: [String]? = nil
    ) throws -> [[String: StoreValue]] {
        // A ledger of an earlier version lacks attributes until the next run adds them.
        let present = try reader.entity(named: entity.name)
        let names = (attributes ?? entity.attributes.map(\.name)).filter { present?.attribute(named: $0) != nil }
        guard !names.isEmpty else { return [] }
        return try reader.fetch(
            StoreFetchRequest(entity: entity.name, predicate: predicate, sortDescriptors: order, fetchLimit: limit),
            attributes: names
        ).map { Dictionary(zip(names, $0)) { first, _ in first } }
    }
}

extension LedgerRun {
    /// The names by which the ledger knows the store of the run; see ``StoreNames``.
    fileprivate var storeKeys: [String] {
        [report.store] + [relativeStore, FilePlace.realPath(report.store)].compactMap(\.self)
    }
}
