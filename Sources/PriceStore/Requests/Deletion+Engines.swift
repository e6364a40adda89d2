extension StoreFetchRequest {
    /// The rows without those of other conditions, in any order. Conditions that no row of the request can meet are left out: with
    /// a thousand rules they would make a statement of minutes.
    package func besides(_ others: [StorePredicate]) -> StoreFetchRequest {
        var request = self
        request.sortDescriptors = []
        for other in others where !other.isDisjoint(from: predicate) {
            request.predicate = request.predicate && .notTrue(other)
        }
        return request
    }
}

extension DeletionPart {
    /// Makes a part of what a batch did that began at a place; nil: at the beginning. Where neither rows nor the place
    /// moved, the next batch would do the same again.
    package init(_ result: BatchDeleteResult, from place: BatchContinuation?) {
        let hasMoved = result.deletedCount > 0 || result.cascadedCount > 0 || result.continuation != place
        self.init(result, hasMore: result.continuation != nil && hasMoved)
    }
}

/// A way to delete rows that only the engine knows.
package protocol DeletionTechnique: Hashable, RawRepresentable<String> {
    /// One statement for all rows.
    static var whole: Self { get }
}

/// A delete request with all that only an engine knows of it: one batch, or all rows.
@dynamicMemberLookup
package protocol EngineDelete {
    associatedtype Kind: DeletionTechnique
    /// What any engine needs to know of it; the limit is that of the batch.
    var request: BatchDeleteRequest { get set }
    var technique: Kind { get set }
    /// Where the batch before this one ended, so that the search goes on from there; nil: from the beginning.
    var continuation: BatchContinuation? { get set }

    /// All rows of a request, in one statement.
    init(_ request: BatchDeleteRequest)
}

extension EngineDelete {
    package subscript<Value>(dynamicMember member: WritableKeyPath<BatchDeleteRequest, Value>) -> Value {
        get { request[keyPath: member] }
        set { request[keyPath: member] = newValue }
    }
}

/// What an engine's survey has found: the facts that it returns, and those that decide the technique.
@dynamicMemberLookup
package protocol EngineFindings {
    associatedtype Kind: DeletionTechnique
    /// The facts.
    var survey: Survey { get set }
    /// The techniques that are possible for these rows.
    var possibleTechniques: [Kind] { get }
    /// Why a technique is not possible, as a phrase, where there is more to say.
    var techniqueObstacles: [Kind: String] { get }
    /// Takes a technique in the place of the engine's choice.
    mutating func take(_ technique: Kind)
}

extension EngineFindings {
    package subscript<Value>(dynamicMember member: WritableKeyPath<Survey, Value>) -> Value {
        get { survey[keyPath: member] }
        set { survey[keyPath: member] = newValue }
    }

    /// The facts that a survey computes from others.
    package var unreadableCount: Int { survey.unreadableCount }

    /// Takes the technique that a request asks for in the place of the engine's choice.
    ///
    /// - Throws: ``StoreError`` of kind `unknownName` if there is no such technique, or not for these rows.
    package mutating func takeTechnique(of request: SurveyRequest, store: String) throws(StoreError) {
        guard let name = request.technique, survey.unsupported == nil else { return }
        let named = Kind(rawValue: name)
        guard let named, named == .whole || possibleTechniques.contains(named) else {
            let reason = named.flatMap { techniqueObstacles[$0] }.map { ": \($0)" } ?? ""
            throw StoreError(
                .unknownName, store: store, message: "a \(name) is not possible for \(request.entity)\(reason)",
                hint: "without it the rows are deleted in batches; --rule runs some rules only")
        }
        take(named)
    }
}
