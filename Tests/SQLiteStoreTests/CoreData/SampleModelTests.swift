import Foundation
import TestSupport
import Testing

@testable import SQLiteStore

/// The models of stores that Apple's framework wrote, held against their sources and against the stores' own tables.
@Suite(.needsRealData("coredata"))
struct SampleModelTests {
    /// A model's source, and the files that it was compiled to or that were written with it.
    struct Version: CustomTestStringConvertible, Sendable {
        var source: String
        var compiled: String
        var store: String?
        var testDescription: String { compiled }
    }

    static let versions = [
        Version(
            source: "SampleModel/SampleModel", compiled: "SampleModel/SampleModel.momd/SampleModel",
            store: "SampleModel_V1"),
        Version(
            source: "SampleModel/SampleModel2", compiled: "SampleModel/SampleModel.momd/SampleModel2",
            store: "SampleModel_V2"),
        Version(source: "SampleModel/SampleModel3", compiled: "SampleModel/SampleModel.momd/SampleModel3"),
        Version(
            source: "SampleModel3/SampleModel3", compiled: "SampleModel3/SampleModel3.momd/SampleModel3",
            store: "SampleModel3_V1"),
        Version(source: "SampleModel3/SampleModel3_v2", compiled: "SampleModel3/SampleModel3.momd/SampleModel3_v2"),
        Version(source: "SampleModel3/SampleModel3_v3", compiled: "SampleModel3/SampleModel3.momd/SampleModel3_v3"),
    ]

    @Test(arguments: versions)
    func aCompiledModelSaysWhatItsSourceSays(_ version: Version) throws {
        let source = try ModelSource.model(SampleStores.path("coredataplus/\(version.source).xcdatamodel-contents.xml"))
        #expect(!source.entities.isEmpty)
        let model = try ManagedObjectModel.read(path: SampleStores.path("coredataplus/\(version.compiled).mom"))
        #expect(model.entities == source.entities)
        guard let name = version.store else { return }
        let folder = version.source.split(separator: "/")[0]
        let store = try SampleStores.copy("coredataplus/\(folder)/\(name).sqlite")
        let cached = try ManagedObjectModel.read(cache: store.blob("SELECT Z_CONTENT FROM Z_MODELCACHE"))
        #expect(cached.entities == source.entities)
    }

    @Test(arguments: SampleStores.stores)
    func theModelInAStoreNamesItsTablesAndColumns(_ name: String) throws {
        let store = try SampleStores.copy(name)
        let model = try ManagedObjectModel.read(cache: store.blob("SELECT Z_CONTENT FROM Z_MODELCACHE"))
        // The numbers from 16001 are the framework's own.
        let known = try store.rows("SELECT Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT < 16000 ORDER BY Z_NAME")
        // A store that was migrated keeps the earlier name of an entity.
        let names = model.entities.values.map { entity in
            entity.formerName.flatMap { known.contains($0) ? $0 : nil } ?? entity.name
        }
        #expect(known == names.sorted())

        var columns: [String: Set<String>] = [:]
        for entity in model.entities.values {
            var root = entity
            while let parent = root.superentity.flatMap({ model.entities[$0] }) { root = parent }
            var names = entity.attributes.values.filter { !$0.isTransient }.map(\.name)
            names += entity.relationships.values.filter { !$0.isTransient && !$0.isToMany }.map(\.name)
            columns["Z" + root.name.uppercased(), default: []].formUnion(names.map { "Z" + $0.uppercased() })
        }
        for (table, expected) in columns {
            let found = try store.rows("SELECT name FROM pragma_table_info('\(table)') WHERE name GLOB 'Z[^_0-9]*'")
            #expect(Set(found) == expected, "\(table)")
        }
    }

    @Test(arguments: SampleStores.stores)
    func everyRelationshipLeadsBack(_ name: String) throws {
        let store = try SampleStores.copy(name)
        let model = try ManagedObjectModel.read(cache: store.blob("SELECT Z_CONTENT FROM Z_MODELCACHE"))
        for entity in model.entities.values {
            for relationship in entity.relationships.values {
                let inverse = model.entities[relationship.destination]?.relationships[relationship.inverse ?? ""]
                #expect(inverse?.inverse == relationship.name, "\(entity.name).\(relationship.name)")
            }
        }
    }

