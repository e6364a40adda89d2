import PriceStore

/// The engine's choice of a technique for a rule, from what is known of its rows and of the store. Pure.
///
/// Source of the thresholds: docs/decisions/0012-rebuilds.md.
struct TechniqueChoice {
    /// What was found.
    struct Facts {
        /// The ordinary way: ranges of the date index, or the table by windows of its key.
        var batches: Technique
        var rowCount = 0
        var expiredCount: Int
        /// The part of the rows that is likely to be expired, by the dates and by the rowids, where it was not counted.
        var likelyPart = 1.0
        /// Whether rows lie in the file in the order of their dates, or are deleted in the order in which they lie.
        var isInFileOrder = true
        /// Whether others have the store open or write to it.
        var isInUseByOthers = false
        /// Why a technique is not possible.
        var obstacles: [Technique: String] = [:]
        /// Why there is no space for more than a batch; nil: there is.
        var roomObstacle: String?
        /// How long a technique would lock the store.
        var predictedLock: [Technique: Duration] = [:]
        var maxLock = Duration.seconds(2)

        fileprivate var part: Double { rowCount > 0 ? Double(expiredCount) / Double(rowCount) : 0 }
        fileprivate var isAll: Bool { expiredCount == rowCount }
        /// Whether so many rows are deleted that one transaction for all of them is cheaper than batches.
        fileprivate var isMost: Bool { isAll || part >= (isInFileOrder ? orderedRebuildPart : randomRebuildPart) }
        /// Whether the number of all rows can change the choice. Counting them takes as long as deleting a few per cent, so
        /// the likely part decides first.
        var dependsOnRowCount: Bool {
            expiredCount >= fewestRows && likelyPart >= (isInFileOrder ? orderedRebuildPart : sortedPart) * 0.9
        }
        /// Whether it matters how long a technique would lock the store.
        var mayLock: Bool { expiredCount >= fewestRows && isMost && !isInUseByOthers && roomObstacle == nil }
    }

    var technique: Technique
    /// Why, as a phrase; nil: it is the ordinary way.
    var reason: String?
    /// What would be done if `technique` turns out not to fit.
    var batches: Technique
    var predictedLock: Duration?

    /// Fewer rows are deleted in batches before anything else has begun.
    static let fewestRows = 50_000

    init(_ facts: Facts) {
        batches = facts.batches
        technique = facts.batches
        guard facts.expiredCount >= Self.fewestRows else { return }
        if facts.batches == .range, !facts.isInFileOrder, facts.part >= Self.sortedPart,
            facts.obstacles[.sorted] == nil,
            facts.roomObstacle == nil, facts.maxLock > .zero
        {
            batches = .sorted
            technique = .sorted
            reason = "rows are not stored in the order of their dates"
        }
        guard facts.isMost else { return }
        let share = facts.isAll ? "all rows are deleted" : "\(Int(facts.part * 100)) % of the rows are deleted"
        let candidates: [Technique] = facts.isAll ? [.whole, .rebuild] : [.rebuild, .rebuildInPlace]
        guard !facts.isInUseByOthers else {
            reason = [reason, "other processes are using the store"].compactMap(\.self).joined(separator: "; ")
            return
        }
        // A statement for all rows, too, has most pages of the table in the journal or WAL.
        guard facts.roomObstacle == nil else {
            reason = "\(share), but \(facts.roomObstacle ?? "")"
            return
        }
        for candidate in candidates where facts.obstacles[candidate] == nil {
            guard let lock = facts.predictedLock[candidate] else { continue }
            guard lock <= facts.maxLock else {
                reason = "\(share), but \(candidate.clause) would lock the store for about \(lock.inTenths)"
                continue
            }
            technique = candidate
            predictedLock = lock
            reason = "\(share), no other process is using the store, a lock of about \(lock.inTenths)"
            return
        }
    }

    /// Below it, the few rows of each page are cheaper found by their dates.
    private static let sortedPart = 0.02
    private static let orderedRebuildPart = 0.62
    private static let randomRebuildPart = 0.2
}

extension Technique {
    /// The technique in a sentence.
    fileprivate var clause: String {
        switch self {
        case .rebuild: "a rebuild"
        case .rebuildInPlace: "a rebuild in place"
        default: "one statement"
        }
    }
}

extension Duration {
    /// The time in seconds with one digit, at least `0.1 s`.
    fileprivate var inTenths: String {
        let tenths = max(1, Int((self / .milliseconds(100)).rounded()))
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
