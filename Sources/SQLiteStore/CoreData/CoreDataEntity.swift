import PriceStore

/// An entity of a Core Data store: its table, which rows of the table it has, and the columns of its properties.
struct CoreDataEntity: Hashable {
    var name: String
    /// The number that its rows carry in `Z_ENT`.
    var number: Int64
    /// Its number and those of its ancestors, nearest first. A column's name may contain any of them.
    var chain: [Int64]
    /// The table, which all entities of one root share.
    var table: String
    var parent: String?
    /// Whether the table also contains rows of other entities, so that `Z_ENT` must be checked.
    var sharesTable: Bool
    /// Its name and those of its sub-entities at any depth, by the numbers of their rows.
    var memberNames: [Int64: String]
    /// The entity of the model, or nil without a model.
    var managed: ManagedEntity?
    /// The columns of its attributes and stored to-one relationships, by lower-cased name.
    var columns: [String: String] = [:]
    /// Property names for which the model does not say which of several columns is meant, with those columns.
    var ambiguous: [String: [String]] = [:]
    /// Why its rows cannot be deleted, or nil if they can.
    var unsupported: String?

    /// Whether its rows are the transactions of the store's history.
    var isHistory: Bool { name == Entity.persistentHistory && table == CoreDataHistory.transactions }

    /// The numbers of its rows and of those of its sub-entities, ascending.
    var numbers: [Int64] { memberNames.keys.sorted() }

    /// The names of its sub-entities at any depth, sorted.
    var subentities: [String] { memberNames.filter { $0.key != number }.values.sorted() }

    var withoutSubentities: CoreDataEntity {
        guard !subentities.isEmpty else { return self }
        var own = self
        own.sharesTable = true
        own.memberNames = memberNames.filter { $0.key == number }
        return own
    }

    /// Whether values of its rows can be in files beside the store.
    var keepsFiles: Bool { managed?.attributes.values.contains { $0.isExternal && !$0.isTransient } == true }

    /// The condition that a row belongs to this entity, or nil if every row of the table does.
    func membership(_ alias: String) -> String? {
        sharesTable ? "\(alias).Z_ENT IN (\(numbers.sqlList))" : nil
    }
}

/// A relationship of a model and where it is stored, from the side of the rows that declare it.
struct ModelLink: Hashable {
    /// Where a relationship is stored.
    enum Storage: Hashable {
        /// In the declaring row: the column holds the `Z_PK` of the row at the other end.
        case own(Reference)
        /// In the rows at the other end: their column holds the `Z_PK` of the declaring row.
        case other(Reference)
        /// In a table of pairs.
        case pairs(table: String, own: [String], other: [String])
    }

    /// The columns of a to-one relationship.
    struct Reference: Hashable {
        /// The column with the `Z_PK` of the other row.
        var column: String
        /// The columns that become NULL with it: the other entity's number and the position in an order.
        var companions: [String]
    }

    var relationship: ManagedRelationship
    var inverse: ManagedRelationship?
    /// The table of the declaring rows.
    var table: String
    /// The numbers of the entities that declare or inherit it, ascending.
    var numbers: [Int64]
    /// Whether all rows of the table have the relationship.
    var coversTable: Bool
    /// The first entity that declares it, for messages.
    var owner: String
    /// The table of the rows at the other end.
    var destinationTable: String
    var storage: Storage
    /// For a one-to-one relationship that is stored in the declaring rows: the column of the other end that refers back.
    var back: Reference?

    /// The columns of rows at the other end that refer to a declaring row.
    var pointing: Reference? {
        if case .other(let reference) = storage { return reference }
        return back
    }
}

extension [Int64] {
    /// The numbers of entities as an SQL list, without parentheses.
    var sqlList: String { map(String.init).list }
}
