import Foundation
import GRDB
import GRDBSQLite
import PriceStore

/// A table of an archive, the table of the store that its rows go back to, and the SQL for that.
///
/// In SQL `a` is the archive's row, `m` the store's, and `r` the row of a table with the old values of references.
struct RestorationTable {
    let kind: ArchiveTable.Kind
    /// Its place among the tables of the archive that are restored.
    let number: Int
    /// The table's name as the store spells it.
    let table: String
    /// The archive's table in SQL.
    let source: String
    /// The name of the archive's own row number in SQL.
    let rowID: String
    /// The columns that identify a row of the store, as the archive spells them.
    let key: [String]
    let columns: [String]
    /// The references of the store's table to other tables.
    let relationships: [Relationship]
    /// Whether the store can change a value that is written: its type differs from the archive's, or a trigger may.
    let mayDiffer: Bool
    /// What counts the changes of an object of a Core Data store, in SQL.
    private let version: String
    /// What stands before `INTO` and after `UPDATE`, so that the table's own way of solving conflicts deletes nothing.
    let conflict: String

    /// The store's table in SQL.
    var target: String { "main." + table.quotedIdentifier }

    /// Reads a row of `retention_tables`.
    ///
    /// - Throws: ``StoreError`` of kind `unsupported` if the store's table has not what the archive has.
    init(
        _ row: Row, _ schema: String, number: Int, archive: String, _ connection: SQLiteConnection, _ db: Database
    ) throws {
        func refused(_ message: String) -> StoreError {
            StoreError(
                .unsupported, store: connection.name, message: message,
                hint: "nothing was changed; bring the table back to what it was, and run undo again")
        }
        guard let kind = ArchiveTable.Kind(rawValue: row["kind"] ?? "") else {
            throw StoreError(.unsupported, store: archive, message: "the archive has a table of an unknown kind")
        }
        self.kind = kind
        self.number = number
        let name: String = row["store_table"]
        let archived: String = row["archive_table"]
        let decoder = JSONDecoder()
        key = try decoder.decode([String].self, from: Data((row["key"] as String).utf8))
        columns = try decoder.decode([String].self, from: Data((row["columns"] as String).utf8))
        source = "\(schema).\(archived.quotedIdentifier)"
        guard let shape = try StoredShape(of: name, db) else {
            throw refused("the store has no table \(name) any more")
        }
        let stored = Dictionary(shape.columns.map { ($0.name.lowercased(), $0) }) { first, _ in first }
        for column in columns where stored[column.lowercased()] == nil {
            throw refused("the table \(name) has no column \(column) any more, and the archive has values for it")
        }
        guard Set(shape.key.map { $0.lowercased() }) == Set(key.map { $0.lowercased() }) else {
            throw refused("the rows of \(name) are identified by other columns than when they were deleted")
        }
        table = shape.name
        let known = Set(columns.map { $0.lowercased() })
        // cid, name, type, notnull, dflt_value, pk, hidden
        let info = try Row.fetchAll(db, sql: "PRAGMA main.table_xinfo(\(table.quotedIdentifier))")
        if kind == .rows {
            for column in info where column[6] == 0 && column[3] == 1 && (column[4] as DatabaseValue).isNull {
                let name: String = column[1]
                guard known.contains(name.lowercased()) else {
                    throw refused("the table \(table) has a new column \(name), which needs a value and has no default")
                }
            }
        }
        let archivedInfo = try Row.fetchAll(db, sql: "PRAGMA \(schema).table_info(\(archived.quotedIdentifier))")
        let types = Dictionary(
            archivedInfo.map { (($0[1] as String).lowercased(), ($0[2] as String? ?? "").uppercased()) }
        ) { first, _ in first }
        let needed = kind == .rows ? columns : key + columns.map { "old_" + $0 } + columns.map { "new_" + $0 }
        guard needed.allSatisfy({ types[$0.lowercased()] != nil }),
            let rowID = ArchiveTable.rowNumber(besides: Array(types.keys))
        else {
            throw StoreError(.unsupported, store: archive, message: "the archive's table \(archived) cannot be read")
        }
        self.rowID = rowID
        let isSame = columns.allSatisfy { column in
            let archivedType = types[(kind == .rows ? column : "old_" + column).lowercased()]
            return archivedType == stored[column.lowercased()]?.type.uppercased()
        }
        let hasTriggers =
            try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema WHERE type = 'trigger'") ?? 0
        mayDiffer = !isSame || hasTriggers > 0
        let model = try connection.catalog.coreData(db)
        relationships =
            try model.map { $0.references(ofTable: shape.name) } ?? connection.catalog.table(table, db)?.entity
            .relationships ?? []
        // Programs that have the object in memory notice by it that the row is another one.
        let hasVersion = model != nil && info.contains { $0[1] == "Z_OPT" }
        version = hasVersion ? ", Z_OPT = Z_OPT + 1" : ""
        conflict = shape.definition.uppercased().contains("CONFLICT") ? " OR ABORT" : ""
    }

