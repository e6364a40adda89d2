import Foundation
import GRDB
import PriceStore
import Testing

@testable import SQLiteStore
@testable import goldprices

/// The reference and the layout on stores that Apple's framework wrote.
@Suite(.enabled(if: SampleStores.areHere, "the sample stores are not here"))
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
                let (entity, name) = (refusal.property.entity, refusal.property.name)
                #expect(error.hasSuffix("\(entity).\(name)") || error.hasSuffix("\(entity)/\(name)"))
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

        // And the engine leaves every value of every table as the reference does.
        let others = "SELECT * FROM Z_METADATA UNION ALL SELECT 0, 0, Z_CONTENT FROM Z_MODELCACHE"
        let untouched = try store.rows(others)
        let writer = try SQLiteWriter(path: store.path)
        let date = DateAttribute(
            name: expectation.attribute ?? "", encoding: .appleSeconds, zone: .utc, earliest: Instant(microseconds: 0))
        let cutoff = Int64(((expectation.cutoffAppleSeconds ?? 0) * 1e6).rounded(.up)) + 978_307_200_000_000
        let expired = PriceStore.Predicate.date(DateRange(date, before: Instant(microseconds: cutoff)))
        _ = try writer.execute(
            BatchDeleteRequest(
                fetchRequest: PriceStore.FetchRequest(entity: expectation.entity, predicate: expired)))
        #expect(try CoreDataOracle.compare(engineFile: store.path, reference: result) == [])
        #expect(try store.rows(others) == untouched)
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
        self.init(
            entities: model.entities.values.sorted { $0.name < $1.name }.map { entity in
                let parent = entity.superentity.flatMap { model.entities[$0] }
                return Entity(
                    name: entity.name, parent: entity.superentity, isAbstract: entity.isAbstract,
                    attributes: entity.attributes.values.sorted { $0.name < $1.name }
                        .filter { !$0.isTransient && parent?.attributes[$0.name] == nil }
                        .compactMap { attribute in
                            Kind(rawValue: attribute.kind.rawValue).map {
                                Attribute(name: attribute.name, kind: $0, isOptional: attribute.isOptional)
                            }
                        },
                    relationships: entity.relationships.values.sorted { $0.name < $1.name }
                        .filter { !$0.isTransient && parent?.relationships[$0.name] == nil }
                        .compactMap { relationship in
                            DeleteRule(rawValue: relationship.deleteRule.rawValue).map {
                                Relationship(
                                    name: relationship.name, destination: relationship.destination,
                                    inverse: relationship.inverse, rule: $0, isOptional: relationship.isOptional,
                                    isToMany: relationship.isToMany, isOrdered: relationship.isOrdered)
                            }
                        })
            })
    }
}
