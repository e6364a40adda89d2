import GRDB
import PriceStore

/// The form of a Core Data store's persistent history: the entity numbers and the columns of its tables.
///
/// Source: the tables of stores written by Apple's framework; docs/core-data.md.
struct CoreDataHistory: Hashable {
    /// Why the history cannot be continued, or nil if it can.
    var unknownForm: String?
    /// The `Z_ENT` of changes, transactions and their strings.
    var change: Int64 = 0
    var transaction: Int64 = 0
    var string: Int64 = 0
    var tombstones: [String] = []

    /// The table of the transactions, their columns that refer to strings, and all tables of a history.
    static let transactions = "ATRANSACTION"
    static let strings = ["ZAUTHORTS", "ZBUNDLEIDTS", "ZCONTEXTNAMETS", "ZPROCESSIDTS"]
    static let tables = [transactions, "ACHANGE", "ATRANSACTIONSTRING"]

    /// A table of the mirror to CloudKit, which reads the history; nil: the store has none.
    var mirror: String?

    /// The transactions as an entity. A delete takes their changes along.
    var entity: CoreDataEntity {
        let date = ManagedAttribute(
            name: Entity.historyDate, kind: 900, isOptional: false, isTransient: false, isDerived: false,
            isExternal: false, isPreservedOnDelete: false)
        var entity = CoreDataEntity(
            name: Entity.persistentHistory, number: transaction, chain: [transaction], table: Self.transactions,
            sharesTable: false, memberNames: [transaction: Entity.persistentHistory],
            managed: ManagedEntity(
                name: Entity.persistentHistory, isAbstract: false, attributes: [date.name: date], relationships: [:]))
        entity.columns[date.name] = "ZTIMESTAMP"
        entity.unsupported = unknownForm
        return entity
    }

    /// The changes of transactions, which a cascade deletes.
    var changes: ModelLink {
        func link(_ name: String, _ rule: ModelRelationship.DeleteRule, maxCount: Int) -> ManagedRelationship {
            ManagedRelationship(
                name: name, destination: name, inverse: nil, deleteRule: rule, isOptional: true,
                maxCount: maxCount, hasOrder: false, isTransient: false)
        }
        return ModelLink(
            relationship: link("changes", .cascade, maxCount: 0), inverse: link("transaction", .noAction, maxCount: 1),
            table: Self.transactions, numbers: [transaction], coversTable: true, owner: Entity.persistentHistory,
            destinationTable: "ACHANGE",
            storage: .other(ModelLink.Reference(column: "ZTRANSACTIONID", companions: [])))
    }

    /// Whether an entity number is one of the history's own.
    static func isOwn(_ number: Int64) -> Bool { number >= 16000 }

    /// The store's history, or nil if it keeps none.
    static func read(_ columns: [String: Set<String>], _ db: Database) throws -> CoreDataHistory? {
        let changes = columns["ACHANGE"] ?? []
        let transactions = columns["ATRANSACTION"] ?? []
        guard !changes.isEmpty || !transactions.isEmpty else { return nil }
        var history = CoreDataHistory()
        history.mirror = columns.keys.filter { $0.uppercased().hasPrefix("ANSCK") }.min()
        var numbers: [String: Int64] = [:]
        for row in try Row.fetchAll(
            db, sql: "SELECT Z_ENT, Z_NAME FROM main.Z_PRIMARYKEY WHERE Z_ENT >= 16000 AND typeof(Z_NAME) = 'text'")
        {
            numbers[row["Z_NAME"]] = row["Z_ENT"]
        }
        guard let change = numbers["CHANGE"], let transaction = numbers["TRANSACTION"],
            let string = numbers["TRANSACTIONSTRING"]
        else {
            history.unknownForm =
                "Z_PRIMARYKEY does not list all of CHANGE, TRANSACTION and TRANSACTIONSTRING"
            return history
        }
        history.change = change
        history.transaction = transaction
        history.string = string
        history.tombstones = changes.filter { $0.hasPrefix("ZTOMBSTONE") }.sorted()
        let known: Set = [
            "Z_PK", "Z_ENT", "Z_OPT", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID", "ZCOLUMNS",
        ]
        let needed = Set(["Z_PK", "Z_ENT", "Z_OPT", "ZTIMESTAMP"] + Self.strings)
        let strings: Set = ["Z_PK", "Z_ENT", "Z_OPT", "ZNAME"]
        if let missing = known.subtracting(changes).sorted().first {
            history.unknownForm = "ACHANGE has no column \(missing)"
        } else if let extra = changes.subtracting(known).subtracting(history.tombstones).sorted().first {
            history.unknownForm = "ACHANGE has an unknown column \(extra)"
        } else if let missing = needed.subtracting(transactions).sorted().first {
            history.unknownForm = "ATRANSACTION has no column \(missing)"
        } else if let missing = strings.subtracting(columns["ATRANSACTIONSTRING"] ?? []).sorted().first {
            history.unknownForm = "ATRANSACTIONSTRING has no column \(missing)"
        }
        return history
    }

