import PriceStore

/// What a survey has found: the facts that it tells, and what the choice of a technique hangs on.
@dynamicMemberLookup
struct Findings {
    /// The facts.
    var survey = Survey()
    /// How the engine goes about the delete.
    var technique = Technique.whole
    /// Why, as a phrase; nil: it is the ordinary way.
    var reason: String?
    /// Whether other rows may go or change with each row, so that nobody knows yet what a batch costs.
    var followsRelationships = false
    /// The techniques that are possible for these rows.
    var possibleTechniques: [Technique] = []
    /// Why a technique is not possible, as a phrase, where there is more to say.
    var techniqueObstacles: [Technique: String] = [:]

    subscript<Value>(dynamicMember member: WritableKeyPath<Survey, Value>) -> Value {
        get { survey[keyPath: member] }
        set { survey[keyPath: member] = newValue }
    }

    /// The facts that a survey computes from others.
    var unreadableCount: Int { survey.unreadableCount }

    /// Takes the technique that a request asks for in the place of the engine's choice.
    ///
    /// - Throws: ``StoreError`` of kind `unknownName` if there is no such technique, or not for these rows.
    mutating func take(_ name: String?, entity: String, store: String) throws(StoreError) {
        guard let name, survey.unsupported == nil else { return }
        guard let wanted = Technique(rawValue: name), wanted == .whole || possibleTechniques.contains(wanted) else {
            let reason = Technique(rawValue: name).flatMap { techniqueObstacles[$0] }.map { ": \($0)" } ?? ""
            throw StoreError(
                .unknownName, store: store, message: "the technique '\(name)' is not possible for \(entity)\(reason)",
                hint: "one of \(possibleTechniques.map(\.rawValue).joined(separator: ", "))")
        }
        (technique, reason) = (wanted, nil)
    }

    /// How the rows are deleted.
    var outline: DeletionOutline {
        var outline = DeletionOutline(method: technique.phrase, isInBatches: technique != .whole)
        outline.reason = reason
        outline.isIndivisible = technique == .whole
        outline.isOldestFirst = technique == .range
        outline.index = technique == .range ? survey.index : nil
        // A delete keeps nobody out of the table, so that only those wait who want the very rows: batches may be longer
        // than in a file, and what each costs besides its rows matters less.
        outline.batchTarget = .milliseconds(30)
        if followsRelationships { outline.firstBatchRows = 1 }
        return outline
    }
}
