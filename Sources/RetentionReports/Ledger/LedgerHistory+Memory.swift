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
        let first = try firstRun(of: names)
        // A file without a run before the undo of another file may be that file with a new name, or a copy of it.
        func isNew(_ undo: [String: StoreValue]) -> Bool {
            guard let first, undo["store"]?.string?.hasPrefix("/") == true else { return false }
            return undo["number"]?.number ?? 0 <= first
        }
        let leading = Set(places.filter { mayBePlace($0, of: store) || isNew($0) }.compactMap { $0["store"] })
            .sorted { ($0.string ?? "") < ($1.string ?? "") }
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

    /// The number of the first run of a file, the highest number if it has none; nil: the store is not a file.
    private func firstRun(of names: StoreNames) throws -> Int64? {
        guard names.relative != nil else { return nil }
        if let index { return index.first(of: names) ?? .max }
        return try reader.fetch(
            StoreFetchRequest(
                entity: LedgerRow.runEntityName, predicate: try names.predicate(in: reader),
                sortDescriptors: [StoreSortDescriptor("number")], fetchLimit: 1), attributes: ["number"]
        ).first?.first?.number ?? .max
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
}
