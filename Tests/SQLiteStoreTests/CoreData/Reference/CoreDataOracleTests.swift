import Foundation
import GRDB
import PriceStore
import TestSupport
import Testing

@testable import CoreDataSamples

/// Random Core Data stores and batch deletes against the reference; see ``Trials``.
struct CoreDataOracleTests {
    private static let trials = Trials(300, inPortionsOf: 50)

    private func tryAll(_ seeds: Range<UInt64>, _ differences: (CoreDataOracle) throws -> [String]) {
        Self.trials.run(seeds, on: CoreDataOracle.init, story: \.story) { $1 = try differences($0) }
    }

    @Test(arguments: trials.portions)
    func aDeleteDoesWhatTheReferenceSays(_ seeds: Range<UInt64>) {
        tryAll(seeds) { try $0.differences(CoreDataEngine.delete) }
    }

    @Test(arguments: trials.portions)
    func batchesDoWhatTheReferenceSays(_ seeds: Range<UInt64>) {
        tryAll(seeds) { try $0.differences(CoreDataEngine.deleteInBatches) }
    }

    @Test(arguments: trials.portions)
    func theSurveyPredictsWhatTheReferenceSays(_ seeds: Range<UInt64>) {
        tryAll(seeds) { try $0.differences(isDryRun: true, CoreDataEngine.survey) }
    }

    /// A plain `DELETE` leaves dangling rows and asks no rule: if the reference took it for right, it would see nothing.
    @Test func aPlainDeleteIsFoundOut() throws {
        var wrongCount = 0
        for seed in 1...80 as ClosedRange<UInt64> {
            let oracle = try CoreDataOracle(seed: seed)
            let differences = try oracle.differences { path, request in
                let queue = try DatabaseQueue(path: path)
                defer { try? queue.close() }
                let table = oracle.reference.layout.tables.first { table in
                    oracle.reference.model.family(table.root).contains { $0.name == request.entity }
                }
                try queue.write { db in
                    for key in oracle.keys {
                        try db.execute(
                            sql: "DELETE FROM \((table?.name ?? "").quotedDatabaseIdentifier) WHERE Z_PK = ?",
                            arguments: [key])
                    }
                }
                return .done(deleted: oracle.keys.count, cascaded: 0, nullified: 0)
            }
            let expected = oracle.expected()
            let isPlain =
                expected.refusals.isEmpty && expected.cascaded.isEmpty && expected.updated.isEmpty
                && expected.rows.others == oracle.reference.rows.others
            #expect(differences.isEmpty == isPlain, "seed \(seed): \(differences)")
            if !isPlain { wrongCount += 1 }
        }
        #expect(wrongCount > 20)
    }

    // MARK: Laws of the reference

    @Test(arguments: trials.portions)
    func nothingDanglesThatDidNotBeforeUnlessTheRuleIsNoAction(_ seeds: Range<UInt64>) {
        tryAll(seeds) { oracle in
            let before = oracle.reference.rows
            let after = oracle.expected().rows
            let layout = oracle.reference.layout
            let model = oracle.reference.model
            var found: [String] = []
            for entity in model.entities {
                for relationship in entity.relationships {
                    let property = CoreDataLayout.Property(entity: entity.name, name: relationship.name)
                    let inverse = relationship.inverse.flatMap { model.relationship($0, of: relationship.destination) }
                    if inverse?.relationship.rule == .noAction { continue }
                    let root = model.lineage(relationship.destination)[0].name
                    let table = CoreDataLayout.table(root)
                    func dangles(_ key: StoreValue?) -> Bool {
                        guard case .integer(let key)? = key else { return false }
                        return before.objects[table]?[key] != nil && after.objects[table]?[key] == nil
                    }
                    if let reference = layout.references[property] {
                        for (key, row) in after.objects[reference.table] ?? [:] where dangles(row[reference.key]) {
                            found.append("\(reference.table) \(key) \(relationship.name) dangles")
                        }
                    }
                    for join in layout.joins where join.source == property && relationship.rule != .noAction {
                        for row in after.others[join.table] ?? [] where dangles(row[join.destinationColumn]) {
                            found.append("\(join.table) has \(row)")
                        }
                    }
                }
            }
            return found
        }
    }

    @Test(arguments: trials.portions)
    func theRowsThatAreLeftDoNotDependOnHowARequestIsDivided(_ seeds: Range<UInt64>) {
        tryAll(seeds) { oracle in
            let whole = oracle.expected()
            guard whole.refusals.isEmpty else { return [] }
            var current = oracle.reference
            for part in [0, 1] {
                let keys = Set(oracle.keys.sorted().enumerated().filter { $0.offset % 2 == part }.map(\.element))
                let result = current.delete(oracle.request.entity, keys: keys)
                // A part may be refused for rows that the other part takes along.
                guard result.refusals.isEmpty else { return [] }
                current = ReferenceDeletes(model: oracle.reference.model, rows: result.rows)
            }
            return whole.rows.differences(in: current.rows)
        }
    }

    /// The generator reaches what it is there for: without this, a change to it could silently leave tests empty.
    @Test func theGeneratorReachesEveryKindOfRelationshipAndResult() throws {
        var seen: Set<String> = []
        for seed in 1...400 as ClosedRange<UInt64> {
            let oracle = try CoreDataOracle(seed: seed)
            let result = oracle.expected()
            seen.formUnion(oracle.seen)
            if result.refusals.isEmpty {
                if !result.cascaded.isEmpty { seen.insert("cascaded") }
                if !result.nullified.isEmpty { seen.insert("nullified") }
                if result.updated.count > result.nullified.count { seen.insert("counted down") }
                if result.rows.others != oracle.reference.rows.others { seen.insert("join rows go") }
            }
            for refusal in result.refusals {
                switch refusal {
                case .denyRule: seen.insert("refused: deny rule")
                case .mandatory: seen.insert("refused: mandatory")
                case .dangling: seen.insert("refused: dangling")
                }
            }
        }
        let kinds = ["to-one and to-many", "one-to-one", "many-to-many", "one way"]
        let expected = Set(
            kinds + kinds.map { "reflexive " + $0 }
                + ["one-to-one that is its own inverse", "many-to-many that is its own inverse"]
                + [
                    "ordered to-many", "ordered many-to-many", "three levels", "destination with sub-entities",
                    "mandatory",
                ]
                + ["rule noAction", "rule nullify", "rule cascade", "rule deny"]
                + ["cascaded", "nullified", "counted down", "join rows go"]
                + ["deny rule", "mandatory", "dangling"].map { "refused: " + $0 })
        #expect(seen.isSuperset(of: expected), "missing: \(expected.subtracting(seen).sorted())")
    }
}
