import Foundation
import GRDB
import PriceStore

/// A table of an archive, the table of the store to which its rows return, and the SQL for that.
///
/// In SQL, `a` is a row of the archive, `m` a row of the store, and `r` a row of a table with the old values of references.
struct RestorationTable: RestorableSource {
    let kind: ArchivedKind
    /// Its index among the archive's tables that are restored.
    let number: Int
    /// The table's name as the store spells it.
    let table: String
    /// The archive's table in SQL.
    let source: String
    /// The name of the archive's row number in SQL.
    let rowID: String
    /// The columns that identify a row of the store, as the archive spells them.
    private(set) var key: [String]
    let columns: [String]
    /// The rowid among the columns if it is not a column of the store's table; nil otherwise. It is not a key: VACUUM changes it, and a new
    /// row may have got it.
    private let hiddenRowID: String?
    /// Whether ``key`` is a key of the store's table.
    let hasKey: Bool
    /// The names of the table's triggers that the restoration fires.
    let triggers: [String]
    /// The virtual tables that these triggers write.
    let indexes: [FollowingIndex]
    let relationships: [Relationship]
    /// The assignment that increases the version of a Core Data object, in SQL; empty in other stores.
    private let version: String
    /// The text before `INTO` and after `UPDATE`. It overrides the table's own conflict resolution, which would delete rows.
    let conflict: String

    /// The changes of the store's table that the restoration makes.
    let changes: [TriggerText.Change]

    /// The store's table in SQL.
    var target: String { "main." + table.quotedIdentifier }

    /// Reads a row of `retention_tables`.
    ///
    /// - Throws: ``StoreError`` of kind `unsupported` if the store's table lacks what the archived rows need.
    init(
        _ row: Row, _ schema: String, number: Int, archive: String, _ connection: SQLiteFile, _ db: Database
    ) throws {
        func refused(_ message: String) -> StoreError {
            connection.failure(
                .unsupported, message,
                hint: "nothing was changed; restore the earlier definition of the table, and run undo again")
        }
        let entry = try ListedTable(row, archive: archive)
        (kind, columns) = (entry.kind, entry.columns)
        let (kind, columns, name, recordedKey) = (entry.kind, entry.columns, entry.name, entry.key)
        self.number = number
        source = "\(schema).\(entry.archived.quotedIdentifier)"
        guard let shape = try StoredShape(of: name, connection, db) else {
            throw refused("the store has no table \(name) any more")
        }
        let stored = Set(shape.columns.map { $0.name.folded })
        for column in columns where !stored.contains(column.folded) {
            throw refused("the table \(name) has no column \(column) any more, and the archive has values for it")
        }
        let known = Set(columns.map { $0.folded })
        let isIdentified =
            kind == .rows
            ? Set(shape.key.map { $0.folded }) == Set(recordedKey.map { $0.folded })
            : recordedKey.allSatisfy { stored.contains($0.folded) }
        guard isIdentified else {
            throw refused("the rows of \(name) are identified by other columns than when they were deleted")
        }
        table = shape.table.name
        hiddenRowID = shape.hiddenRowID.flatMap { recordedKey.contains($0) ? $0 : nil }
        let isDeclared = !shape.primaryKey.isEmpty && shape.primaryKey.allSatisfy { known.contains($0.folded) }
        hasKey = kind == .rows && (hiddenRowID == nil || isDeclared)
        key = kind == .rows && hiddenRowID != nil && isDeclared ? shape.primaryKey : recordedKey
        let attributes = shape.table.entity.attributes
        let isNew = { (column: Attribute) in
            column.isRequired && !column.hasDefault && !column.isGenerated && !known.contains(column.name.folded)
        }
        if kind == .rows, let column = attributes.first(where: isNew) {
            throw refused("the table \(table) has a new column \(column.name), which needs a value and has no default")
        }
        let archivedInfo = try Row.fetchAll(db, sql: "PRAGMA \(schema).table_info(\(entry.archived.quotedIdentifier))")
        let types: [String: String] = archivedInfo.reduce(into: [:]) {
            $0[($1[1] as String).folded] = ($1[2] as String).uppercased()
        }
        let needed = kind == .rows ? columns : key + columns.map { "old_" + $0 } + columns.map { "new_" + $0 }
        guard needed.allSatisfy({ types[$0.folded] != nil }) else {
            throw AttachedArchive.damaged(archive, "its table \(entry.archived) is missing or lacks columns")
        }
        rowID = ArchiveTable.rowNumber(besides: Array(types.keys))
        if let change = Self.changedType(of: columns, kind, shape, types, wasStrict: entry.wasStrict) {
            throw refused(change)
        }
        let model = try connection.catalog.coreData(db)
        relationships =
            try model.map { $0.references(ofTable: shape.table.name) }
            ?? connection.scope(table, db).table.entity.relationships
        // A program that has the object in memory notices the change by its version.
        let hasVersion = model != nil && attributes.contains { $0.name == "Z_OPT" }
        version = hasVersion ? ", Z_OPT = Z_OPT + 1" : ""
        let written = kind == .rows ? [] : columns + (hasVersion ? ["Z_OPT"] : [])
        changes = Self.changes(of: table.folded, kind, Set(written.map { $0.folded }))
        // Triggers of views do not matter.
        triggers = try connection.catalog.schema(db).entries(ofTable: table).filter { [changes] entry in
            let text = TriggerText(entry.sql)
            return entry.type == "trigger" && changes.contains { text.fires(on: $0) }
        }.map(\.name).sorted()
        indexes = try OutOfStepIndex.written(byTriggers: triggers, connection, db).map { [table] in $0.following(table)
        }
        conflict = SchemaText.solvesConflicts(shape.table.definition) ? " OR ABORT" : ""
    }

