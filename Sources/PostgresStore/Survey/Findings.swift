import PriceStore

/// The results of a survey: the facts that it returns, and those that decide the method.
struct Findings: EngineFindings {
    var survey = Survey()
    var method = DeleteMethod.whole
    /// The reason for the method, as a phrase; nil if it is the usual one.
    var reason: String?
    /// The first and the last date of the rows that the rule deletes; nil if there are none, or if the dates were not read.
    var ends: DateEnds?
    var firstBatchRows = Self.fewRows
    /// Whether each batch finds the rows that rules keep again, because the table has no key by which they can be listed.
    var findsKeptRowsAgain = false
    var possibleMethods: [DeleteMethod] = []
    var methodObstacles: [DeleteMethod: String] = [:]

    private static let fewRows = 5_000
    /// As many rows take as long as the fixed cost of a batch that goes to several servers, or reads all rows.
    static let manyRows = 200_000

    mutating func take(_ method: DeleteMethod) { (self.method, reason) = (method, nil) }

    var outline: DeletionOutline {
        var outline = DeletionOutline(method: method.phrase, isInBatches: method != .whole)
        outline.reason = reason
        outline.isOldestFirst = method == .range
        outline.index = [.range, .windows].contains(method) ? survey.index.name : nil
        // A delete blocks only sessions that want the same rows. So batches may be longer than in a file, and their fixed cost matters
        // less.
        let isCostly = firstBatchRows > Self.fewRows
        outline.batchTarget = isCostly ? .seconds(1) : .milliseconds(30)
        if !isCostly { outline.batchTargetAlone = .milliseconds(250) }
        outline.firstBatchRows = firstBatchRows
        if findsKeptRowsAgain { outline.fewestRows = Self.manyRows }
        return outline
    }
}