    /// Why deletes of these entities' rows cannot be recorded, or nil if they can.
    func obstacle(_ entities: [CoreDataEntity]) -> String? {
        if let unknownForm { return unknownForm }
        // One value has a known column. The columns of several values are unknown.
        for entity in entities {
            let kept = entity.preserved
            if kept.count > 1 {
                return "\(entity.name) preserves \(kept.list) of deleted rows, and it is unknown "
                    + "which column is for which"
            }
            if kept.count == 1, tombstones.isEmpty {
                return "ACHANGE has no tombstone column for the value that \(entity.name) preserves"
            }
        }
        return nil
    }

    func recorder(_ connection: SQLiteFile, _ db: Database) throws -> Recorder {
        if let unknownForm {
            throw connection.failure(
                .unsupported, "the store keeps a history in a form that cannot be continued: \(unknownForm)")
        }
        return try Recorder(self, connection, db)
    }

    /// Records the changes of one transaction.
    struct Recorder {
        private let history: CoreDataHistory
        private let connection: SQLiteFile
        private let db: Database
        private let transaction: Int64
        /// The temporary table of rows that this transaction has recorded as inserted or updated, so that each is recorded once.
        private let updated: String

        fileprivate init(_ history: CoreDataHistory, _ connection: SQLiteFile, _ db: Database) throws {
            self.history = history
            self.connection = connection
            self.db = db
            transaction = try Self.nextKey(history.transaction, "ATRANSACTION", connection, db)
            let author = try Self.string("retention", history, connection, db)
            // Seconds since 2001-01-01; the julian day of that instant is 2451910.5.
            try db.execute(
                sql: """
                    INSERT INTO main.ATRANSACTION (Z_PK, Z_ENT, Z_OPT, ZAUTHORTS, ZPROCESSIDTS, ZTIMESTAMP)
                    VALUES (?, ?, NULL, ?, ?, (julianday('now') - 2451910.5) * 86400.0)
                    """, arguments: [transaction, history.transaction, author, author])
            updated = connection.temporaryName("recorded")
            try db.execute(
                sql: "CREATE TEMP TABLE \(updated) (entity INTEGER, k0 INTEGER, PRIMARY KEY (entity, k0)) WITHOUT ROWID"
            )
        }

        /// Records the deletion of rows. Must be called before they are deleted.
        func recordDeletes(of table: String, keys: String, _ schema: CoreDataSchema) throws {
            let kept = schema.entities.values.filter { $0.table == table && !$0.preserved.isEmpty }
            let place = history.tombstones.first
            var tombstone = ""
            if let place, !kept.isEmpty {
                let cases = kept.compactMap { entity in
                    entity.columns[entity.preserved[0].lowercased()].map {
                        "WHEN \(entity.number) THEN gone.\($0.quotedIdentifier)"
                    }
                }
                tombstone = ", CASE gone.Z_ENT \(cases.joined(separator: " ")) END AS \(place)"
            }
            try append(
                2,
                "SELECT gone.Z_ENT AS ent, gone.Z_PK AS pk\(tombstone) FROM main.\(table.quotedIdentifier) AS gone "
                    + "WHERE gone.Z_PK IN (\(keys))", tombstone: tombstone.isEmpty ? nil : place)
            // A row that was updated and then deleted is recorded as deleted only.
            try db.execute(
                sql: """
                    DELETE FROM main.ACHANGE WHERE ZTRANSACTIONID = \(transaction) AND ZCHANGETYPE = 1
                    AND (ZENTITY, ZENTITYPK) IN (SELECT Z_ENT, Z_PK FROM main.\(table.quotedIdentifier)
                    WHERE Z_PK IN (\(keys)))
                    """)
        }

