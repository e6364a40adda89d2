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
        var places: [ObjectID: Int] = [:]
        var fates: [(id: ObjectID, wasInserted: Bool, wasDeleted: Bool, isThere: Bool)] = []
        for change in history.lazy.flatMap(\.changes) {
            let place = places[change.objectID] ?? fates.count
            if place == fates.count {
                places[change.objectID] = place
                fates.append((change.objectID, wasInserted: false, wasDeleted: false, isThere: true))
            }
            switch change.kind {
            case .insert: (fates[place].wasInserted, fates[place].isThere) = (true, true)
            case .update: break
            case .delete: (fates[place].wasDeleted, fates[place].isThere) = (true, false)
            }
        }
        self.init()
        for fate in fates {
            if fate.wasDeleted { deleted.append(fate.id) }
            if fate.isThere { if fate.wasInserted { inserted.append(fate.id) } else { updated.append(fate.id) } }
        }
    }
}