    /// Why archived values would change in the store's table, as a clause: conversion depends on the type and on STRICT. Nil: they would not.
    ///
    /// - Parameter types: the types of the archive's columns, in capitals.
    private static func changedType(
        of columns: [String], _ kind: ArchivedKind, _ shape: StoredShape, _ types: [String: String], wasStrict: Bool
    ) -> String? {
        let (name, isStrict) = (shape.table.name, shape.table.isStrict)
        guard isStrict == wasStrict else { return "\(name) is \(isStrict ? "STRICT now" : "not STRICT any more")" }
        func text(_ type: String) -> String { type.isEmpty ? isStrict ? "ANY" : "without a type" : type }
        for column in shape.columns(named: columns) {
            let former = types[(kind == .rows ? column.name : "old_" + column.name).folded]
            if let former, former != column.type.uppercased() {
                return "\(column.name) of \(name) is \(text(column.type)) now, and was \(text(former))"
            }
        }
        return nil
    }

    private static func changes(
        of table: String, _ kind: ArchivedKind, _ columns: Set<String>
    ) -> [TriggerText.Change] {
        let update = TriggerText.Change(event: .update, table: table, columns: columns)
        return switch kind {
        case .rows: TriggerText.Change.writes(into: table, replacing: false)
        case .references: [update]
        case .candles: [update, TriggerText.Change(event: .delete, table: table)]
        }
    }

