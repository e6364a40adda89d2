package import Logging
package import PriceStore
package import RetentionPolicy

/// Files of new rows that are imported before anything is deleted.
package struct PendingFolder {
    let sources: [PendingSource]
    let dates: PendingDates
    /// The real paths of the databases that the run has open; they are never pending files.
    let databases: [String]

    /// Takes the pending sources of a policy, and the date formats of its rules.
    package init(_ policy: Policy) {
        sources = policy.pending
        dates = PendingDates(policy)
        var databases: [String] = []
        if let path = policy.store.kind.file { databases.append(path) }
        if case .path(let path) = policy.ledger { databases.append(path) }
        self.databases = databases.compactMap(FilePlace.realPath)
    }

    /// The folders that are searched for files, as the patterns name them and by their real paths.
    package func folders() -> [String] {
        sources.map { PendingPattern($0) }.flatMap { [$0.root] + $0.realFolders() }
    }

    var hasFiles: Bool {
        sources.contains { !PendingPattern($0, databases: databases).files().files.isEmpty }
    }

    /// Imports all pending files, in the order of the sources and of the file names.
    ///
    /// Files are imported in short batches, which record how much is saved. All rows of a file are on disk before it moves to `done/`. A
    /// file that an earlier run imported in part is continued; a completely imported one is only moved. Bad lines are on disk before the
    /// rows around them are committed. Memory use does not depend on the size of the file.
    ///
    /// - Parameters:
    ///   - inserter: A `RetentionWriter`. Any other inserter rehearses: then nothing is moved or written, and the result says what would be
    ///     imported.
    ///   - held: Rows that no new row may replace; a line that would is bad.
    ///   - mayContinue: Called between batches; once it is false, the rest is left to the next run.
    ///   - note: Called with notes for the operator that are not errors, each a sentence.
    /// - Returns: The results for the files. Lines in `rejected` and files in `problems` lead to exit status 65.
    /// - Throws: `StoreError`. Earlier batches stay committed, as the message says; the next run continues after them.
    package func save(
        into inserter: any RetentionInserter, sparing held: [HeldRows] = [], now: Instant, logger: Logger,
        uptime: @escaping () -> Duration = { .zero },
        sleep: @escaping (Duration) -> Void = { _ in },
        mayContinue: @escaping () -> Bool = { true }, note: @escaping (String) -> Void = { _ in }
    ) throws -> RunReport.Pending {
        let pauses = BatchPauses(uptime: uptime, sleep: sleep, mayContinue: mayContinue) { reason in
            logger.notice("batches delayed", metadata: ["reason": "\(reason)"])
        }
        inserter.heldFromReplacing = held
        defer { inserter.heldFromReplacing = [] }
        let step = PendingStep(inserter: inserter, now: now, dates: dates, pauses: pauses, logger: logger, note: note)
        do {
            try save(with: step, mayContinue: mayContinue)
        } catch var error as StoreError where step.writer != nil && step.report.saved > 0 {
            error.message += "; \(step.report.saved) rows of pending files were saved before"
            throw error
        }
        return step.report
    }

    private func save(with step: PendingStep, mayContinue: () -> Bool) throws {
        for entry in try TakenFiles.entries(in: step.inserter) { step.taken[entry.path] = entry }
        let patterns = sources.map { PendingPattern($0, databases: databases) }
        guard try step.settleRecord() else { return step.noteInterruption() }
        for (index, (source, pattern)) in zip(sources, patterns).enumerated() {
            guard let entity = try step.inserter.entity(named: source.entity) else {
                throw StoreError(
                    .unknownName, store: step.inserter.name, message: "the store has no entity '\(source.entity)'")
            }
            if let lost = step.lost.first(where: {
                $0.entity.folded == entity.name.folded || pattern.takes(FilePlace($0.path))
            }) {
                step.report(
                    problem: "\(source.files): no file is imported, because an interrupted run saved the first "
                        + "\(lost.savedBytes) bytes of \(lost.path), and that file is not there any more or has changed; "
                        + "put it back, or delete its row of the table \(TakenFiles.entityName) to give up the rest of it"
                )
                continue
            }
            let (files, problems) = pattern.files()
            problems.forEach(step.report(problem:))
            let obstacle =
                try files.isEmpty
                ? nil
                : step.inserter.obstacle(
                    to: step.inserter.heldFromReplacing, insertingInto: entity.name,
                    replacing: source.onConflict == .replace)
            for file in files {
                guard mayContinue() else { return step.noteInterruption() }
                if let other = patterns.indices.first(where: { $0 != index && patterns[$0].takes(FilePlace(file.path)) }
                ) {
                    step.refused[file.path] =
                        "two entries of `pending` take it, with the patterns \(source.files) and \(sources[other].files); "
                        + "change one of them"
                }
                if let obstacle { step.refused[file.path] = "is not imported: \(obstacle.text)" }
                try step.take(file, of: source, into: entity)
            }
        }
        if let writer = step.writer { try TakenFiles.dropIfEmpty(from: writer) }
    }
}
