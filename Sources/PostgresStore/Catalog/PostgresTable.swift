import PriceStore

/// What the catalog says of a table.
struct PostgresTable {
    /// The name of the store, for errors.
    let store: String
    let oid: Int
    let schema: String
    let relation: String
    let entity: Entity
    /// The types of the attributes, by attribute name.
    let types: [String: ColumnType]
    /// The enumerated types of the attributes, by attribute name; for a domain, that of its values.
    let enumTypes: [String: String]
    let indexes: [Index]
    let isPartitioned: Bool
    /// Whether other tables inherit from it, so that a scan of it finds their rows too.
    let hasChildren: Bool
    /// Whether it is a Citus table spread over several servers.
    let isDistributed: Bool
    let isHypertable: Bool
    /// The column that divides a hypertable into chunks; nil if a function of it does.
    let chunkColumn: String?
    /// The aggregate, in SQL, whose rows this hypertable holds; nil for any other table.
    var aggregate: String?
    /// The rows of its partitions on this server, as a query in SQL, if other partitions are foreign tables; nil for any other table.
    var localRows: String?
    /// Whether its rows are in columnar storage, from which the server cannot delete single rows.
    let isColumnar: Bool
    let isPartition: Bool
    /// The strongest lock that this user can take and that lets others read and write; nil if none.
    let lockMode: String?

    /// An index that can give rows in the order of its columns.
    struct Index: Hashable {
        let name: String
        /// The names of the columns; nil for an expression.
        let columns: [String?]
        let isPrimary: Bool
        /// Whether it is unique, as the columns compare values.
        let isUnique: Bool
        /// Whether it holds all rows in order: it is a `btree` without a condition.
        let isOrdered: Bool
        /// Whether it has the least and the greatest value of each range of blocks: it is a BRIN index without a condition.
        let isOfBlocks: Bool
        let nullsAreEqual: Bool

        /// The column of which no two rows have the same value; nil: it is of several columns, of an expression, or of some rows.
        var uniqueAttribute: String? { isUnique && isOrdered && columns.count == 1 ? columns[0] : nil }
    }

    /// The columns that identify its rows: the primary key, or those of a unique index over all rows; empty if there is none.
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

    /// Whether columns still identify its rows; never without a primary key.
    func isKey(_ columns: [String]) -> Bool {
        if Set(columns) == Set(entity.primaryKey) { return true }
        return entity.primaryKey.isEmpty
            && indexes.contains { $0.isUnique && $0.isOrdered && Set($0.columns) == Set(columns.map(Optional.some)) }
    }

    var name: String { entity.name }
    var sql: String { "\(schema.quotedIdentifier).\(relation.quotedIdentifier)" }
    /// Whether all rows are in this one table, so that a `ctid` identifies a row.
    var isSingle: Bool { !isPartitioned && !hasChildren && !isDistributed && !isHypertable }

    /// Why its rows cannot be read by their places, as a phrase; nil if they can, one real table after another.
    var windowObstacle: String? {
        if isDistributed { return "\(name) is distributed" }
        if isHypertable { return "\(name) is a hypertable" }
        return hasChildren ? "other tables inherit from \(name)" : nil
    }

    /// The type in which the values of an attribute are compared, for a cast.
    func valueType(_ attribute: Attribute) -> String { enumTypes[attribute.name] ?? attribute.declaredType }

    func type(_ attribute: Attribute) -> ColumnType { types[attribute.name] ?? .other }

    /// The attribute of a date; nil if its indexes are of no use: a `real` is compared as `float8`.
    private func indexed(_ date: DateAttribute) -> Attribute? {
        entity.attribute(named: date.name).flatMap { $0.declaredType == "real" ? nil : $0 }
    }

    /// The index that gives the rows in the order of a date; nil if there is none.
    func dateIndex(_ date: DateAttribute) -> Index? {
        guard let attribute = indexed(date) else { return nil }
        return indexes.filter { $0.isOrdered && $0.columns.first == attribute.name }.min {
            $0.columns.count < $1.columns.count
        }
    }

    /// The BRIN index that finds the blocks with dates, if no index gives the rows in their order; nil if there is none.
    func blockIndex(_ date: DateAttribute) -> Index? {
        guard let attribute = indexed(date), dateIndex(date) == nil else { return nil }
        return indexes.first { $0.isOfBlocks && $0.columns.contains(attribute.name) }
    }
}
