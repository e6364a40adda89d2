import GRDB
import PriceStore

/// Obstacles to a delete in the schema, whatever the rows are. Nothing is executed to find them.
extension SQLiteFile {
    /// Why rows of a table cannot be deleted, or nil if they can.
    func unsupported(_ table: SQLiteTable, _ request: SurveyRequest, _ db: Database) throws -> String? {
        switch table.entity.kind {
        case .view: return "\(table.name) is a view: name the table that holds its rows"
        case .virtual: return "\(table.name) is a virtual table: its rows belong to a module, not to the store"
        case .table: break
        }
        if let reason = try unlikeNames(table, db) { return reason }
        if let managed = table.managed, let schema = try catalog.coreData(db),
            let reason = self.unsupported(managed, schema, request.relationships)
        {
            return reason
        }
        let reached = try keyGraph(of: table.name, request.relationships, db).keys.map(\.source)
        for name in [table.name] + reached where try catalog.table(name, db)?.keySQL.isEmpty == true {
            return "the columns of \(name) hide its rowid (rowid, _rowid_ and oid are all taken)"
        }
        for key in table.entity.incomingRelationships {
            if let reason = try mismatch(of: key, db) { return reason }
        }
        if let reason = try unlikeTypes(table, request.relationships, db) { return reason }
        let condition = try dateSQL(request.date, RowScope(table), db).readable(before: request.cutoff)
        let statements =
            ["DELETE FROM \(RowScope(table).target()) WHERE \(condition.text)"]
            + overridingStatements(table, request.relationships)
        if let flaw = try Self.flaw(of: statements, db) { return "SQLite cannot delete from \(table.name): \(flaw)" }
        let delete = BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(entity: request.entity),
            resultType: .count, relationships: request.relationships)
        if let reason = try fixedReference(of: delete, db) ?? obstacleOfOrder(delete, db) { return reason }
        if let reason = try triggerEffects(of: delete, writing: nil, db)?.refusedByKey { return reason }
        if let found = try obstacleOfHolds(request.keepers.holds, delete, writing: request.deleting.rollup?.target, db)
        {
            return found.text
        }
        if let reason = try changeOfChoice(request, table, delete, db) { return reason }
        if let target = request.deleting.rollup?.target,
            case let effects = try TriggerEffects(
                of: [table.tableName], clearing: [:], writing: TriggerText.Change.writes(into: target), self, db),
            let reason = effects.misplaced ?? effects.obstacle(toCandlesOf: table.tableName, in: target)
        {
            return reason
        }
        return nil
    }

    /// Why a rule would not delete the rows that it selects now, or nil: a trigger that its delete or an earlier rule's delete fires
    /// changes attributes by which it selects.
    private func changeOfChoice(
        _ request: SurveyRequest, _ table: SQLiteTable, _ own: BatchDeleteRequest, _ db: Database
    ) throws -> String? {
        let names = Set(request.expired.allAttributeNames + [request.date.name])
        let attributes = names.compactMap { table.entity.attribute(named: $0) }
        for delete in request.preceding + [own] {
            guard let effects = try triggerEffects(of: delete, writing: nil, db),
                let reason = effects.change(of: table.tableName, attributes: attributes)
            else { continue }
            return "\(reason), and the rule chooses its rows by \(names.sorted().list)"
        }
        return nil
    }

    /// Why SQLite cannot compile one of the statements; nil: it can. Triggers and constraints of the tables that foreign keys reach may
    /// call functions, collations and modules that this program lacks, or name tables that are gone. None is executed.
    static func flaw(of statements: [String], _ db: Database) throws -> String? {
        do {
            for statement in statements { _ = try db.makeStatement(sql: statement) }
            return nil
        } catch let error as DatabaseError {
            return error.reason
        }
    }

    /// The statements of the rule's override on the rows that refer to the table's rows.
    private func overridingStatements(
        _ table: SQLiteTable, _ rule: BatchDeleteRequest.RelationshipRule
    ) -> [String] {
        guard table.managed == nil, let rule = rule.deleteRule else { return [] }
        return table.entity.incomingRelationships.map { key in
            let source = "main." + key.source.quotedIdentifier
            guard rule == .nullify else { return "DELETE FROM \(source)" }
            return "UPDATE OR ABORT \(source) SET "
                + key.sourceAttributes.map { "\($0.quotedIdentifier) = NULL" }.list
        }
    }

    /// Why rows cannot be deleted children first, as a sentence, or nil if they can.
    func obstacleOfOrder(_ request: BatchDeleteRequest, _ db: Database) throws -> String? {
        if let circle = try keyGraph(of: request.fetchRequest.entity, request.relationships, db).circle {
            return circle.leadsBack
        }
        let effects = try triggerEffects(of: request, writing: nil, db)
        return effects?.misplaced ?? effects?.unreadable
    }

    /// Why names are refused that SQLite distinguishes and this program does not, or nil: `é` can be one code point or two.
    private func unlikeNames(_ table: SQLiteTable, _ db: Database) throws -> String? {
        let columns = table.entity.attributes.map { $0.name.folded }
        if Set(columns).count < columns.count {
            return
                "two columns of \(table.name) have names that differ only in how a letter is encoded. Rename one of them"
        }
        guard table.tableName.utf8.contains(where: { $0 >= 128 }) else { return nil }
        let names = try String.fetchAll(db, sql: "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')")
        return names.count { $0.folded == table.tableName.folded } < 2
            ? nil
            : "another table has a name that differs from \(table.name) only in how a letter is encoded. Rename one of them"
    }

    /// Why it is uncertain which rows refer to deleted rows, or nil if it is certain.
    ///
    /// A foreign key gives the child's value the affinity of the parent's column. In a comparison of the two columns the child's affinity
    /// may win: then the text '007' equals the number 7, and a cascade would delete the wrong rows. If the parent's affinity wins, SQLite
    /// contradicts itself unless the column is the rowid: the text '1.0' refers to the number 1, but the actions do not find it.
    private func unlikeTypes(
        _ table: SQLiteTable, _ rule: BatchDeleteRequest.RelationshipRule, _ db: Database
    ) throws -> String? {
        let keys = try keyGraph(of: table.name, rule, db).keys
        for (index, key) in keys.enumerated() {
            let other = keys[..<index].first {
                $0.source == key.source && $0.destination == key.destination
                    && Set($0.sourceAttributes) == Set(key.sourceAttributes) && $0.deleteRule != key.deleteRule
            }
            if other != nil {
                return
                    "\(key.source) (\(key.sourceAttributes.list)) has two foreign keys to \(key.destination) with "
                    + "different actions. Remove one of them"
            }
            let (child, parent) = try (scope(key.source, db).table, scope(key.destination, db).table)
            for (source, destination) in zip(key.sourceAttributes, key.destinationAttributes) {
                // A join compares RTRIM texts by a hash that includes their length. Source: filterHash() in SQLite's vdbe.c.
                if [child.collations[source.folded], parent.collations[destination.folded]].contains(where: {
                    $0?.uppercased() == "RTRIM"
                }) {
                    return
                        "the foreign key of \(key.source) (\(source)) compares texts by the collation RTRIM, and SQLite may overlook rows "
                        + "that refer to others then. Give both columns another collation"
                }
                guard let from = child.entity.attribute(named: source)?.affinity,
                    let to = parent.entity.attribute(named: destination)?.affinity
                else { continue }
                let isNumber = ![.text, .none].contains(to) && destination.folded != parent.rowIDAlias?.folded
                guard
                    to == .text && from != .text || to == .none && from != .none
                        || isNumber && [.text, .none].contains(from)
                else { continue }
                return
                    "the foreign key of \(key.source) (\(source)) refers to a column of another type, "
                    + "\(parent.name) (\(destination)): SQLite may treat different values of the two as equal. "
                    + "Give both columns the same type"
            }
        }
        return nil
    }

    /// Why SQLite refuses changes of both tables of a foreign key, or nil if it does not.
    func mismatch(of key: Relationship, _ db: Database) throws -> String? {
        let columns = "\(key.source) (\(key.sourceAttributes.list))"
        guard let parent = try catalog.table(key.destination, db) else {
            return "the foreign key of \(columns) refers to \(key.destination), which does not exist"
        }
        guard key.destinationAttributes.count == key.sourceAttributes.count,
            parent.isParentKey(key.destinationAttributes)
        else {
            return "the foreign key of \(columns) does not refer to a primary key or a unique key of \(parent.name)"
        }
        return nil
    }
}
