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
    /// - Parameter archived: the newest run of a store whose archive is where the policy has it; asked if no run of the store is known.
    package func memory(
        store: String, before number: Int? = nil, archived: (String) -> String? = { _ in nil }
    ) throws -> RunMemory {
        guard try reader.entity(named: LedgerRow.runEntityName) != nil else {
            return RunMemory(unknownArchive: archived(store))
        }
        let isEarlier = number.map { StorePredicate.compare("number", .less, .integer(Int64($0))) } ?? .all
        let ofStore = try runs(of: names(of: store)) && isEarlier
        let rows = try reader.fetch(
            StoreFetchRequest(
                entity: LedgerRow.runEntityName,
                predicate: ofStore && .compare("clock_believed", .equal, .integer(1)),
                sortDescriptors: [StoreSortDescriptor("number", ascending: false)], fetchLimit: 1000),
            attributes: ["number", "started_us", "finished_us", "as_of_us", "mode", "outcome"])
        let ends = rows.compactMap { Self.instant($0[2]) ?? Self.instant($0[1]) }
        var memory = RunMemory(
            ends: ends, hasCrash: try hasCrash(ofStore),
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
        // A run that had no rule for the store leaves nothing to remember.
        let hasRun = ofStore && .compare("outcome", .notEqual, .text(LedgerRun.Outcome.failed.rawValue))
        let isNew =
            try memory == RunMemory()
            && reader.count(StoreFetchRequest(entity: LedgerRow.runEntityName, predicate: hasRun)) == 0
        for line in try agreedLines(before: number) {
            if let rule = AgreedRule(line: line) {
                memory.agreed.append(rule)
            } else {
                memory.damagedAgreed.append(line)
            }
        }
        if isNew, let index {
            // The other stores of the pattern say nothing about a new one, unless it may be one of them.
            (memory.otherStore, memory.isOtherGone) = (index.goneStore, index.goneStore != nil)
        } else if isNew {
            let others = try reader.figures(
                [.max("number")],
                of: StoreFetchRequest(entity: LedgerRow.runEntityName, predicate: isEarlier), groupedBy: ["store"]
            ).sorted { $0[1].number ?? 0 > $1[1].number ?? 0 }.compactMap { $0[0].string }.filter { $0 != store }
            // A ledger of many stores knows others too: one that is gone may have been moved.
            let gone = others.first { $0.hasPrefix("/") && FilePlace($0).facts == nil }
            (memory.otherStore, memory.isOtherGone) = (gone ?? others.first, gone != nil)
        }
        if memory.isBeforeFirstRun, let run = archived(store), try !identifiers().contains(run) {
            memory.unknownArchive = run
        }
        return memory
    }

    /// What undos of a store have restored, newest first, and what undos of other files have: the store may be one of them with a new name.
    private func restorations(
        _ names: StoreNames, of store: String, before number: Int?
    ) throws -> [RunMemory.Restored] {
        let undos = try undos()
        guard !undos.all.isEmpty else { return [] }
        let first = try reader.runNumber("number", where: runs(of: names))
        return undos.all.filter { $0.run.number < number ?? .max }.compactMap { undo in
            var restored = undo.restored
            let isOther = !names.include(undo.run)
            if isOther {
                // A store that the ledger knew before is another one.
                let isHere = FilePlace.realPath(undo.run.report.store) == store
                let isNew = first.map { $0 > Int64(undo.run.number) } ?? true
                let isIt = undo.inode != nil && undo.inode == FilePlace(store).inode
                guard isIt && !isHere || isNew && (isHere || !undo.isInPlace) else { return nil }
                restored.store = undo.run.report.store
            }
            restored.accepted = undos.accepted(after: undo) { names.include($0) }.flatMap(\.rules)
            return restored
        }
    }

    /// The undos of the ledger that have restored rows, and the runs that were allowed to delete them again.
    struct Undos {
        /// A run that has restored rows, the number of its store's file, and whether the file is still where it was.
        typealias Undo = (run: LedgerRun, restored: RunMemory.Restored, inode: Int64?, isInPlace: Bool)
        /// A run that completed rules although an undo had restored rows of them.
        typealias Acceptance = (run: LedgerRun, rules: [RecordedRule])

        var all: [Undo] = []
        fileprivate var accepted: [Acceptance] = []

        /// The later runs that were allowed to delete restored rows again. A run that was stopped accepts nothing for the next one.
        ///
        /// - Parameter isOfStore: whether a run is one of the store that is asked for; those of the store that was undone count too.
        fileprivate func accepted(
            after undo: Undo, _ isOfStore: (LedgerRun) -> Bool = { _ in false }
        ) -> [Acceptance] {
            accepted.filter { run, _ in
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
        guard try reader.runsHave("undoes") else { return found }
        found.all = try reader.newestRuns(where: isUndo, limit: 1000).compactMap { row in
            try restored(row).map { (LedgerRow.run(row), $0, row[LedgerRow.storeInode]?.number, isInPlace(row)) }
        }
        guard let first = found.all.last?.run.number else { return found }
        found.accepted = try runsThatAccepted(.restoredRows, after: Int64(first))
        return found
    }

    /// Whether the file of a run's store is still where it was. Otherwise any store that is new may be it, with another name.
    private func isInPlace(_ row: [String: StoreValue]) -> Bool {
        let run = LedgerRow.run(row)
        // A server has no file.
        guard run.report.store.hasPrefix("/") else { return true }
        let inodes = [run.report.store, fromLedger(run)].compactMap { $0.flatMap { FilePlace($0).inode } }
        return row[LedgerRow.storeInode]?.number.map(inodes.contains) == true
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
        let undone = try reader.rows(
            of: LedgerRow.runEntityName, where: .compare("run", .equal, .text(figures.run)), limit: 1
        ).first.map(LedgerRow.run)
        var restored = RunMemory.Restored(
            undo: undo.report.runID, run: figures.run, ended: undo.report.finished, asOf: undone?.report.asOf,
            rules: Set(figures.rules),
            // An earlier version recorded a backslash of a name as it is.
            tables: Set([String]("undo_tables", of: row) ?? []).union(row.lines("undo_tables"))
                .subtracting(figures.tables.filter(\.onlyLostCandles).map(\.name)))
        restored.foundAll = isEnded && figures.done.restoredCount + figures.done.referenceCount == 0
        if let undone {
            let rules = try rules(of: [undone])[undone.number] ?? []
            restored.cutoffs = Dictionary(rules.map { ($0.entity.folded, $0.cutoff) }, uniquingKeysWith: max)
        }
        return restored
    }

    /// The later runs that completed rules despite a refusal, with these rules.
    private func runsThatAccepted(
        _ code: RefusalCode, after number: Int64
    ) throws -> [Undos.Acceptance] {
        let accepted = try namesOfRules(where: .compare("run_number", .greater, .integer(number)), despite: code)
        guard !accepted.isEmpty else { return [] }
        let numbers = accepted.keys.sorted().map { StoreValue.integer($0) }
        var records = RecordedRules()
        return try reader.rows(of: LedgerRow.runEntityName, where: .isIn("number", numbers)).map { row in
            let run = LedgerRow.run(row)
            let number = Int64(run.number)
            let rules = row.lines("rules").compactMap { RunMemory.CarriedOut(line: $0, &records)?.record }
            return (run, rules.filter { accepted[number]?.contains($0.rule.name) == true })
        }
    }

    /// The names of rules that runs carried out despite a refusal, by the run's number.
    private func namesOfRules(
        where predicate: StorePredicate, despite accepted: RefusalCode
    ) throws -> [Int64: Set<String>] {
        let isCompleted =
            StorePredicate.compare("accepted", .notEqual, .text(""))
            && .compare("outcome", .equal, .text(RunReport.Outcome.completed.rawValue))
        let found = try reader.rows(
            of: LedgerRow.ruleEntityName, where: predicate && isCompleted,
            attributes: ["run_number", "name", "accepted"]
        ).filter { row in [RefusalCode]("accepted", of: row)?.contains(accepted) == true }
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
            var restored = undo.restored
            restored.accepted = undos.accepted(after: undo).flatMap(\.rules)
            guard restored.protectsRows else { return nil }
            return try reader.runNumber(
                "number", where: .isIn("run", [undo.restored.undo, undo.restored.run].map { .text($0) }))
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
            guard let entity = row[0].string, let cutoff = Self.instant(row[1]) else { return }
            let key = RunMemory.deletedKey(entity)
            latest[key] = max(latest[key] ?? cutoff, cutoff)
        }
    }

    /// The lines of the rules that runs of a store last carried out.
    private func carriedOut(_ ofStore: StorePredicate) throws -> [String] {
        guard try reader.runsHave("rules") else { return [] }
        let last = try reader.newestRuns(where: ofStore && .isNotNull("rules"), limit: 1, attributes: ["rules"])
        guard let row = last.first, let value = row["rules"] else { return [] }
        let lines = row.lines("rules")
        return lines.isEmpty && value != .null ? ["damaged"] : lines
    }

    /// The lines of the rules that are agreed, of all policies.
    func agreedLines(before number: Int? = nil) throws -> [String] {
        guard try reader.runsHave(LedgerRow.agreed) else { return [] }
        var run = StorePredicate.isNotNull(LedgerRow.agreed)
        if let index {
            guard let last = index.lastAgreed else { return [] }
            run = .compare("number", .equal, .integer(last))
        } else if let number {
            run = run && .compare("number", .less, .integer(Int64(number)))
        }
        let last = try reader.newestRuns(where: run, limit: 1, attributes: [LedgerRow.agreed])
        return last.first?.lines(LedgerRow.agreed) ?? []
    }

    /// Whether a run crashed and every later one failed.
    private func hasCrash(_ ofStore: StorePredicate) throws -> Bool {
        let rows = try reader.newestRuns(where: ofStore, limit: 1000, attributes: ["outcome", "mode"])
        let outcomes = rows.compactMap { row -> LedgerRun.Outcome? in
            guard let outcome = row["outcome"]?.string.flatMap(LedgerRun.Outcome.init) else { return nil }
            // An undo checks only the tables of its archive.
            let isUndo = row["mode"] == .text(RunReport.Mode.undo.rawValue)
            return isUndo && outcome != .crashed && outcome != .running ? nil : outcome
        }
        guard let last = outcomes.first(where: { $0 != .failed }) else { return false }
        return last == .crashed || last == .running
    }
}
