/// What an engine's surveys have found, for later deletions.
package struct SurveyMemory<Findings> {
    /// A request without the fields that do not affect what is found. Of the preceding deletes, only the number matters.
    private struct Key: Hashable {
        var request: SurveyRequest
        var precedingCount: Int
    }

    private var found: [Key: Findings] = [:]

    package init() {}

    /// What the last survey of a request has found; nil: there was none.
    package subscript(request: SurveyRequest) -> Findings? {
        get { found[Self.key(request)] }
        set { found[Self.key(request)] = newValue }
    }

    private static func key(_ request: SurveyRequest) -> Key {
        var key = Key(request: request, precedingCount: request.preceding.count)
        key.request.preceding = []
        key.request.deleting.method = nil
        key.request.counts = .init()
        return key
    }
}
