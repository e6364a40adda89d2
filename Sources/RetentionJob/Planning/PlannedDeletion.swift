import PriceStore

/// The keys of a request's rows, page by page, in the store's key order.
struct KeyPages {
    private let request: StoreFetchRequest
    private var place: [StoreValue]?
    private var isAtEnd = false

    init(_ request: StoreFetchRequest) { self.request = request }

    /// The next keys; nil: there are no more.
    mutating func next(_ reader: any RetentionReader) throws(StoreError) -> [ObjectID]? {
        guard !isAtEnd else { return nil }
        var page = request
        page.sortDescriptors = []
        page.fetchLimit = 100_000
        if let place { page.predicate = page.predicate && .key(KeyRange(after: place, through: nil)) }
        let ids = try reader.fetchObjectIDs(page)
        place = ids.last?.key
        isAtEnd = ids.count < 100_000
        return ids
    }

    /// Whether these keys find exactly their rows. They may not: text that is not UTF-8, a number too exact for a double, or a value of a
    /// composite type is not read as it is stored.
    func areFound(_ ids: [ObjectID], _ reader: any RetentionReader) throws(StoreError) -> Bool {
        var rest = ArraySlice(ids.filter { if $0.key.count == 1, case .integer = $0.key[0] { false } else { true } })
        while !rest.isEmpty {
            var part = request
            let next = Array(rest.prefix(1000))
            part.predicate = part.predicate && .objectIDs(next)
            rest = rest.dropFirst(1000)
            do {
                guard try reader.count(part) == next.count else { return false }
            } catch  where error.kind == .unsupported {
                return false
            }
        }
        return true
    }
}

/// Deletes exactly the rows of a saved plan, by their keys. A row that is held now, or whose date has changed, stays.
final class PlannedDeletion: Deletion {
    private let deletion: any Deletion
    private let request: StoreFetchRequest
    private let keys: KeyList
    private let reader: any RetentionReader
    private var pages: KeyPages
    /// Rows of the plan that are read but not deleted yet.
    private var rows: ArraySlice<ObjectID> = []
    /// The key of the last row of the previous batch.
    private var place: [StoreValue]?

    init(_ deletion: any Deletion, of request: SurveyRequest, keys: KeyList, reader: any RetentionReader) {
        self.deletion = deletion
        self.request = BatchDeleteRequest(request).fetchRequest
        self.keys = keys
        self.reader = reader
        pages = KeyPages(self.request)
    }

    var outline: DeletionOutline { Self.outline(deletion.outline) }

    /// How the rows of a saved plan are deleted, given how the engine would delete them without one.
    static func outline(_ outline: DeletionOutline) -> DeletionOutline {
        var own = DeletionOutline(method: "batches by key", isInBatches: true)
        own.reason = "only rows of the plan are deleted"
        own.locker = outline.locker
        own.firstBatchRows = outline.firstBatchRows
        own.fewestRows = outline.fewestRows
        own.batchTarget = outline.batchTarget
        own.batchTargetAlone = outline.batchTargetAlone
        return own
    }

    func deleteNext(_ bounds: DeletionBounds) throws(StoreError) -> DeletionPart {
        while rows.isEmpty {
            guard let page = try pages.next(reader) else {
                return DeletionPart(BatchDeleteResult(deletedCount: 0), hasMore: false)
            }
            rows = ArraySlice(page.filter(keys.contains))
        }
        let next = Array(rows.prefix(bounds.rows ?? .max))
        // The range makes the search fast, but would include other rows.
        let only = StorePredicate.key(KeyRange(after: place, through: next.last?.key)) && .objectIDs(next)
        var part = try deletion.deleteNext(DeletionBounds(rows: next.count, only: only))
        // Otherwise only rows deleted by cascades of these rows are gone.
        if !part.hasMore {
            rows = rows.dropFirst(next.count)
            place = next.last?.key
        }
        part.hasMore = true
        return part
    }

    func remainingCount(besides others: [StorePredicate]) throws(StoreError) -> Int {
        pages = KeyPages(request)
        (rows, place) = ([], nil)
        return try deletion.remainingCount(besides: others)
    }
}