    @Test func whatASourceWouldTellIsReadFromStoresWithoutOne() throws {
        func model(_ name: String) throws -> ManagedObjectModel {
            try ManagedObjectModel.read(cache: SampleStores.copy(name).blob("SELECT Z_CONTENT FROM Z_MODELCACHE"))
        }
        let usage = try model("plaso/netusage.sqlite")
        #expect(usage.entities["App"]?.superentity == "Process")
        #expect(usage.entities["App"]?.relationships["hasLiveUsage"]?.deleteRule == .cascade)
        #expect(usage.entities["NWActivityMetricData"]?.relationships["fragment"]?.deleteRule == .deny)
        #expect(usage.entities["App"]?.relationships["hasTypicalUsage"]?.isOrdered == true)
        #expect(usage.entities["App"]?.relationships["hintCalendarUsage"]?.isTransient == true)
        let books = try model("coredataplus/SampleModel2/SampleModel2_V1.sqlite")
        #expect(books.entities["Writer"]?.isAbstract == true)
        #expect(books.entities["GraphicNovel"]?.attributes["pagesCount"]?.isDerived == true)
        #expect(books.entities["Book"]?.relationships["pages"]?.maxCount == 10000)
        #expect(books.entities["Book"]?.relationships["author"]?.isOptional == false)
    }

    // MARK: - Folders of versions

    private func metadata(_ name: String) throws -> [UInt8] {
        try SampleStores.copy("coredataplus/\(name).sqlite").blob("SELECT Z_PLIST FROM Z_METADATA")
    }

    private let folder = SampleStores.path("coredataplus/SampleModel/SampleModel.momd")

    @Test func ofAFoldersVersionsTheStoresIsTaken() throws {
        for (store, version) in [("SampleModel_V1", "SampleModel"), ("SampleModel_V2", "SampleModel2")] {
            let model = try ManagedObjectModel.read(path: folder, storeMetadata: metadata("SampleModel/" + store))
            #expect(try model == ManagedObjectModel.read(path: "\(folder)/\(version).mom"))
        }
        // Without a store it is the one that the folder calls current.
        #expect(
            try ManagedObjectModel.read(path: folder + "/")
                == ManagedObjectModel.read(path: folder + "/SampleModel.mom"))
    }

}

/// A model as its source says it.
private enum ModelSource {
    static func model(_ path: String) throws -> ManagedObjectModel {
        var entities: [ManagedEntity] = []
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            let line = line.trimmingCharacters(in: .whitespaces)
            var values: [String: String] = [:]
            for match in line.matches(of: #/(\w+)="([^"]*)"/#) { values[String(match.1)] = String(match.2) }
            let name = values["name"] ?? ""
            if line.hasPrefix("<entity ") {
                entities.append(
                    ManagedEntity(
                        name: name, formerName: values["elementID"], superentity: values["parentEntity"],
                        isAbstract: values["isAbstract"] == "YES",
                        attributes: [:], relationships: [:]))
            } else if line.hasPrefix("<attribute ") {
                entities[entities.count - 1].attributes[name] = try attribute(name, values)
            } else if line.hasPrefix("<relationship ") {
                entities[entities.count - 1].relationships[name] = try relationship(name, values)
            }
        }
        var model = ManagedObjectModel(entities: Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) }))
        for name in model.entities.keys {
            var next = model.entities[name]?.superentity
            while let parent = next.flatMap({ model.entities[$0] }) {
                model.entities[name]?.attributes.merge(parent.attributes) { own, _ in own }
                model.entities[name]?.relationships.merge(parent.relationships) { own, _ in own }
                next = parent.superentity
            }
        }
        return model
    }

    private static let kinds: [String: Int64] = [
        "Boolean": 800, "Date": 900, "Integer 64": 300, "String": 700, "Transformable": 1800, "UUID": 1100,
    ]

    private static func attribute(_ name: String, _ values: [String: String]) throws -> ManagedAttribute {
        ManagedAttribute(
            name: name, kind: try #require(kinds[values["attributeType"] ?? ""]),
            isOptional: values["optional"] == "YES", isTransient: values["transient"] == "YES",
            isDerived: values["derived"] == "YES", isExternal: values["allowsExternalBinaryDataStorage"] == "YES",
            isPreservedOnDelete: values["preserveAfterDeletion"] == "YES")
    }

    private static func relationship(_ name: String, _ values: [String: String]) throws -> ManagedRelationship {
        let rules: [String: ModelRelationship.DeleteRule] = [
            "Nullify": .nullify, "Cascade": .cascade, "Deny": .deny, "No Action": .noAction,
        ]
        return ManagedRelationship(
            name: name, destination: values["destinationEntity"] ?? "", inverse: values["inverseName"],
            deleteRule: try #require(rules[values["deletionRule"] ?? ""]), isOptional: values["optional"] == "YES",
            maxCount: Int(values["maxCount"] ?? "0") ?? 0,
            hasOrder: values["ordered"] == "YES", isTransient: values["transient"] == "YES")
    }
}
