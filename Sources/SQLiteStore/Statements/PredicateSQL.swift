import GRDB
import PriceStore

extension SQLiteFile {
    func scope(_ entity: String, _ db: Database) throws -> RowScope {
        guard let table = try catalog.table(entity, db) else {
            throw failure(.unknownName, "the store has no entity '\(entity)'")
        }
        return RowScope(table)
    }

    /// The rows that a request covers without its predicate, with or without those of sub-entities.
    func scope(of request: StoreFetchRequest, _ db: Database) throws -> RowScope {
        let scope = try scope(request.entity, db)
        // The attributes are checked even where the order does not matter.
        _ = try order(request.sortDescriptors, scope)
        return request.includesSubentities ? scope : scope.withoutSubentities
    }

    func dateSQL(_ date: DateAttribute, _ scope: RowScope, _ db: Database) throws -> DateSQL {
        let attribute = try scope.attribute(date.name, store: name)
        return DateSQL(
            date: date, column: scope.column(attribute), affinity: attribute.affinity,
            function: date.encoding.isNumeric ? nil : try functions.date(date.encoding, date.zone, db))
    }

    /// A predicate as an SQL condition on the rows of a scope.
    ///
    /// - Parameter depth: how many conditions it is nested in. SQLite limits it, and so does the stack of this thread.
    func condition(
        _ predicate: StorePredicate, _ scope: RowScope, _ db: Database, depth: Int = 0
    ) throws -> SQLFragment {
        guard depth < 100 else {
            throw failure(.unsupported, "a condition is nested more than 100 times")
        }
        func part(_ part: StorePredicate) throws -> SQLFragment { try condition(part, scope, db, depth: depth + 1) }
        func column(_ name: String) throws -> String { try scope.column(name, store: self.name) }
        switch predicate {
        case .all: return .always
        case .compare(let attribute, let comparison, let value):
            return "\(try column(attribute)) \(comparison.sql) \(bound: value)"
        case .between(let attribute, let low, let high):
            return "\(try column(attribute)) BETWEEN \(bound: low) AND \(bound: high)"
        case .begins(let attribute, let text):
            return TextSQL(try scope.attribute(attribute, store: name), scope).begins(with: text)
        case .contains(let attribute, let text):
            return TextSQL(try scope.attribute(attribute, store: name), scope).contains(text)
        case .isIn(let attribute, let values):
            return "\(try column(attribute)) IN (\(bound: values))"
        case .isNull(let attribute):
            return "\(try column(attribute)) IS NULL"
        case .isNotNull(let attribute):
            return "\(try column(attribute)) IS NOT NULL"
        case .and(let parts):
            return .all(try parts.filter { !scope.table.followsFrom(parts, $0) }.map(part))
        case .or(let parts):
            return .any(try parts.map(part))
        case .not(let opposite):
            return "NOT (\(try part(opposite)))"
        case .notTrue(let opposite):
            return "(\(try part(opposite))) IS NOT TRUE"
        case .date(let range):
            // A delete removes the range from its predicate first; see ``BatchDelete``.
            return try dateSQL(range.date, scope, db).readable(from: range.from, before: range.before)
        case .declaredDate:
            return try condition(predicate.withDeclaredDates(of: scope.table.entity, store: name), scope, db)
        case .dateCompare(let date, let comparison, let instant):
            return try dateSQL(date, scope, db).readable(comparison, instant)
        case .spares(let spared):
            return switch spared.kind {
            case .notKept(let keepLast): try notKept(keepLast, scope, db)
            case .notPicked(let thinning): try notPicked(thinning, scope, db)
            case .notHeld(let holds, let rule): try notHeld(holds, by: rule, scope, db)
            }
        case .key(let range):
            return scope.keys(after: range.after, through: range.through)
        case .objectIDs(let ids):
            return try keyCondition(ids, scope, db)
        }
    }
}

extension SQLiteTable {
    /// Whether a condition that excludes texts follows from another one, which requires other texts of the same column. Only bytes are
    /// compared: another collation holds different texts equal.
    fileprivate func followsFrom(_ parts: [StorePredicate], _ part: StorePredicate) -> Bool {
        guard case .notTrue(.isIn(let name, let excluded)) = part, let attribute = entity.attribute(named: name),
            attribute.affinity == .text, collations[attribute.name.folded]?.uppercased() == "BINARY"
        else { return false }
        return parts.contains {
            // A column for text compares a number as its text.
            guard case .isIn(name, let required) = $0, (required + excluded).allSatisfy(\.isText) else { return false }
            return Set(required).isDisjoint(with: excluded)
        }
    }
}
