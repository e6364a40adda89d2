import Foundation
import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import CoreDataSamples
@testable import SQLiteStore

/// The reference and the layout on stores that Apple's framework wrote.
@Suite(.needsRealData("coredata"))
struct ReferenceSampleTests {
    /// A delete in a sample store and what it must do, as `expected.json` has it.
    struct Expectation: Decodable, CustomTestStringConvertible, Sendable {
        var store: String
        var entity: String
        var attribute: String?
        var cutoffAppleSeconds: Double?
        var rowsDeletedFromEntityTable: Int?
        var countsChanged: [String: [Int]]?
        var zOptIncrements: [String: Int]?
        var error: String?

        var request: CoreDataOracle.Request {
            CoreDataOracle.Request(
                entity: entity, dateAttribute: attribute ?? "", cutoffAppleSeconds: cutoffAppleSeconds ?? 0)
        }

        var testDescription: String { "\(entity) of \(store) before \(cutoffAppleSeconds ?? .infinity)" }

        static let all: [Expectation] = {
            guard let data = FileManager.default.contents(atPath: SampleStores.path("expected.json")) else { return [] }
            return (try? JSONDecoder().decode([Expectation].self, from: data)) ?? []
        }()
    }

    private func model(_ store: TemporaryStore) throws -> ManagedObjectModel {
        try ManagedObjectModel.read(cache: store.blob("SELECT Z_CONTENT FROM Z_MODELCACHE"))
    }

    @Test func theExpectationsAreRead() {
        #expect(Expectation.all.count >= 10)
    }

    @Test(arguments: Expectation.all)
    func theReferenceDoesWhatIsExpected(_ expectation: Expectation) throws {
        let store = try SampleStores.copy(expectation.store)
        let reference = ReferenceDeletes(
            model: ModelDescription(try model(store)), rows: try ReferenceRows(path: store.path))
        let before = reference.rows.objects
        let keys: Set<Int64>
        if let attribute = expectation.attribute, let cutoff = expectation.cutoffAppleSeconds {
            keys = reference.keys(of: expectation.entity, attribute, before: cutoff)
        } else {
            keys = Set((before[CoreDataLayout.table(expectation.entity)] ?? [:]).keys)
        }
        let result = reference.delete(expectation.entity, keys: keys)
        let after = result.rows.objects
        if let error = expectation.error {
            #expect(!result.refusals.isEmpty)
            for refusal in result.refusals {
                // Apple's framework writes a relationship that its rule denies with a point, and one that must not be lost with a stroke.
                let mark = if case .denyRule = refusal { "." } else { "/" }
                #expect(error.hasSuffix(" \(refusal.property.entity)\(mark)\(refusal.property.name)"))
            }
            #expect(after == before)
            return
        }
        #expect(result.refusals.isEmpty)
        #expect(result.matched.count == expectation.rowsDeletedFromEntityTable)
        var counts: [String: [Int]] = [:]
        var increments: [String: Int] = [:]
        for (table, rows) in before where Set(rows.keys) != Set((after[table] ?? [:]).keys) {
            counts[table] = [rows.count, after[table]?.count ?? 0]
        }
        for (table, rows) in after {
            let sum = rows.reduce(0) { $0 + count($1.value) - count(before[table]?[$1.key]) }
            if sum > 0 { increments[table] = sum }
        }
        #expect(counts == expectation.countsChanged)
        #expect(increments == expectation.zOptIncrements)
    }

    /// The engine leaves every value of every table as the reference does, and says so before and afterwards.
    @Test(arguments: Expectation.all.filter { $0.error == nil })
    func theEngineDoesWhatTheReferenceDoes(_ expectation: Expectation) throws {
        let engines: [(isDryRun: Bool, CoreDataOracle.Engine)] = [
            (true, CoreDataEngine.survey), (false, CoreDataEngine.delete), (false, CoreDataEngine.deleteInBatches),
        ]
        for (isDryRun, engine) in engines {
            let store = try SampleStores.copy(expectation.store)
            let others = "SELECT * FROM Z_METADATA UNION ALL SELECT 0, 0, Z_CONTENT FROM Z_MODELCACHE"
            let untouched = try store.rows(others)
            let oracle = try CoreDataOracle(store, ModelDescription(try model(store)), expectation.request)
            #expect(try oracle.differences(isDryRun: isDryRun, engine) == [])
            #expect(try store.rows(others) == untouched)
            #expect(try store.rows("PRAGMA integrity_check") == ["ok"])
        }
    }

