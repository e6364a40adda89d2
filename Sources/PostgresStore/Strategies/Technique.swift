import PriceStore

/// A way to delete rows from a table.
enum Technique: String, Hashable, CaseIterable {
    /// One statement for all of them.
    case whole
    /// By ranges of the date, oldest first.
    case range
    /// By windows of the blocks of the table.
    case windows
    /// Whole partitions or chunks of a table are dropped, the rest goes by rows.
    case partitions

    /// What reports say of it.
    var phrase: String {
        switch self {
        case .whole: "one statement"
        case .range: "range batches"
        case .windows: "block windows"
        case .partitions: "whole partitions"
        }
    }
}

/// A delete request with all that only this engine knows of it: one batch, or all rows.
@dynamicMemberLookup
struct DeleteWork: Hashable {
    /// What any engine needs to know of it; the limit is that of the batch.
    var request: BatchDeleteRequest
    var technique: Technique
    /// Where the batch before this one ended, so that the search goes on from there; nil: from the beginning.
    var continuation: BatchContinuation?

    init(
        fetchRequest: FetchRequest, resultType: BatchResultType = .statusOnly, technique: Technique = .whole,
        relationships: BatchDeleteRequest.RelationshipRule = .asDeclared, continuation: BatchContinuation? = nil
    ) {
        request = BatchDeleteRequest(
            fetchRequest: fetchRequest, resultType: resultType, relationships: relationships)
        self.technique = technique
        self.continuation = continuation
    }

    /// All rows of a request, in one statement.
    init(_ request: BatchDeleteRequest) {
        self.request = request
        technique = .whole
    }

    subscript<Value>(dynamicMember member: WritableKeyPath<BatchDeleteRequest, Value>) -> Value {
        get { request[keyPath: member] }
        set { request[keyPath: member] = newValue }
    }
}
