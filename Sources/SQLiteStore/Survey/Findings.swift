import PriceStore

/// What a survey has found: the facts that it returns, and those that decide the technique.
struct Findings: EngineFindings {
    var survey = Survey()
    /// The state of the store in which they were found.
    var mark: ChangeMark?
    /// How the engine deletes the rows.
    var technique = Technique.whole
    /// Why, as a phrase; nil: it is the ordinary way.
    var reason: String?
    /// How the engine deletes the rows in batches, if ``technique`` turns out not to fit.
    var batches = Technique.whole
    /// Whether other rows may be deleted or changed with each row, so that the cost of a batch is still unknown.
    var followsRelationships = false
    /// How long ``technique`` is expected to lock the store; nil: it does not matter for batches.
    var predictedLock: Duration?
    var possibleTechniques: [Technique] = []
    var techniqueObstacles: [Technique: String] = [:]
    /// The first and the last rowid between which all rows lie that the rule deletes; nil: they were not looked at.
    var expiredRowIDs: ClosedRange<Int64>?
    /// Where all rows are that the rule leaves; nil: anywhere.
    var stayingRows: StayingRows?

    /// How much of the time between the oldest and the newest date lies before an instant, 0 to 1; 1 if it is not known.
    func expiredTime(before cutoff: Instant) -> Double {
        guard let oldest = survey.oldest, let newest = survey.newestOfEntity, cutoff < newest, oldest < newest else {
            return 1
        }
        return max(0, cutoff.since(oldest) / newest.since(oldest))
    }

    mutating func take(_ technique: Technique) {
        // What must be one statement may not take longer, even if it was asked for.
        if batches.isInBatches { predictedLock = nil }
        (self.technique, batches, reason) = (technique, technique, nil)
    }

    /// Says that rows must be deleted together, in one statement.
    mutating func goesInOneStatement() {
        technique = .whole
        batches = .whole
        reason = "rows that belong together must be deleted together"
        predictedLock = nil
        possibleTechniques = [.whole]
    }

    /// Says that rows are deleted with others that belong to them, which no technique for all rows at once covers.
    mutating func goesInBatches() {
        technique = batches
        reason = nil
        predictedLock = nil
    }
}

extension Survey {
    /// Adds a number of unreadable rows of one kind.
    mutating func add(_ reason: Unreadable, _ rowCount: Int, _ example: StoreValue) {
        if let index = unreadable.firstIndex(where: { $0.reason == reason }) {
            unreadable[index].rowCount += rowCount
        } else {
            unreadable.append(UnreadableRows(reason: reason, rowCount: rowCount, example: example))
        }
    }
}

extension DeletionOutline {
    /// How a technique deletes the rows that were found.
    init(_ technique: Technique, _ findings: Findings, of request: SurveyRequest) {
        self.init(method: technique.phrase, isInBatches: technique.isInBatches)
        reason = findings.reason
        expectedLock = findings.predictedLock
        isIndivisible = technique == .whole && !findings.batches.isInBatches
        isOldestFirst = technique.usesDateIndex || technique == .dates
        shrinksStore = technique == .rebuild
        index = technique.usesDateIndex ? findings.index : nil
        // Sorted batches are large by their nature: each goes through most pages of the table. They are bounded by the
        // time that the store may be locked. Where each row may take others along, the first batch is a single row, and a
        // batch has costs that do not depend on its rows: most pages of an index in another order are written by each.
        if technique == .sorted {
            firstBatchRows = 100_000
            batchTarget = request.maxLock / 2
        } else if findings.followsRelationships {
            firstBatchRows = 1
            batchTarget = .milliseconds(25)
            batchTargetAlone = .milliseconds(100)
        } else if request.archiveRule != nil {
            // Each batch waits for the disk once, with its rows in the archive.
            batchTargetAlone = .milliseconds(100)
        }
    }
}
