public import PriceStore

/// A transaction in the history of a store: who changed which rows, and when.
///
/// ```swift
/// for transaction in try context.history(after: token) {
///     for change in transaction.changes where change.kind == .delete { print(change.objectID) }
/// }
/// ```
public struct HistoryTransaction: Hashable, Sendable {
    /// The position after the transaction, where reading continues.
    public let token: HistoryToken
    /// When the transaction made its first change, by the clock of the program that made it.
    public let instant: Instant
    /// Who made the transaction, as the program named itself.
    public let author: String
    /// The changes, in order; never empty. A row that was changed several times occurs as often. A row whose key changed occurs as deleted
    /// and as inserted.
    public let changes: [HistoryChange]

    /// Makes a transaction; engines do.
    public init(token: HistoryToken, instant: Instant, author: String, changes: [HistoryChange]) {
        self.token = token
        self.instant = instant
        self.author = author
        self.changes = changes
    }
}

/// A change of one row in a history.
///
/// ```swift
/// for change in transaction.changes where change.kind == .delete { print(change.objectID) }
/// ```
public struct HistoryChange: Hashable, Sendable {
    /// What happened to a row.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The row was added.
        case insert
        /// Attributes of the row were set, perhaps to the same values.
        case update
        /// The row was deleted.
        case delete
    }

    /// The row.
    public let objectID: ObjectID
    /// What happened to it.
    public let kind: Kind

    /// Makes a change; engines do.
    public init(objectID: ObjectID, kind: Kind) {
        self.objectID = objectID
        self.kind = kind
    }
}

extension ChangeSet {
    /// The combined changes of transactions in their order, each row named once.
    ///
    /// An exception is a row whose key was deleted and inserted again. It is named as deleted and as inserted, because it is another row
    /// now.
    public init(_ history: [HistoryTransaction]) {
        var fates: [ObjectID: (wasInserted: Bool, wasDeleted: Bool, isThere: Bool)] = [:]
        var order: [ObjectID] = []
        for change in history.lazy.flatMap(\.changes) {
            var fate = fates[change.objectID] ?? (false, false, true)
            if fates[change.objectID] == nil { order.append(change.objectID) }
            switch change.kind {
            case .insert: fate = (true, fate.wasDeleted, true)
            case .update: break
            case .delete: fate = (fate.wasInserted, true, false)
            }
            fates[change.objectID] = fate
        }
        self.init()
        for id in order {
            guard let fate = fates[id] else { continue }
            if fate.wasDeleted { deleted.append(id) }
            if fate.isThere { if fate.wasInserted { inserted.append(id) } else { updated.append(id) } }
        }
    }
}