    @Test(arguments: Expectation.all.filter { $0.error != nil }, [DeleteMethod.whole, .windows])
    func whatTheModelForbidsIsRefused(_ expectation: Expectation, _ method: DeleteMethod) throws {
        let store = try SampleStores.copy(expectation.store)
        let before = try ReferenceRows(path: store.path)
        // One of them names all rows.
        let rule = expectation.request.survey
        let fetch = StoreFetchRequest(
            entity: rule.entity, predicate: expectation.attribute == nil ? .all : rule.expired,
            fetchLimit: method == .whole ? nil : 10)
        let error = #expect(throws: StoreError.self) {
            try SQLiteWriter(path: store.path).execute(DeleteWork(fetchRequest: fetch, method: method))
        }
        let isDenied = expectation.error?.contains("134060") == true
        #expect(error?.message.contains(isDenied ? "deny" : "mandatory") == true)
        #expect(before.differences(in: try ReferenceRows(path: store.path)) == [])
        if expectation.attribute != nil { #expect(try store.reader().survey(rule).related.obstacles.isEmpty == false) }
    }

    private func count(_ row: ReferenceRows.Values?) -> Int {
        if case .integer(let count)? = row?["Z_OPT"] { Int(count) } else { 0 }
    }

    @Test(arguments: SampleStores.stores)
    func theLayoutOfAModelIsThatOfTheStore(_ name: String) throws {
        let store = try SampleStores.copy(name)
        let model = try model(store)
        let layout = CoreDataLayout(ModelDescription(model))
        let stored = try store.rows("SELECT Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT < 16000 ORDER BY Z_ENT")
        // A store that was migrated keeps the earlier name of an entity.
        let names = layout.numbers.sorted { $0.value < $1.value }.map { entity in
            model.entities[entity.key]?.formerName.flatMap { stored.contains($0) ? $0 : nil } ?? entity.key
        }
        #expect(stored == names && layout.numbers.values.sorted() == Array(1...names.count))
        for table in layout.tables {
            let sql = try store.rows("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = '\(table.name)'")
            #expect(sql == [table.sql])
            let indexes = try store.rows(
                "SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = '\(table.name)' AND name LIKE '%\\_INDEX' ESCAPE '\\'"
            )
            #expect(Set(indexes) == Set(table.indexes))
        }
    }

    /// What the reader finds in an archive of ours is the model that it was made from.
    @Test(arguments: SampleStores.stores)
    func theArchiveOfAModelIsReadAsThatModel(_ name: String) throws {
        let description = ModelDescription(try model(SampleStores.copy(name)))
        let read = try ManagedObjectModel.read(cache: ModelArchiveWriter.stream(description))
        #expect(!description.entities.isEmpty && ModelDescription(read) == description)
    }
}

extension ModelDescription {
    /// The part of a model that has columns.
    init(_ model: ManagedObjectModel) {
        let rules: [ModelRelationship.DeleteRule: DeleteRule] = [
            .noAction: .noAction, .nullify: .nullify, .cascade: .cascade, .deny: .deny,
        ]
        self.init(
            entities: model.entities.values.sorted { $0.name < $1.name }.map { entity in
                let parent = entity.superentity.flatMap { model.entities[$0] }
                return Entity(
                    name: entity.name, parent: entity.superentity, isAbstract: entity.isAbstract,
                    attributes: entity.attributes.values.sorted { $0.name < $1.name }
                        .filter { !$0.isTransient && parent?.attributes[$0.name] == nil }
                        .compactMap { attribute in
                            Kind(rawValue: Int(attribute.kind)).map {
                                Attribute(name: attribute.name, kind: $0, isOptional: attribute.isOptional)
                            }
                        },
                    relationships: entity.relationships.values.sorted { $0.name < $1.name }
                        .filter { !$0.isTransient && parent?.relationships[$0.name] == nil }
                        .compactMap { relationship in
                            rules[relationship.deleteRule].map {
                                Relationship(
                                    name: relationship.name, destination: relationship.destination,
                                    inverse: relationship.inverse, rule: $0, isOptional: relationship.isOptional,
                                    isToMany: relationship.isToMany, isOrdered: relationship.isOrdered)
                            }
                        })
            })
    }
}
