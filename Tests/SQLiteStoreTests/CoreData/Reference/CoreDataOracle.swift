import GRDB
import PriceStore
import TestSupport

@testable import CoreDataSamples

/// One random Core Data store and one batch delete, carried out by an engine and by the reference.
struct CoreDataOracle {
    /// A delete of the rows of an entity whose date is before a cutoff.
    struct Request {
        var entity: String
        var dateAttribute: String
        /// Seconds since 2001-01-01T00:00:00Z, with half seconds at most.
        var cutoffAppleSeconds: Double
        /// Whether rows of the entity's sub-entities are meant too.
        var includesSubentities = true
    }

    /// What an engine says it has done.
    enum Outcome: Equatable {
        case done(deleted: Int, cascaded: Int, nullified: Int)
        /// The request is refused, with the message.
        case refused(String)
    }

    /// Carries out a request on the file of that path and closes it.
    typealias Engine = (_ path: String, _ request: Request) throws -> Outcome

    let store: TemporaryStore
    let reference: ReferenceDeletes
    let request: Request
    /// What a random model and its rows are there to try.
    var seen: Set<String> = []

    /// A delete in a store that is there already.
    init(_ store: TemporaryStore, _ model: ModelDescription, _ request: Request) throws {
        self.store = store
        self.request = request
        reference = ReferenceDeletes(model: model, rows: try ReferenceRows(path: store.path))
    }

    init(seed: UInt64) throws {
        var random = RandomModel(seed: seed)
        let store = try TemporaryStore(inMemory: true)
        let hasHistory = random.chance(15)
        try random.write(path: store.path, hasHistory: hasHistory)
        let cutoff = RandomModel.firstDate + Double(random.pick([0, 300, 1200, 1800, 2400, 3000, 4000]))
        let request = Request(
            entity: random.pick(random.model.entities).name, dateAttribute: RandomModel.date,
            cutoffAppleSeconds: cutoff,
            includesSubentities: random.pick([true, true, false]))
        try self.init(store, random.model, request)
        seen = random.seen
    }

    /// The keys of the rows that the request matches.
    var keys: Set<Int64> {
        reference.keys(
            of: request.entity, request.dateAttribute, before: request.cutoffAppleSeconds,
            includesSubentities: request.includesSubentities)
    }

    /// What the reference does.
    func expected() -> ReferenceDeletes.Result {
        reference.delete(request.entity, keys: keys, includesSubentities: request.includesSubentities)
    }

    /// What the engine does otherwise than the reference, a line each; empty: nothing.
    ///
    /// - Parameter isDryRun: whether the engine only predicts, so that the file must stay as it is.
    func differences(isDryRun: Bool = false, _ engine: Engine) throws -> [String] {
        var expected = expected()
        let outcome = try engine(store.path, request)
        var lines: [String] = []
        switch outcome {
        case .refused(let message):
            if expected.refusals.isEmpty {
                lines.append("is refused: \(message)")
            } else if !expected.refusals.contains(where: { message.contains($0.property.name) }) {
                lines.append("is refused with \(message), expected one of \(expected.refusals)")
            }
        case .done where !expected.refusals.isEmpty:
            lines.append("is carried out, but should be refused for \(expected.refusals)")
        case .done(let deleted, let cascaded, let nullified):
            let said = [deleted, cascaded, nullified]
            let counts = [expected.matched.count, expected.cascaded.count, expected.nullified.count]
            if said != counts { lines.append("says \(said) are deleted, cascaded, nullified, expected \(counts)") }
        }
        if isDryRun { expected.rows = reference.rows }
        return lines + (try Self.compare(engineFile: store.path, reference: expected))
    }

    /// What differs between a file after an engine's delete and the result of the reference, a line each.
    static func compare(engineFile: String, reference: ReferenceDeletes.Result) throws -> [String] {
        reference.rows.differences(in: try ReferenceRows(path: engineFile))
    }

    /// The model and the request, for a failure.
    var story: String {
        let entities = reference.model.entities.map { entity in
            let relationships = entity.relationships.map { relationship in
                "\n      \(relationship.name) -> \(relationship.destination)/\(relationship.inverse ?? "-") "
                    + "\(relationship.rule)\(relationship.isToMany ? " to-many" : "")"
                    + (relationship.isOrdered ? " ordered" : "") + (relationship.isOptional ? "" : " mandatory")
            }
            return "    \(entity.name)\(entity.parent.map { ": " + $0 } ?? "")" + relationships.joined()
        }
        return entities.joined(separator: "\n")
            + "\n    delete \(request.includesSubentities ? "" : "only ")\(request.entity) "
            + "before \(request.cutoffAppleSeconds), \(keys.sorted())"
    }
}

extension ReferenceDeletes {
    /// The keys of an entity's rows, those that inherit from it included if they are meant, whose date is before a cutoff.
    func keys(
        of entity: String, _ attribute: String, before cutoff: Double, includesSubentities: Bool = true
    ) -> Set<Int64> {
        let family = Set(
            model.family(entity).filter { includesSubentities || $0.name == entity }.compactMap {
                layout.numbers[$0.name].map { StoreValue.integer(Int64($0)) }
            })
        let table = rows.objects[CoreDataLayout.table(model.lineage(entity).first?.name ?? "")] ?? [:]
        let column = CoreDataLayout.column(attribute)
        return Set(
            table.filter { _, row in
                guard family.contains(row["Z_ENT"] ?? .null) else { return false }
                switch row[column] ?? .null {
                case .integer(let seconds): return Double(seconds) < cutoff
                case .real(let seconds): return seconds < cutoff
                default: return false
                }
            }.keys)
    }
}

extension ReferenceDeletes.Refusal {
    /// The relationship that stands in the way.
    var property: CoreDataLayout.Property {
        switch self {
        case .denyRule(let property), .mandatory(let property), .dangling(let property): property
        }
    }
}
