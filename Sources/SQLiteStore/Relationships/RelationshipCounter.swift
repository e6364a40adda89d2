import GRDB
import GRDBSQLite
import PriceStore

/// Counts the rows that are deleted or changed because a relationship says so, by temporary triggers on the tables that a delete
/// can reach. SQLite's own change count leaves foreign key actions out.
final class RelationshipCounter {
    /// What was counted since the last batch.
    struct Counts {
        /// Rows that a cascade deleted.
        var cascaded = 0
        /// Rows that lost a reference and are still there; below 0 if some that had lost one before were deleted.
        var nullified = 0
        /// Rows of the entity itself that the predicate names and that were deleted; nil: the engine's own count says it.
        var direct: Int?
    }

    fileprivate var counts = Counts()
    /// What the predicate in a trigger is compared with: a trigger cannot have parameters.
    fileprivate let arguments: [StoreValue]
    private let countsDirect: Bool

    private init(arguments: [StoreValue], countsDirect: Bool) {
        self.arguments = arguments
        self.countsDirect = countsDirect
        _ = take()
    }

    /// What was counted since this was last asked.
    func take() -> Counts {
        defer { counts = Counts(direct: countsDirect ? 0 : nil) }
        return counts
    }

    /// Makes the triggers for a delete; nil if no relationship can be touched by it.
    static func make(
        _ request: StoreFetchRequest, _ rule: BatchDeleteRequest.RelationshipRule, _ connection: SQLiteFileConnection,
        _ db: Database
    ) throws -> RelationshipCounter? {
        let reach = try Reach(of: request.entity, rule, connection, db)
        guard !reach.cascading.isEmpty || !reach.nullifying.isEmpty else { return nil }
        let scope = try connection.scope(of: request, db)
        let table = scope.table
        let isOwn = reach.cascading.contains(table.name)
        let named = isOwn ? try connection.condition(request.predicate, scope, db) : .always
        let counter = RelationshipCounter(arguments: named.arguments.map(StoreValue.init), countsDirect: isOwn)
        // A rollback can bring triggers back that were removed with an older counter: these functions take their place.
        try db.addFunctions(
            of: counter,
            [
                ("retention_count_delete", 1, countDelete), ("retention_count_nullify", 1, countNullify),
                ("retention_argument", 1, argument),
            ])
        for (index, entity) in reach.cascading.sorted().enumerated() {
            let target = try connection.scope(entity, db).table
            // Rows of the entity itself that the rule names count as deleted, whichever way they are deleted. They are looked up
            // while they are still there: OLD has no affinity, so that a predicate on it could say something else.
            let isOld = zip(scope.key, table.keySQL).map { "\($0) = OLD.\($1)" }.joined(separator: " AND ")
            let kind =
                entity == table.name
                ? "EXISTS (SELECT 1 FROM \(scope.from()) WHERE \(isOld) AND (\(named.literalArguments("retention_argument"))))"
                : "0"
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER retention_cascade_\(index) BEFORE DELETE ON \(target.sql)
                    BEGIN SELECT retention_count_delete(\(kind)); END
                    """)
        }
        // No OR IGNORE below: in a trigger the conflict policy of the statement that fired it would take its place.
        for (index, entry) in reach.nullifying.sorted(by: { $0.key < $1.key }).enumerated() {
            let target = try connection.scope(entry.key, db).table
            let names = target.keySQL.indices.map { "k\($0)" }.joined(separator: ", ")
            let new = target.keySQL.map { "NEW.\($0)" }.joined(separator: ", ")
            let same = zip(target.keySQL.indices, target.keySQL).map { "k\($0) = OLD.\($1)" }
            let known = zip(target.keySQL.indices, target.keySQL).map { "k\($0) = NEW.\($1)" }
            let columns = entry.value.map(\.quotedIdentifier)
            let changed = columns.map { "OLD.\($0) IS NOT NEW.\($0)" }.joined(separator: " OR ")
            try db.execute(
                sql: """
                    CREATE TEMP TABLE retention_nullified_\(index) (\(names), PRIMARY KEY (\(names))) WITHOUT ROWID;
                    CREATE TEMP TRIGGER retention_nullify_\(index) AFTER UPDATE OF \(columns.joined(separator: ", "))
                    ON \(target.sql) WHEN \(changed)
                    BEGIN
                        INSERT INTO retention_nullified_\(index) SELECT \(new) WHERE NOT EXISTS
                            (SELECT 1 FROM retention_nullified_\(index) WHERE \(known.joined(separator: " AND ")));
                        SELECT retention_count_nullify(changes());
                    END;
                    CREATE TEMP TRIGGER retention_nullify_end_\(index) AFTER DELETE ON \(target.sql)
                    BEGIN
                        DELETE FROM retention_nullified_\(index) WHERE \(same.joined(separator: " AND "));
                        SELECT retention_count_nullify(-changes());
                    END
                    """)
        }
        return counter
    }
}

private func countDelete(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let counter = functionObject(context, RelationshipCounter.self) else { return }
    if sqlite3_value_int(values?[0]) != 0 { counter.counts.direct? += 1 } else { counter.counts.cascaded += 1 }
}

private func countNullify(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    functionObject(context, RelationshipCounter.self)?.counts.nullified += Int(sqlite3_value_int64(values?[0]))
}

private func argument(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let counter = functionObject(context, RelationshipCounter.self) else { return }
    let index = Int(sqlite3_value_int64(values?[0]))
    guard counter.arguments.indices.contains(index) else { return }
    counter.arguments[index].become(resultOf: context)
}

/// The entities that deletes of an entity can reach.
struct Reach {
    /// Entities that lose rows by a cascade; the entity itself if a chain of cascades leads back to it.
    var cascading: Set<String> = []
    /// Entities whose rows lose references, with the attributes that hold them.
    var nullifying: [String: [String]] = [:]
    /// The same, and what SQLite itself clears by a key that the rule overrides: a row that is deleted by the same statement as
    /// the row that it refers to can lose the reference before it is deleted.
    private(set) var clearing: [String: [String]] = [:]

    init(
        of entity: String, _ rule: BatchDeleteRequest.RelationshipRule, _ connection: SQLiteFileConnection,
        _ db: Database
    ) throws {
        var waiting = [entity]
        var seen: Set<String> = []
        while let next = waiting.popLast() {
            guard seen.insert(next.folded).inserted, let table = try connection.catalog.table(next, db) else {
                continue
            }
            for key in table.entity.incomingRelationships {
                guard let source = try connection.catalog.table(key.source, db)?.name else { continue }
                let acting = key.with(deleteRule: next == entity ? rule.deleteRule ?? key.deleteRule : key.deleteRule)
                if acting.deleteRule == .cascade {
                    cascading.insert(source)
                    waiting.append(source)
                }
                if acting.clears { nullifying[source, default: []].addMissing(key.sourceAttributes) }
                if acting.clears || key.clears { clearing[source, default: []].addMissing(key.sourceAttributes) }
            }
        }
    }
}

extension [String] {
    mutating func addMissing(_ others: [String]) { append(contentsOf: others.filter { !contains($0) }) }
}

extension SQLFragment {
    /// The text with every parameter replaced by a call of a function that yields it, for a trigger. Question marks inside
    /// quoted names and texts are not parameters.
    func literalArguments(_ function: String) -> String {
        var result = ""
        var quote: Character?
        var index = 0
        for character in text {
            if let open = quote {
                if character == open { quote = nil }
            } else if character == "`" || character == "\"" || character == "'" {
                quote = character
            } else if character == "?" {
                result += "\(function)(\(index))"
                index += 1
                continue
            }
            result.append(character)
        }
        return result
    }
}