    // MARK: SQL

    private func list(_ names: [String], _ alias: String = "") -> String {
        names.map { alias + $0.quotedIdentifier }.joined(separator: ", ")
    }

    /// Whether two values are equal in type and bytes.
    private static func same(_ a: String, _ b: String) -> String {
        "(\(a) IS \(b) COLLATE BINARY AND typeof(\(a)) = typeof(\(b)))"
    }

    /// Inserts archived rows from the first to the second argument, all or those of a condition.
    func insertion(where condition: String = "") -> String {
        "INSERT\(conflict) INTO \(target) (\(list(columns))) SELECT \(list(columns, "a.")) FROM \(source) AS a "
            + "WHERE a.\(rowID) BETWEEN ?1 AND ?2\(condition)"
    }

    /// Whether the store's row is the archived one.
    var isSameKey: String {
        key.map { "m.\($0.quotedIdentifier) = a.\($0.quotedIdentifier)" }.joined(separator: " AND ")
    }

    /// Whether the store's row has the archived values; a reference that was cleared may have its old value again.
    ///
    /// - Parameter references: the tables with the old values of references that were cleared.
    func isEqual(_ references: [RestorationTable]) -> String {
        let parts = columns.map { column in
            let name = column.quotedIdentifier
            let same = Self.same("a.\(name)", "m.\(name)")
            let old = Self.same("r.\(("old_" + column).quotedIdentifier)", "m.\(name)")
            let keys = key.map { "r.\($0.quotedIdentifier) = m.\($0.quotedIdentifier)" }.joined(separator: " AND ")
            let cleared = references.filter { $0.columns.contains(column) }.map { table in
                "EXISTS (SELECT 1 FROM temp.\(table.copyName) AS r WHERE \(keys) AND \(old))"
            }
            return "(\(([same] + cleared).joined(separator: " OR ")))"
        }
        return parts.isEmpty ? "1" : parts.joined(separator: " AND ")
    }

    /// The name of the temporary table with the keys and the old values of references, which has an index.
    var copyName: String { "\(source.prefix { $0 != "." })_old_\(number)" }

    /// Makes that table.
    var copy: String {
        let old = columns.map { "old_" + $0 }
        return """
            CREATE TEMP TABLE \(copyName) AS SELECT \(list(key + old)) FROM \(source);
            CREATE INDEX temp.\((copyName + "_key").quotedIdentifier) ON \(copyName) (\(list(key)))
            """
    }

    /// The key of an archived row.
    func keyQuery() -> String { "SELECT \(list(key)) FROM \(source) WHERE \(rowID) = ?1" }

    /// References of a row that are restored together.
    struct ReferenceUpdate {
        /// The relationship; nil: a column that belongs to none.
        var relationship: Relationship?
        /// Sets them to their old values where they are as the delete left them, by the number of the row in the archive.
        var sql: String
    }

