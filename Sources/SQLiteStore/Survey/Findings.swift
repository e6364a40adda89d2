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
    /// Whether other rows may be deleted or changed with each row, so that the cost of a batch is still unknown.
    var followsRelationships = false
    var possibleTechniques: [Technique] = []
    var techniqueObstacles: [Technique: String] = [:]
    /// The first and the last rowid between which all rows lie that the rule deletes; nil: they were not looked at.
    var expiredRowIDs: ClosedRange<Int64>?
    /// Whether a rebuild would be clearly faster than batches.
    var rebuildPays = false

    mutating func take(_ technique: Technique) { (self.technique, reason) = (technique, nil) }
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
        isOldestFirst = technique == .range || technique == .dates
        rebuildPays = findings.rebuildPays && technique.isInBatches
        index = technique == .range ? findings.index : nil
        // Where each row may take others along, the first batch is a single row, and a batch has costs that do not depend on its
        // rows: most pages of an index in another order are written by each.
        if findings.followsRelationships {
            firstBatchRows = 1
            batchTarget = .milliseconds(25)
        }
        // A batch that goes through most pages of an index, reads the table, or waits for the disk with an archive costs less a
        // row if it is longer. Nobody waits for it where nothing else uses the store.
        if findings.followsRelationships || technique != .range || request.archiveRule != nil {
            batchTargetAlone = .milliseconds(100)
        }
    }
}