    /// Whether the archive's table has the rows of some ranges, each once, and no others.
    func hasRows(_ ranges: [ClosedRange<Int64>], _ db: Database) throws -> Bool {
        var next: Int64 = 1
        for rows in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            guard rows.lowerBound == next else { return false }
            next = rows.upperBound + 1
        }
        let found = try Row.fetchOne(
            db, sql: "SELECT count(*), coalesce(min(\(rowID)), 1), coalesce(max(\(rowID)), 0) FROM \(source)")
        return found?[0] == next - 1 && found?[1] == 1 as Int64 && found?[2] == next - 1
    }

    func hasIndex(_ db: Database) throws -> Bool {
        try Row.fetchOne(db, sql: "SELECT 1 FROM pragma_index_list(?, 'main')", arguments: [table]) != nil
    }

    // MARK: SQL

    /// Joins conditions by AND or OR, in parentheses. A table can have more columns than SQLite allows levels of an expression.
    private static func joined(_ parts: [String], by word: String) -> String {
        let parts = parts.map { SQLFragment($0) }
        return "(\((word == "AND" ? SQLFragment.all(parts) : .any(parts)).text))"
    }

    private func list(_ names: [String], _ alias: String = "") -> String {
        names.map { alias + $0.quotedIdentifier }.list
    }

    /// Whether two values are equal in type and bytes.
    private static func same(_ a: String, _ b: String) -> String {
        "(\(a) IS \(b) COLLATE BINARY AND typeof(\(a)) = typeof(\(b)))"
    }

    /// The old or new value of a column, as `r` has it.
    private static func kept(_ state: String, _ column: String) -> String { "r.\((state + column).quotedIdentifier)" }

    private func insertion(of columns: [String]) -> String {
        "INSERT\(conflict) INTO \(target) (\(list(columns))) SELECT \(list(columns, "a.")) FROM \(source) AS a "
            + "WHERE a.\(rowID) BETWEEN ?1 AND ?2"
    }

    /// Inserts the archived rows from the first to the second argument.
    var insertion: String { insertion(of: columns) }

    /// The same, with new rowids.
    var insertionElsewhere: String { insertion(of: values) }

    /// The columns without the hidden rowid.
    private var values: [String] { columns.filter { $0 != hiddenRowID } }

    /// The condition that the store's row has the key of the archived row.
    var isSameKey: String {
        Self.joined(key.map { "m.\($0.quotedIdentifier) = a.\($0.quotedIdentifier)" }, by: "AND")
    }

    /// The condition that the store's row has the rowid of the archived row; nil if the rowid is a column.
    var isSamePlace: String? { hiddenRowID.map { "m.\($0.quotedIdentifier) = a.\($0.quotedIdentifier)" } }

    /// Whether a row of the store has the rowid of the archived row with a given number; nil if the rowid is a column.
    var isPlaceTaken: String? {
        isSamePlace.map {
            "SELECT EXISTS (SELECT 1 FROM \(source) AS a CROSS JOIN \(target) AS m ON \($0) WHERE a.\(rowID) = ?1)"
        }
    }

    /// The condition that a row of references belongs to a row. After a time a rowid alone may denote another row, so the key then has all
    /// other columns too, which can be NULL.
    func isKey(_ alias: String, of references: RestorationTable) -> String {
        let comparison = references.isWide ? "IS" : "="
        return Self.joined(
            references.key.map { "\(alias).\($0.quotedIdentifier) \(comparison) r.\($0.quotedIdentifier)" }, by: "AND")
    }

    /// Whether the key is a rowid with other columns.
    private var isWide: Bool { hiddenRowID != nil && key.count > 1 }

    /// Removes columns from a key of a rowid with other columns, if some of these remain.
    mutating func identifyRows(without columns: Set<String>) {
        let rest = key.filter { !columns.contains($0) }
        if hiddenRowID != nil, rest.count > 1 { key = rest }
    }

    /// The search for rows without a key that the store has under another rowid. Equal rows are matched one to one. It is nil if the rowid
    /// is a column.
    func searchForMovedRows(_ references: [RestorationTable]) -> (isNeeded: String, rows: String)? {
        guard let isSamePlace, let hiddenRowID, kind == .rows else { return nil }
        let place = hiddenRowID.quotedIdentifier
        func hasNoKey(_ alias: String) -> String {
            hasKey ? "(\(key.map { "\(alias).\($0.quotedIdentifier) IS NULL" }.joined(separator: " OR ")))" : "1"
        }
        func numbered(_ alias: String) -> String {
            let parts = values.map {
                "\(alias).\($0.quotedIdentifier) COLLATE BINARY, typeof(\(alias).\($0.quotedIdentifier))"
            }
            let columns = values.enumerated().map { "\(alias).\($1.quotedIdentifier) AS c\($0)" }
            return (columns + ["row_number() OVER (PARTITION BY \(parts.list)) AS n"]).list
        }
        let equal = isEqual(references)
        let lost =
            "FROM \(source) AS a CROSS JOIN \(target) AS m ON \(isSamePlace) WHERE NOT (\(equal)) AND \(hasNoKey("a"))"
        let free =
            "FROM \(target) AS m LEFT JOIN \(source) AS a ON \(isSamePlace) AND \(equal) WHERE a.\(place) IS NULL AND \(hasNoKey("m"))"
        let same = values.indices.map { Self.same("d.c\($0)", "s.c\($0)") }
        return (
            "SELECT 1 \(lost)",
            "SELECT d.row FROM (SELECT a.\(rowID) AS row, \(numbered("a")) \(lost)) AS d JOIN (SELECT \(numbered("m")) \(free)) AS s "
                + "ON \(Self.joined(["d.n = s.n"] + same, by: "AND"))"
        )
    }

    /// The condition that the store's row has the archived values. A cleared reference may have its old value again.
    func isEqual(_ references: [RestorationTable]) -> String {
        let parts = values.map { column in
            let name = column.quotedIdentifier
            let same = Self.same("a.\(name)", "m.\(name)")
            let old = Self.same(Self.kept("old_", column), "m.\(name)")
            let cleared = references.filter { $0.columns.contains(column) }.map { table in
                "EXISTS (SELECT 1 FROM temp.\(table.copyName) AS r WHERE \(isKey("m", of: table)) AND \(old))"
            }
            return Self.joined([same] + cleared, by: "OR")
        }
        return Self.joined(parts, by: "AND")
    }

    /// The name of an indexed temporary table with the keys and the old values of references.
    var copyName: String { "\(source.prefix { $0 != "." })_old_\(number)" }

    /// Makes that table.
    var copy: String {
        let old = columns.map { "old_" + $0 }
        return """
            CREATE TEMP TABLE \(copyName) AS SELECT \(list(key + old)) FROM \(source);
            CREATE INDEX temp.\((copyName + "_key").quotedIdentifier) ON \(copyName) (\(list(key)))
            """
    }

    /// The key of an archived row, for messages.
    var keyQuery: String {
        "SELECT \(list(isWide ? Array(key.prefix(1)) : key)) FROM \(source) WHERE \(rowID) = ?1"
    }

    /// Whether the store has the row to which archived references belong.
    var hasRow: String {
        "SELECT EXISTS (SELECT 1 FROM \(source) AS r CROSS JOIN \(target) AS m ON \(isKey("m", of: self)) WHERE r.\(rowID) = ?1)"
    }

    /// The updates that restore the old values of references that are still as the delete left them, each with its relationship; nil: the
    /// column is of none. Their argument is the row's number in the archive.
    ///
    /// An update must not write a reference that is not restored, because SQLite would check it.
    var referenceUpdates: [(relationship: Relationship?, sql: String)] {
        var updates: [(relationship: Relationship?, sql: String)] = []
        var rest = columns
        for relationship in relationships {
            let names = Set(relationship.sourceAttributes.map { $0.folded })
            let own = columns.filter { names.contains($0.folded) }
            guard !own.isEmpty else { continue }
            updates.append((relationship, referenceUpdate(of: own)))
            rest.removeAll(where: own.contains)
        }
        return updates + rest.map { (nil, referenceUpdate(of: [$0])) }
    }

    private func referenceUpdate(of columns: [String]) -> String {
        let changes = columns.map { column in
            (column.quotedIdentifier, "old_" + column, Self.same(column.quotedIdentifier, value("new_" + column)))
        }
        let assignments = changes.map { column, old, isUnchanged in
            "\(column) = CASE WHEN \(isUnchanged) THEN \(value(old)) ELSE \(column) END"
        }
        let needs = changes.map { "\($2) AND NOT \(Self.same($0, value($1)))" }
        let comparison = isWide ? "IS" : "="
        let keys = Self.joined(key.map { "\($0.quotedIdentifier) \(comparison) \(value($0))" }, by: "AND")
        return "UPDATE\(conflict) \(target) SET \(assignments.list)\(version) "
            + "WHERE \(keys) AND \(Self.joined(needs, by: "OR"))"
    }

    /// The value of a column in the archive's row whose number is the argument.
    private func value(_ column: String) -> String {
        "(SELECT r.\(column.quotedIdentifier) FROM \(source) AS r WHERE r.\(rowID) = ?1)"
    }

    /// Counts the rows whose references the update would change. Archived rows of a table stand in for rows missing from the store.
    func referenceCount(_ rows: RestorationTable?) -> String {
        let first = key[0].quotedIdentifier
        let needs = columns.map { column in
            let (name, new) = (column.quotedIdentifier, Self.kept("new_", column))
            let stored = Self.same("m.\(name)", new)
            let isUnchanged =
                rows == nil ? stored : "iif(m.\(first) IS NULL, \(Self.same("a.\(name)", new)), \(stored))"
            return "\(isUnchanged) AND NOT \(Self.same(Self.kept("old_", column), new))"
        }
        return "SELECT count(*) \(withRows(rows)) AND \(exists(rows)) AND \(Self.joined(needs, by: "OR"))"
    }

    /// Counts the references whose rows are neither in the store nor restored.
    func lostReferenceCount(_ rows: RestorationTable?) -> String {
        "SELECT count(*) \(withRows(rows)) AND NOT \(exists(rows))"
    }

    // MARK: Candles

    /// Whether there was no candle before.
    private var wasMade: String {
        columns.map { "\(Self.kept("old_", $0)) IS NULL" }.joined(separator: " AND ")
    }

    /// The archived candles of some rows, with the columns of ``ArchivedCandle``, ordered by `first` and `row`.
    ///
    /// - Parameter restored: rows of the archive that the store may have again in the place of candles; nil if `is_before` is not needed.
    func candleStates(
        in ranges: [ClosedRange<Int64>], restored: (table: RestorationTable?, rows: [ClosedRange<Int64>])?
    ) -> String {
        let follows = columns.map { Self.same(Self.kept("old_", $0), "lag(\(Self.kept("new_", $0))) OVER before") }
        func candleCount(_ state: String?) -> String {
            let isKey = key.map { "m.\($0.quotedIdentifier) IS r.\($0.quotedIdentifier)" }
            let isState = state.map { state in
                columns.map { Self.same("m.\($0.quotedIdentifier)", Self.kept(state, $0)) }
            }
            return "(SELECT count(*) FROM \(target) AS m WHERE \((isKey + (isState ?? [])).joined(separator: " AND ")))"
        }
        var isBefore = "0"
        if let restored {
            isBefore = "CASE WHEN \(wasMade) THEN \(candleCount(nil)) = 0 ELSE \(candleCount("old_")) > 0 END"
            if let table = restored.table, !restored.rows.isEmpty {
                func texts(_ row: String) -> String {
                    key.map { "quote(\(row).\($0.quotedIdentifier))" }.list
                }
                isBefore +=
                    " OR (\(texts("r"))) IN (SELECT \(texts("a")) FROM \(table.source) AS a WHERE \(table.isIn(restored.rows, "a")))"
            }
        }
        let keys = key.indices.map { "k\($0)" }.list
        return """
            SELECT row, first_value(row) OVER candle AS first, is_made, is_written, follows, is_before
            FROM (SELECT r.\(rowID) AS row, \(key.enumerated().map { "r.\($1.quotedIdentifier) AS k\($0)" }.list),
                \(wasMade) AS is_made, \(candleCount("new_")) = 1 AS is_written, \(follows.joined(separator: " AND ")) AS follows,
                \(isBefore) AS is_before
                FROM \(source) AS r WHERE \(isIn(ranges))
                WINDOW before AS (PARTITION BY \(list(key, "r.")) ORDER BY r.\(rowID)))
            WINDOW candle AS (PARTITION BY \(keys) ORDER BY row) ORDER BY first, row
            """
    }

    /// Whether there was no candle before, by the row's number in the archive.
    var candleWasMade: String { "SELECT \(wasMade) FROM \(source) AS r WHERE r.\(rowID) = ?1" }

    /// Deletes a candle that is as the run wrote it, by the row's number in the archive.
    var candleDelete: String { "DELETE FROM \(target) WHERE \(isWritten)" }

    /// Restores the old values of such a candle.
    var candleUpdate: String {
        let values = columns.map { "\($0.quotedIdentifier) = \(value("old_" + $0))" }
        return "UPDATE OR ABORT \(target) SET \(values.list) WHERE \(isWritten)"
    }

    private var isWritten: String {
        (key.map { "\($0.quotedIdentifier) IS \(value($0))" }
            + columns.map { Self.same($0.quotedIdentifier, value("new_" + $0)) }).joined(separator: " AND ")
    }

    /// The archived rows, in some ranges, with the keys of candles that the run made.
    func rows(madeBy candles: RestorationTable, in ranges: [ClosedRange<Int64>]) -> String {
        "SELECT a.\(rowID) FROM \(source) AS a WHERE (\(candles.list(candles.key, "a."))) IN (SELECT \(candles.list(candles.key, "r.")) "
            + "FROM \(candles.source) AS r WHERE \(candles.wasMade) AND (\(candles.isIn(ranges))))"
    }

    private func isIn(_ ranges: [ClosedRange<Int64>], _ alias: String = "r") -> String {
        ranges.map { "\(alias).\(rowID) BETWEEN \($0.lowerBound) AND \($0.upperBound)" }.joined(separator: " OR ")
    }

    // MARK: Rows beside references

    private func exists(_ rows: RestorationTable?) -> String {
        let first = key[0].quotedIdentifier
        return rows == nil ? "m.\(first) IS NOT NULL" : "coalesce(m.\(first), a.\(first)) IS NOT NULL"
    }

    /// Joins references with the rows of the store and of the archive.
    private func withRows(_ rows: RestorationTable?) -> String {
        let join = rows.map { " LEFT JOIN \($0.source) AS a ON \(isKey("a", of: self))" } ?? ""
        return
            "FROM \(source) AS r LEFT JOIN \(target) AS m ON \(isKey("m", of: self))\(join) WHERE r.\(rowID) BETWEEN ?1 AND ?2"
    }
}

