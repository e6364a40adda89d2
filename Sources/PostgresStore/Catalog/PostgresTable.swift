import PriceStore

/// What the catalog says of a table.
struct PostgresTable {
    let oid: Int
    let schema: String
    let relation: String
    let entity: Entity
    /// The types of the attributes, by name.
    let types: [String: ColumnType]
    /// The types' names as a cast needs them, by attribute.
    let typeNames: [String: String]
    let indexes: [Index]
    /// Whether its rows are in partitions.
    let isPartitioned: Bool
    /// Whether other tables inherit from it, so that a scan of it finds their rows too.
    let hasChildren: Bool
    /// Whether it is a Citus table that is spread over several servers.
    let isDistributed: Bool
    /// Whether it is a TimescaleDB hypertable.
    let isHypertable: Bool
    /// The continuous aggregate, in SQL, whose rows this hypertable holds; nil: it is a table of its own.
    var aggregate: String?
    /// Whether its rows are stored by columns, so that the server cannot delete single ones.
    let isColumnar: Bool
    /// Whether it is a part of another table.
    let isPartition: Bool
    /// The strongest lock with which others read and write on that this user can take; nil: none.
    let lockMode: String?

    /// An index that can give rows in the order of its columns.
    struct Index: Hashable {
        let name: String
        /// The columns' names; nil: an expression.
        let columns: [String?]
        /// Whether no two rows have the same values in it, as their columns compare them.
        let isUnique: Bool
        /// Whether it holds all rows and is in order: no condition, and of the kind `btree`.
        let isOrdered: Bool
        /// Whether NULL is equal to NULL in it.
        let nullsAreEqual: Bool
    }

    /// The columns that identify its rows: the primary key, or else those of a unique index that holds each row; empty:
    /// nothing does.
    var rowKey: [String] {
        guard entity.primaryKey.isEmpty else { return entity.primaryKey }
        let keys = indexes.filter { $0.isUnique && $0.isOrdered }.compactMap { index -> [String]? in
            let attributes = index.columns.compactMap { $0.flatMap(entity.attribute(named:)) }
            let isWhole = attributes.count == index.columns.count
            return isWhole && (index.nullsAreEqual || attributes.allSatisfy(\.isRequired))
                ? attributes.map(\.name) : nil
        }
        return keys.min { $0.count < $1.count } ?? []
    }

    /// Whether columns still identify its rows; without a primary key none do.
    func isKey(_ columns: [String]) -> Bool {
        if Set(columns) == Set(entity.primaryKey) { return true }
        return entity.primaryKey.isEmpty
            && indexes.contains { $0.isUnique && $0.isOrdered && Set($0.columns) == Set(columns.map(Optional.some)) }
    }

    /// The name, as entities are called.
    var name: String { entity.name }
    /// The table in SQL.
    var sql: String { "\(schema.quotedIdentifier).\(relation.quotedIdentifier)" }
    /// Whether all rows are in this one table, so that a `ctid` says which row is meant.
    var isSingle: Bool { !isPartitioned && !hasChildren && !isDistributed && !isHypertable }

    /// Why its rows cannot be read by their places, as a phrase; nil: they can, one real table after another.
    var windowObstacle: String? {
        if isDistributed { return "\(name) is distributed" }
        if isHypertable { return "\(name) is a hypertable" }
        return hasChildren ? "other tables inherit from \(name)" : nil
    }

    /// Whether some of its rows can be chosen by their places, or by their keys, in a delete that is bounded by a number of
    /// rows. A compressed chunk has no places, and a distributed table none that mean one row.
    var canSplitDates: Bool { !isHypertable && !isDistributed }

    func type(_ attribute: Attribute) -> ColumnType { types[attribute.name] ?? .other }

    /// The index that gives the rows in the order of an attribute; nil: there is none. A `real` is compared as `float8`, without
    /// its index.
    func dateIndex(_ attribute: Attribute) -> Index? {
        guard typeNames[attribute.name] != "real" else { return nil }
        return indexes.filter { $0.isOrdered && $0.columns.first == attribute.name }.min {
            $0.columns.count < $1.columns.count
        }
    }
}
