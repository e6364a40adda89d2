import GRDB
import PriceStore

/// What foreign keys do when rows of a table are deleted, by the schema and the request, whatever the rows are.
struct KeyGraph {
    /// The deletes that share a graph.
    struct Cause: Hashable {
        var entity: String
        var relationships: BatchDeleteRequest.RelationshipRule
    }

    /// The tables that lose rows: first the delete's own, and each after all tables that cascade to it.
    private(set) var losing: [String] = []
    /// The foreign keys that refer to these tables, with the rules that apply.
    private(set) var keys: [Relationship] = []
    /// The attributes whose references are cleared, by table: by the delete, or by SQLite where the request overrides the schema.
    private(set) var clearing: [String: [String]] = [:]
    /// The foreign keys that the request clears although the schema has another action.
    private(set) var forced: [Relationship] = []
    /// A foreign key through which cascades lead back to a table on their way, or nil.
    private(set) var circle: Relationship?

    func keys(into table: String) -> [Relationship] { keys.filter { $0.destination.folded == table.folded } }

    /// Whether rows that refer to deleted rows are deleted or changed.
    var takesOthers: Bool { keys.contains { $0.deleteRule == .cascade || $0.clears || $0.deleteRule == .setDefault } }

    fileprivate init(
        _ own: SQLiteTable, _ request: BatchDeleteRequest, _ connection: SQLiteFile, _ db: Database
    ) throws {
        var found: [String] = []
        try visit(own, [], &found, request, connection, db)
        losing = found.reversed()
        for name in losing {
            for key in try connection.scope(name, db).table.entity.incomingRelationships {
                let acting = key.with(deleteRule: request.deleteRule(of: key))
                keys.append(acting)
                if acting.clears, ![.nullify, .noAction].contains(key.deleteRule) { forced.append(acting) }
                guard request.relationships != .deny, acting.clears || key.clears else { continue }
                clearing[key.source, default: []].addMissing(key.sourceAttributes)
            }
        }
    }

    /// Follows the cascades. A table is done after all tables that it cascades to.
    private mutating func visit(
        _ table: SQLiteTable, _ path: Set<String>, _ done: inout [String], _ request: BatchDeleteRequest,
        _ connection: SQLiteFile, _ db: Database
    ) throws {
        let path = path.union([table.name])
        for key in table.entity.incomingRelationships where request.relationships != .deny {
            guard request.deleteRule(of: key) == .cascade, let child = try connection.catalog.table(key.source, db)
            else { continue }
            if path.contains(child.name) {
                circle = circle ?? key
            } else if !done.contains(child.name) {
                try visit(child, path, &done, request, connection, db)
            }
        }
        done.append(table.name)
    }

    func firesTriggers(_ connection: SQLiteFile, _ db: Database) throws -> Bool {
        try losing.contains { try connection.catalog.table($0, db)?.entity.deleteTriggers.isEmpty == false }
            || clearing.keys.contains { try connection.catalog.table($0, db)?.entity.updateTriggers.isEmpty == false }
    }
}

extension SQLiteFile {
    /// The foreign keys that act on a delete from a table.
    func keyGraph(
        of entity: String, _ relationships: BatchDeleteRequest.RelationshipRule, _ db: Database
    ) throws -> KeyGraph {
        let cause = KeyGraph.Cause(entity: entity.folded, relationships: relationships)
        if let known = catalog.keyGraphs[cause] { return known }
        let table = try scope(entity, db).table
        let request = BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(entity: table.name), relationships: relationships)
        let graph = try KeyGraph(table, request, self, db)
        catalog.keyGraphs[cause] = graph
        return graph
    }
}

extension BatchDeleteRequest {
    /// The delete rule of a relationship in this request: the override if the relationship refers to the request's entity, otherwise the
    /// schema's rule.
    func deleteRule(of key: Relationship) -> Relationship.DeleteRule {
        guard let rule = relationships.deleteRule, key.destination.folded == fetchRequest.entity.folded
        else { return key.deleteRule }
        return rule
    }
}

extension Relationship {
    /// Whether a delete of the destination sets the reference of the source rows to NULL.
    var clears: Bool { deleteRule == .nullify }

    /// The condition that a row of the source refers to one of the destination, each by its alias. Without attributes, none does.
    func refers(_ source: String, to destination: String) -> String {
        let same = zip(sourceAttributes, destinationAttributes).map {
            "\(destination).\($1.quotedIdentifier) = \(source).\($0.quotedIdentifier)"
        }
        return same.isEmpty ? "FALSE" : same.joined(separator: " AND ")
    }
}

extension [String] {
    mutating func addMissing(_ others: [String]) { append(contentsOf: others.filter { !contains($0) }) }
}