/// A row of `retention_tables`.
private struct ListedTable {
    let kind: ArchivedKind
    /// The names of the tables of the store and of the archive.
    let name: String
    let archived: String
    let key: [String]
    let columns: [String]
    /// Whether the store's table was STRICT.
    let wasStrict: Bool

    init(_ row: Row, archive: String) throws {
        func damaged(_ reason: String) -> StoreError { AttachedArchive.damaged(archive, reason) }
        func text(_ column: String) throws -> String {
            guard let text = String.fromDatabaseValue(row[column]) else {
                throw damaged("its list of tables has no \(column)")
            }
            return text
        }
        guard let kind = ArchivedKind(rawValue: try text("kind")) else {
            throw damaged("it has a table of an unknown kind")
        }
        self.kind = kind
        (name, archived) = (try text("store_table"), try text("archive_table"))
        let decoder = JSONDecoder()
        key = try decoder.decode([String].self, from: Data(try text("key").utf8))
        columns = try decoder.decode([String].self, from: Data(try text("columns").utf8))
        wasStrict = SchemaText.isStrict(try text("sql"))
        guard !key.isEmpty, !columns.isEmpty,
            [key, columns].allSatisfy({ Set($0.map { $0.folded }).count == $0.count })
        else { throw damaged("its table \(archived) has no columns, or a column twice") }
    }
}

extension CoreDataSchema {
    /// The columns of a table that refer to objects.
    fileprivate func references(ofTable table: String) -> [Relationship] {
        func relationship(_ columns: [String], to destination: String) -> Relationship {
            Relationship(
                source: table, sourceAttributes: columns.suffix(1), destination: destination,
                destinationAttributes: ["Z_PK"], deleteRule: .noAction, isIndexed: false)
        }
        return links.values.joined().flatMap { link in
            var found: [Relationship] = []
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
            return found
        }
    }
}
