import GRDB
import PriceStore

/// The access path to a table's rows in date order.
struct DateAccess: Hashable {
    /// The index to use, or nil if the table itself is in date order.
    var index: String?
    /// The index's name, or `primary key`.
    var label: String { index ?? "primary key" }
    /// The hint that makes SQLite use the index.
    var hint: String { index.map { " INDEXED BY " + $0.quotedIdentifier } ?? "" }
    /// Whether the date descends in the index, so that equal dates come with their keys descending.
    var isDescending: Bool
    /// Whether the index serves only rows that match the filter, because the filter fixes its first columns.
    var needsFilter: Bool
}

extension SQLiteTable {
    /// The best index to find rows by date, or nil. Its first columns (usually none) are those that the filter fixes, and the date follows.
    func dateAccess(_ attribute: Attribute, filter: StorePredicate) -> DateAccess? {
        if rowIDAlias == attribute.name || isWithoutRowID && entity.primaryKey.first == attribute.name {
            return DateAccess(index: nil, isDescending: false, needsFilter: false)
        }
        let fixed = Set(filter.fixedAttributes.compactMap { entity.attribute(named: $0)?.name })
        var best: (access: DateAccess, rank: (Int, Int))?
        for index in indexes where !index.isPartial {
            let prefix = index.columns.prefix { $0.name.map(fixed.contains) ?? false }
            guard prefix.count < index.columns.count, index.columns[prefix.count].name == attribute.name else {
                continue
            }
            let column = index.columns[prefix.count]
            // A comparison uses the column's collation, so only an index with the same one serves it. Text must be in byte order. An index
            // of a table without a rowid ends with the key's columns in the key's directions.
            guard column.collation.uppercased() == collations[attribute.name.folded]?.uppercased(),
                column.collation.uppercased() == "BINARY" || attribute.affinity != .text,
                !isWithoutRowID || !column.isDescending
            else { continue }
            let access = DateAccess(
                index: index.name, isDescending: column.isDescending, needsFilter: !prefix.isEmpty)
            let rank = (min(prefix.count, 1), index.columns.count)
            if best.map({ rank < $0.rank }) ?? true { best = (access, rank) }
        }
        return best?.access
    }

    /// Why an index that begins with the date cannot be used, as a clause, or nil if there is none or it can be used.
    func indexObstacle(_ attribute: Attribute) -> String? {
        guard let index = indexes.first(where: { $0.columns.first?.name == attribute.name }) else { return nil }
        if index.isPartial { return "the index \(index.name) exists, but it contains only some of the rows" }
        guard index.columns[0].collation.uppercased() == "BINARY" else {
            return
                "the index \(index.name) exists, but it is in the order of the collation \(index.columns[0].collation)"
        }
        return nil
    }
}

extension StorePredicate {
    /// The attributes that have the same known value in all matching rows.
    var fixedAttributes: [String] {
        switch self {
        case .compare(let attribute, .equal, let value) where !value.isNull: [attribute]
        case .isIn(let attribute, let values) where values.count == 1: [attribute]
        case .and(let parts): parts.flatMap(\.fixedAttributes)
        default: []
        }
    }
}
