import PriceStore
package import RetentionJob
import RetentionPolicy

/// What a run remembers of earlier ones.
extension LedgerHistory {
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
            restorations: try restorations(names(of: store), of: store, before: number))
        let isOpen = [LedgerRun.Outcome.crashed, .running].map { StoreValue.text($0.rawValue) }
        memory.crashedAsOf = rows.filter {
            isOpen.contains($0[5]) && $0[4] != .text(RunReport.Mode.undo.rawValue)
        }.compactMap { Self.instant($0[3]) }.max()
        memory.deletedBefore = try deletedBefore(runs: rows.prefix(100).map { $0[0] })
        var records = index?.records ?? RecordedRules()
        defer { index?.records = records }
        for line in try carriedOut(ofStore) {
            if let rule = RunMemory.CarriedOut(line: line, &records) {
                memory.rules.append(rule)
            } else {
                memory.damagedRules.append(line)
            }
        }
        let isNew = memory == RunMemory()
        if let index, memory.rules.isEmpty, memory.damagedRules.isEmpty {
            let first = try firstOfCommand(in: index, store)
            memory.rulesOfOthers = try index.rulesOfOthers[first] ?? rulesOfOthers(before: first, index, &records)
            index.rulesOfOthers[first] = memory.rulesOfOthers
        }
        if isNew, let index {
            // The other stores of the pattern say nothing about a new one, unless it may be one of them.
            (memory.otherStore, memory.isOtherGone) = (index.goneStore, index.goneStore != nil)
        } else if isNew {
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

    /// What undos of a store have restored, newest first, and what undos of other files have: the store may be one of them with a new name.
    ///
    /// - Parameters:
    ///   - names: the names of the store.
    ///   - store: its real path or address.
    ///   - number: the current run; nil: all runs are earlier.
    private func restorations(
        _ names: StoreNames, of store: String, before number: Int?
    ) throws -> [RunMemory.Restored] {
        let undos = try undos()
        return undos.all.filter { $0.run.number < number ?? .max }.compactMap { undo in
            let isOwn = names.include(undo.run) || mayBePlace(undo.run, of: store)
            guard isOwn || names.relative != nil && undo.run.report.store.hasPrefix("/") else { return nil }
            var restored = undo.restored
            let accepted = undos.accepted(after: undo) { names.include($0) }
            restored.accepted = accepted.flatMap(\.rules)
            let there = accepted.filter { isOwn || $0.inode != nil && $0.inode == undo.inode }
            restored.acceptedThere = Set(there.flatMap(\.rules).map(\.rule.name))
            restored.waiting = there.compactMap(\.had).reduce(restored.rules) { $0.intersection($1) }
                .subtracting(restored.acceptedThere)
            if isOwn { return restored }
            restored.store = undo.run.report.store
            return restored
        }
    }

    /// The undos of the ledger that have restored rows, and the runs that were allowed to delete them again.
    struct Undos {
        /// A run that has restored rows, and the number of its store's file; nil: it is none.
        typealias Undo = (run: LedgerRun, restored: RunMemory.Restored, inode: Int64?)
        /// A run that completed rules although an undo had restored rows of them, and the names of all rules of its policy; nil: it was a run
        /// of some rules.
        typealias Acceptance = (run: LedgerRun, rules: [RecordedRule], had: Set<String>?, inode: Int64?)

        var all: [Undo] = []
        fileprivate var accepted: [Acceptance] = []

        /// The later runs that were allowed to delete restored rows again. A run that was stopped accepts nothing for the next one.
        ///
        /// - Parameter isOfStore: whether a run is one of the store that is asked for; those of the store that was undone count too.
        fileprivate func accepted(
            after undo: Undo, _ isOfStore: (LedgerRun) -> Bool = { _ in false }
        ) -> [Acceptance] {
            accepted.filter { run, _, _, _ in
                run.number > undo.run.number
                    && (isOfStore(run) || run.report.store == undo.run.report.store
                        || run.relativeStore != nil && run.relativeStore == undo.run.relativeStore)
            }
        }
    }

    /// The undos, newest first. Of many stores, each asks for them: they are read once.
    private func undos() throws -> Undos {
        guard let index else { return try readUndos(Self.isUndo) }
        if let known = index.undosRead, known.count == index.undos.count { return known.undos }
        let found =
            index.undos.isEmpty ? Undos() : try readUndos(.isIn("number", index.undos.map { .integer($0) }))
        index.undosRead = (index.undos.count, found)
        return found
    }

    private func readUndos(_ isUndo: StorePredicate) throws -> Undos {
        var found = Undos()
        guard try reader.entity(named: LedgerRow.runEntityName)?.attribute(named: "undoes") != nil else { return found }
        found.all = try rows(
            LedgerRow.runEntity, where: isUndo, order: [StoreSortDescriptor("number", ascending: false)], limit: 1000
        ).compactMap { row in
            try restored(row).map { (LedgerRow.run(row), $0, row[LedgerRow.storeInode]?.number) }
        }
        guard let first = found.all.last?.run.number else { return found }
        found.accepted = try runsThatAccepted(.restoredRows, after: Int64(first))
        return found
    }

    /// Whether the path that a run has recorded leads to a store now, or to no file any more: then any store may have been moved from there.
    private func mayBePlace(_ run: LedgerRun, of store: String) -> Bool {
        let path = run.report.store
        guard path.hasPrefix("/"), store.hasPrefix("/") else { return false }
        if let place = FilePlace.realPath(path) { return place == store }
        return fromLedger(run).flatMap(FilePlace.realPath) == nil
    }

    /// The path of a run's store from the folder of the ledger, where it is if both were moved together; nil: it is no file.
    private func fromLedger(_ run: LedgerRun) -> String? {
        run.relativeStore.map { FilePlace(reader.name, followsLink: true).folder + "/" + $0 }
    }

    /// What an undo has restored, without what has been accepted since; nil: nothing. An undo that has not ended may have restored rows.
    private func restored(_ row: [String: StoreValue]) throws -> RunMemory.Restored? {
        let undo = LedgerRow.run(row)
        guard let figures = undo.report.undo else { return nil }
        let isEnded = undo.outcome != .running && undo.outcome != .crashed
        // Rows that were already present may have come from a backup.
        guard !isEnded || figures.done.restoredCount + figures.done.presentCount + figures.done.referenceCount > 0
        else { return nil }
        let undone = try rows(
            LedgerRow.runEntity, where: .compare("run", .equal, .text(figures.run)), order: [], limit: 1
        ).first.map(LedgerRow.run)
        var restored = RunMemory.Restored(
            undo: undo.report.runID, run: figures.run, ended: undo.report.finished, asOf: undone?.report.asOf,
            rules: Set(figures.rules), tables: Set(row.lines("undo_tables")))
        restored.rowCounts = [String: Int](LedgerRow.undoRows, of: row)
        restored.foundAll = isEnded && figures.done.restoredCount + figures.done.referenceCount == 0
        if let number = undone?.number {
            let rules = try rows(
                LedgerRow.ruleEntity, where: .compare("run_number", .equal, .integer(Int64(number))), order: [],
                limit: nil
            ).map(LedgerRow.rule)
            restored.cutoffs = Dictionary(rules.map { ($0.entity.folded, $0.cutoff) }, uniquingKeysWith: max)
            restored.owners = Dictionary(grouping: rules, by: \.entity.folded).mapValues { Set($0.map(\.name)) }
        }
        let inodes = [undo.report.store, fromLedger(undo)].compactMap { $0.flatMap { FilePlace($0).inode } }
        restored.isInPlace = row[LedgerRow.storeInode]?.number.map(inodes.contains) == true
        return restored
    }

    /// The later runs that completed rules despite a refusal, with these rules.
    private func runsThatAccepted(
        _ code: RefusalCode, after number: Int64
    ) throws -> [Undos.Acceptance] {
        let accepted = try namesOfRules(where: .compare("run_number", .greater, .integer(number)), despite: code)
        guard !accepted.isEmpty else { return [] }
        let numbers = accepted.keys.sorted().map { StoreValue.integer($0) }
        let all = try namesOfRules(where: .isIn("run_number", numbers))
        var records = RecordedRules()
        return try rows(LedgerRow.runEntity, where: .isIn("number", numbers), order: [], limit: nil).map { row in
            let run = LedgerRow.run(row)
            let number = Int64(run.number)
            let rules = row.lines("rules").compactMap { RunMemory.CarriedOut(line: $0, &records)?.record }
            return (
                run, rules.filter { accepted[number]?.contains($0.rule.name) == true },
                run.report.onlyRules.isEmpty ? all[number] : nil, row[LedgerRow.storeInode]?.number
            )
        }
    }

    /// The names of rules in the records of runs, by the run's number: all, or those that were carried out despite a refusal.
    private func namesOfRules(
        where predicate: StorePredicate, despite accepted: RefusalCode? = nil
    ) throws -> [Int64: Set<String>] {
        let isCompleted =
            StorePredicate.compare("accepted", .notEqual, .text(""))
            && .compare("outcome", .equal, .text(RunReport.Outcome.completed.rawValue))
        let found = try rows(
            LedgerRow.ruleEntity, where: accepted == nil ? predicate : predicate && isCompleted, order: [], limit: nil,
            attributes: ["run_number", "name", "accepted"]
        ).filter { row in accepted.map { [RefusalCode]("accepted", of: row)?.contains($0) == true } ?? true }
        return Dictionary(grouping: found) { $0["run_number"]?.number ?? 0 }
            .mapValues { Set($0.compactMap { $0["name"]?.string }) }
    }

    /// The number of the first run, up to a given one, that is needed by an undo which still protects rows: the undo itself, or the run
    /// that it undid. An undo protects rows until later runs have accepted their deletion by all rules whose rows it restored.
    ///
    /// - Returns: the number; nil: there is no such undo.
    func firstHolding(through number: Int64) throws -> Int64? {
        let undos = try undos()
        return try undos.all.compactMap { undo -> Int64? in
            let accepted = undos.accepted(after: undo)
            guard !undo.restored.rules.isSubset(of: accepted.flatMap(\.rules).map(\.rule.name)) else { return nil }
            return try reader.fetch(
                StoreFetchRequest(
                    entity: LedgerRow.runEntityName,
                    predicate: .isIn("run", [undo.restored.undo, undo.restored.run].map { .text($0) }),
                    sortDescriptors: [StoreSortDescriptor("number")], fetchLimit: 1), attributes: ["number"]
            ).first?.first?.number
        }.filter { $0 <= number }.min()
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

    /// The first run of the command that came upon a store first.
    private func firstOfCommand(in index: LedgerIndex, _ store: String) throws -> Int64 {
        guard let number = index.runs(of: names(of: store)).first, number < index.firstOfCommand else {
            return index.firstOfCommand
        }
        let run = try rows(
            LedgerRow.runEntity, where: .compare("number", .equal, .integer(number)), order: [], limit: 1,
            attributes: [LedgerRow.firstOfCommand])
        return run.first?[LedgerRow.firstOfCommand]?.number ?? number
    }

    /// The rules as the last runs of the stores before some run left them: of stores that are there, and of those that are gone and were
    /// refused since somebody last accepted a wider policy in a run of all stores, because a new one may be such a store with another name.
    private func rulesOfOthers(
        before number: Int64, _ index: LedgerIndex, _ records: inout RecordedRules
    ) throws -> [RunMemory.CarriedOut] {
        let stores = index.lastRuns(before: number)
        let runs = try rows(
            LedgerRow.runEntity, where: .isIn("number", stores.values.sorted().map { .integer($0) }), order: [],
            limit: nil, attributes: ["number", "store", "outcome", "rules"])
        let accepted = try namesOfRules(where: .compare("run_number", .less, .integer(number)), despite: .policyWidened)
        // What was accepted with --store is accepted for that store.
        let ofAll = try rows(
            LedgerRow.runEntity,
            where: .isIn("number", accepted.keys.sorted().map { .integer($0) }) && .isNotNull(LedgerRow.firstOfCommand),
            order: [], limit: nil, attributes: ["number"])
        let lastAccepted = ofAll.compactMap { $0["number"]?.number }.max() ?? 0
        var found: [String: RunMemory.CarriedOut] = [:]
        for run in runs {
            guard let store = run["store"]?.string, let last = stores[store] else { continue }
            let wasRefused = run["outcome"]?.string == RunReport.RunOutcome.refused.rawValue
            guard wasRefused && last > lastAccepted || FilePlace(store).facts != nil else { continue }
            let isEarlier = StorePredicate.compare("number", .lessOrEqual, .integer(last))
            let lines = run.lines("rules")
            for line in try lines.isEmpty ? carriedOut(self.runs(of: names(of: store)) && isEarlier) : lines {
                guard let rule = RunMemory.CarriedOut(line: line, &records) else { continue }
                let parts = [rule.policy, rule.state.rawValue, rule.record.canonical] + rule.holds.map(\.record)
                let key = parts.joined(separator: "\t")
                if let other = found[key], other.ended > rule.ended { continue }
                found[key] = rule
            }
        }
        return found.values.sorted { ($0.ended, $0.key[0]) < ($1.ended, $1.key[0]) }
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
}
