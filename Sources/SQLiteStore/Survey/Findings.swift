import PriceStore

/// What a survey found: the facts that it returns, and those that decide the method.
struct Findings: EngineFindings {
    var survey = Survey()
    /// The state of the store in which they were found.
    var mark: ChangeMark?
    var method = DeleteMethod.whole
    /// Why this method was chosen, as a phrase, or nil if it is the ordinary one.
    var reason: String?
    /// Whether each row may cause other rows to be deleted or changed, so that the cost of a batch is unknown.
    var followsRelationships = false
    var possibleMethods: [DeleteMethod] = []
    var methodObstacles: [DeleteMethod: String] = [:]
    /// The range of rowids that contains all rows that the rule deletes, or nil if it was not determined.
    var expiredRowIDs: ClosedRange<Int64>?
    /// The groups of the key whose rows the rule may delete; nil: the rows are in no such groups.
    var groups: [StoreValue]?
    /// Whether a rebuild would be clearly faster than batches.
    var rebuildPays = false

    mutating func take(_ method: DeleteMethod) { (self.method, reason) = (method, nil) }
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
    init(_ findings: Findings, of request: SurveyRequest) {
        let method = findings.method
        self.init(method: method.phrase, isInBatches: method.isInBatches)
        reason = findings.reason
        isOldestFirst = method == .range || method == .dates
        rebuildPays = findings.rebuildPays && method.isInBatches
        index = method == .range ? findings.index.name : nil
        // If each row may cause others to be deleted, the first batch is a single row. Batches also have fixed costs: each writes most
        // pages of an index in another order.
        if findings.followsRelationships {
            firstBatchRows = 1
            batchTarget = .milliseconds(25)
        }
        // Longer batches cost less per row if each writes most pages of an index, reads the table, or waits for the disk with an archive.
        // If nothing else uses the store, nobody waits for them.
        if findings.followsRelationships || method != .range || request.deleting.archiveRule != nil {
            batchTargetAlone = .milliseconds(100)
        }
    }
}
