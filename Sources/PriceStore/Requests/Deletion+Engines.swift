extension StoreFetchRequest {
    /// The rows that meet none of the other conditions, in any order. Conditions that no row of the request can meet are left out, because
    /// a thousand rules would otherwise make a statement that takes minutes.
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
    /// Makes the part that a batch did from a place; nil: from the beginning. If neither rows nor the place moved, no batch follows,
    /// because it would do the same again.
    package init(_ result: BatchDeleteResult, from place: BatchContinuation?) {
        let hasMoved = result.deletedCount > 0 || result.cascadedCount > 0 || result.continuation != place
        self.init(result, hasMore: result.continuation != nil && hasMoved)
    }
}

/// An engine's method for deleting rows.
package protocol DeletionMethod: Hashable, RawRepresentable<String> {
    static var whole: Self { get }
}

/// A delete request with what only an engine knows about it: one batch, or all rows.
@dynamicMemberLookup
package protocol EngineDelete {
    associatedtype Kind: DeletionMethod
    /// The request without the engine's details. Its limit is that of the batch.
    var request: BatchDeleteRequest { get set }
    var method: Kind { get set }
    /// Where the previous batch ended and the search continues; nil: at the beginning.
    var continuation: BatchContinuation? { get set }

    /// Makes a delete of all rows of a request, in one statement.
    init(_ request: BatchDeleteRequest)
}

extension EngineDelete {
    package subscript<Value>(dynamicMember member: WritableKeyPath<BatchDeleteRequest, Value>) -> Value {
        get { request[keyPath: member] }
        set { request[keyPath: member] = newValue }
    }
}

/// What an engine's survey has found: the facts that it returns, and those that determine the method.
@dynamicMemberLookup
package protocol EngineFindings: Sendable {
    associatedtype Kind: DeletionMethod
    var survey: Survey { get set }
    /// The methods that are possible for these rows.
    var possibleMethods: [Kind] { get }
    /// Why a method is not possible, as a phrase, if there is more to say.
    var methodObstacles: [Kind: String] { get }
    /// Uses a method instead of the engine's choice.
    mutating func take(_ method: Kind)
}

extension EngineFindings {
    package subscript<Value>(dynamicMember member: WritableKeyPath<Survey, Value>) -> Value {
        get { survey[keyPath: member] }
        set { survey[keyPath: member] = newValue }
    }

    /// The survey that goes to the caller, and comes back for a deletion.
    package var answer: Survey {
        var answer = survey
        answer.basis.findings = self
        return answer
    }

    /// What a survey of this engine has found.
    ///
    /// - Precondition: the survey is one of this engine.
    package init(of survey: Survey) {
        guard let findings = survey.basis.findings as? Self else { preconditionFailure("a survey of another engine") }
        self = findings
    }

    package var unreadableCount: Int { survey.unreadableCount }

    /// Uses the method that a request names instead of the engine's choice.
    ///
    /// - Throws: ``StoreError`` of kind `unknownName` if there is no such method, or if it is not possible for these rows.
    package mutating func takeMethod(of request: SurveyRequest, store: String) throws(StoreError) {
        guard let name = request.deleting.method, survey.unsupported == nil else { return }
        let named = Kind(rawValue: name)
        guard let named, named == .whole || possibleMethods.contains(named) else {
            let reason = named.flatMap { methodObstacles[$0] }.map { ": \($0)" } ?? ""
            throw StoreError(
                .unknownName, store: store, message: "a \(name) is not possible for \(request.entity)\(reason)",
                hint: "without it, the rows are deleted in batches; --rule selects rules")
        }
        take(named)
    }
}