    /// One update for each relationship: a reference that is not restored must not be written, because SQLite would check it.
    var referenceUpdates: [ReferenceUpdate] {
        var updates: [ReferenceUpdate] = []
        var rest = columns
        for relationship in relationships {
            let names = Set(relationship.sourceAttributes.map { $0.lowercased() })
            let own = columns.filter { names.contains($0.lowercased()) }
            guard !own.isEmpty else { continue }
            updates.append(ReferenceUpdate(relationship: relationship, sql: referenceUpdate(of: own)))
            rest.removeAll(where: own.contains)
        }
        return updates + rest.map { ReferenceUpdate(relationship: nil, sql: referenceUpdate(of: [$0])) }
    }

    private func referenceUpdate(of columns: [String]) -> String {
        func value(_ column: String) -> String {
            "(SELECT r.\(column.quotedIdentifier) FROM \(source) AS r WHERE r.\(rowID) = ?1)"
        }
        let changes = columns.map { column in
            (column.quotedIdentifier, "old_" + column, Self.same(column.quotedIdentifier, value("new_" + column)))
        }
        let assignments = changes.map { column, old, isUnchanged in
            "\(column) = CASE WHEN \(isUnchanged) THEN \(value(old)) ELSE \(column) END"
        }
        let needs = changes.map { column, old, isUnchanged in "\(isUnchanged) AND NOT \(Self.same(column, value(old)))"
        }
        let keys = key.map { "\($0.quotedIdentifier) = \(value($0))" }.joined(separator: " AND ")
        return "UPDATE\(conflict) \(target) SET \(assignments.joined(separator: ", "))\(version) "
            + "WHERE \(keys) AND (\(needs.joined(separator: " OR ")))"
    }

    /// Counts the rows with references that the update would change, with the archived rows of a table in the place of rows
    /// that are not in the store.
    func referenceCount(_ rows: RestorationTable?) -> String {
        let keys = { (alias: String) in
            key.map { "\(alias).\($0.quotedIdentifier) = r.\($0.quotedIdentifier)" }.joined(separator: " AND ")
        }
        let join = rows.map { " LEFT JOIN \($0.source) AS a ON \(keys("a"))" } ?? ""
        let first = (key.first ?? "").quotedIdentifier
        let needs = columns.map { column in
            let (name, new, old) = (
                column.quotedIdentifier, "r.\(("new_" + column).quotedIdentifier)",
                "r.\(("old_" + column).quotedIdentifier)"
            )
            let stored = Self.same("m.\(name)", new)
            let isUnchanged =
                rows == nil ? stored : "iif(m.\(first) IS NULL, \(Self.same("a.\(name)", new)), \(stored))"
            return "\(isUnchanged) AND NOT \(Self.same(old, new))"
        }
        let exists = rows == nil ? "m.\(first) IS NOT NULL" : "coalesce(m.\(first), a.\(first)) IS NOT NULL"
        return "SELECT count(*) FROM \(source) AS r LEFT JOIN \(target) AS m ON \(keys("m"))\(join) "
            + "WHERE r.\(rowID) BETWEEN ?1 AND ?2 AND \(exists) AND (\(needs.joined(separator: " OR ")))"
    }
}

extension CoreDataSchema {
    /// The columns of a table that refer to objects.
    fileprivate func references(ofTable table: String) -> [Relationship] {
        func relationship(_ columns: [String], to destination: String) -> Relationship? {
            guard let column = columns.last else { return nil }
            return Relationship(
                source: table, sourceAttributes: [column], destination: destination, destinationAttributes: ["Z_PK"],
                deleteRule: .noAction, isIndexed: false)
        }
        return links.values.joined().flatMap { link in
            var found: [Relationship?] = []
            switch link.storage {
            case .own(let reference) where link.table == table:
                found.append(relationship([reference.column], to: link.destinationTable))
            case .pairs(let pairs, let own, let other) where pairs == table:
                found += [relationship(own, to: link.table), relationship(other, to: link.destinationTable)]
            default: break
            }
            if link.destinationTable == table, let pointing = link.pointing {
                found.append(relationship([pointing.column], to: link.table))
            }
            return found.compactMap { $0 }
        }
    }
}