        func recordUpdates(of table: String, keys: String) throws { try recordChanges(1, of: table, keys: keys) }

        func recordInsert(of table: String, key: Int64) throws { try recordChanges(0, of: table, keys: "\(key)") }

        /// Updates the key counters of the history's entities and drops the temporary table.
        func finish() throws {
            try db.execute(
                sql: """
                    UPDATE main.Z_PRIMARYKEY SET Z_MAX = max(ifnull(Z_MAX, 0),
                        (SELECT ifnull(max(Z_PK), 0) FROM main.ACHANGE)) WHERE Z_ENT = \(history.change);
                    DROP TABLE temp.\(updated)
                    """)
        }

        private func recordChanges(_ kind: Int, of table: String, keys: String) throws {
            let rows =
                "SELECT stays.Z_ENT AS ent, stays.Z_PK AS pk FROM main.\(table.quotedIdentifier) AS stays "
                + "WHERE stays.Z_PK IN (\(keys)) "
            let new =
                "SELECT ent, pk FROM (\(rows)) AS new WHERE NOT EXISTS "
                + "(SELECT 1 FROM temp.\(updated) AS known WHERE known.entity = new.ent AND known.k0 = new.pk)"
            try append(kind, new, tombstone: nil)
            try db.execute(sql: "INSERT OR IGNORE INTO temp.\(updated) \(rows)")
        }

        private func append(_ kind: Int, _ rows: String, tombstone: String?) throws {
            // The new keys follow the greatest one ever assigned: the framework takes a lower key for a change that it has already seen.
            let next =
                "(SELECT max(ifnull((SELECT Z_MAX FROM main.Z_PRIMARYKEY WHERE Z_ENT = \(history.change)), 0), "
                + "ifnull((SELECT max(Z_PK) FROM main.ACHANGE), 0)))"
            let (name, value) = tombstone.map { (", \($0)", ", \($0)") } ?? ("", "")
            try db.execute(
                sql: """
                    INSERT INTO main.ACHANGE (Z_PK, Z_ENT, Z_OPT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID\(name))
                    SELECT \(next) + row_number() OVER (ORDER BY ent, pk), \(history.change), NULL, \(kind), ent, pk,
                        \(transaction)\(value) FROM (\(rows))
                    """)
        }

        /// The next key of one of the history's entities. Records it as assigned.
        private static func nextKey(
            _ number: Int64, _ table: String, _ connection: SQLiteFile, _ db: Database
        ) throws -> Int64 {
            let next = try connection.nextKey(of: number, in: table, db)
            try db.execute(
                sql: "UPDATE main.Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", arguments: [next, number])
            return next
        }

        private static func string(
            _ name: String, _ history: CoreDataHistory, _ connection: SQLiteFile, _ db: Database
        ) throws -> Int64 {
            if let known = try Int64.fetchOne(
                db, sql: "SELECT Z_PK FROM main.ATRANSACTIONSTRING WHERE ZNAME = ?", arguments: [name])
            {
                return known
            }
            let next = try nextKey(history.string, "ATRANSACTIONSTRING", connection, db)
            try db.execute(
                sql: "INSERT INTO main.ATRANSACTIONSTRING (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (?, ?, NULL, ?)",
                arguments: [next, history.string, name])
            return next
        }
    }
}

extension CoreDataEntity {
    /// The attributes whose values a history preserves after a delete, sorted.
    var preserved: [String] {
        managed?.attributes.values.filter { $0.isPreservedOnDelete && !$0.isTransient }.map(\.name).sorted() ?? []
    }
}
