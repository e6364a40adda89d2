import PriceStore

/// What a survey has found: the facts that it returns, and those that decide the method.
struct Findings: EngineFindings {
    var survey = Survey()
    /// How the engine deletes the rows.
    var technique = DeleteMethod.whole
    /// Why, as a phrase; nil: it is the ordinary way.
    var reason: String?
    /// Whether other rows may be deleted or changed with each row, so that the cost of a batch is still unknown.
    var followsRelationships = false
    /// The first and the last date of the rows that the rule deletes; nil: there are none, or they were not read.
    var ends: DateEnds?
    /// What the continuous aggregates over the rows do not have; nil: there are none, or nothing is known.
    var rollupMemory: RollupMemory?
    /// Whether a batch costs about as much as many rows do: it goes to several servers, or looks at all rows.
    var hasCostlyBatches = false
    var possibleTechniques: [DeleteMethod] = []
    var techniqueObstacles: [DeleteMethod: String] = [:]

    mutating func take(_ method: DeleteMethod) { (technique, reason) = (method, nil) }

    /// How the rows are deleted.
    var outline: DeletionOutline {
        var outline = DeletionOutline(method: technique.phrase, isInBatches: technique != .whole)
        outline.reason = reason
        outline.isOldestFirst = technique == .range
        outline.index = technique == .range ? survey.index.name : nil
        // A delete keeps nobody out of the table, so that only those wait who want the very rows: batches may be longer
        // than in a file, and what each costs besides its rows matters less.
        outline.batchTarget = hasCostlyBatches ? .seconds(1) : .milliseconds(30)
        if !hasCostlyBatches { outline.batchTargetAlone = .milliseconds(250) }
        outline.firstBatchRows = hasCostlyBatches ? 200_000 : 5_000
        if followsRelationships { outline.firstBatchRows = 1 }
        return outline
    }
}
