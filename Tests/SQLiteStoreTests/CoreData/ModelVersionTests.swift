import Foundation
@preconcurrency import Glibc
import PriceStore
import Testing

@testable import CoreDataSamples
@testable import SQLiteStore

/// Compiled models as files, and folders with several versions of one, which the tests write.
struct ModelVersionTests {
    /// A folder with the versions `One`, of `Point`, and `Two`, of `Point` and `Note`.
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appending(path: "retention-\(UUID().uuidString).momd").path

        init(_ info: PropertyListValue?) throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let point = ModelDescription.Entity(name: "Point", attributes: [.init(name: "at", kind: .date)])
            let note = ModelDescription.Entity(name: "Note", attributes: [.init(name: "text", kind: .string)])
            try write(ModelArchiveWriter.propertyList(ModelDescription(entities: [point])), to: "One.mom")
            try write(ModelArchiveWriter.propertyList(ModelDescription(entities: [point, note])), to: "Two.mom")
            if let info { try write(info.binary, to: "VersionInfo.plist") }
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ bytes: [UInt8], to name: String) throws {
            try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + name))
        }

        /// The entities of a model, or why it is not read. `$F` stands for the folder.
        func read(_ name: String, _ metadata: [UInt8]?) -> String {
            do throws(ModelArchiveError) {
                let model = try ManagedObjectModel.read(path: path + name, storeMetadata: metadata)
                return model.entities.keys.sorted().joined(separator: " ")
            } catch {
                return error.message.replacing(path, with: "$F")
            }
        }
    }

    /// Hashes of entities, by which a version is known: each is one byte.
    private static func hashes(_ numbers: [String: UInt8]) -> PropertyListValue {
        .dictionary(numbers.mapValues { .data([$0]) })
    }

    private static func info(
        _ current: PropertyListValue?,
        _ versions: [String: [String: UInt8]] = ["One": ["Point": 1], "Two": ["Point": 1, "Note": 2]]
    ) -> PropertyListValue {
        var entries = ["NSManagedObjectModel_VersionHashes": PropertyListValue.dictionary(versions.mapValues(hashes))]
        entries["NSManagedObjectModel_CurrentVersionName"] = current
        return .dictionary(entries)
    }

    private static func store(_ numbers: [String: UInt8]) -> [UInt8] {
        PropertyListValue.dictionary(["NSStoreModelVersionHashes": hashes(numbers)]).binary
    }

    private static let another = "the store was written with another version of this model"

    /// What the folder's list has, what is read, what the store says of its version, and what comes of it.
    struct Case: CustomTestStringConvertible, Sendable {
        var info: PropertyListValue? = ModelVersionTests.info(.string("Two"))
        var path = ""
        var store: [UInt8]?
        var expected: String
        var testDescription: String { "\(path) \(expected)" }
    }

    static let cases = [
        Case(expected: "Note Point"), Case(path: "/", expected: "Note Point"),
        Case(store: store(["Point": 1, "Note": 2]), expected: "Note Point"),
        // Both contain it; that with fewer other entities is taken.
        Case(store: store(["Point": 1]), expected: "Point"),
        // Without hashes the store does not say which one it is.
        Case(store: store([:]), expected: "Note Point"),
        Case(store: PropertyListValue.dictionary([:]).binary, expected: "Note Point"),
        Case(store: Array("no list".utf8), expected: "Note Point"),
        Case(
            store: store(["Point": 7]),
            expected: "$F: no version of this model is the one that the store was written with"),
        Case(
            info: .dictionary([:]), store: store(["Point": 1]),
            expected: "$F: no version of this model is the one that the store was written with"),
        Case(
            info: info(nil), expected: "$F: VersionInfo.plist names no current version; give the .mom file itself"),
        Case(
            info: info(.integer(1)),
            expected: "$F: VersionInfo.plist names no current version; give the .mom file itself"),
        Case(
            info: info(.string("../One")), expected: "$F: VersionInfo.plist names a version that is not a file name"),
        Case(
            info: nil,
            expected:
                "$F/VersionInfo.plist: $F/VersionInfo.plist cannot be read: No such file or directory; give the .mom "
                + "file of the version instead of the folder"),
        Case(
            info: info(.string("Three")),
            expected: "$F/Three.mom: $F/Three.mom cannot be read: No such file or directory"),
        Case(path: "/One.mom", expected: "Point"),
        Case(path: "/One.mom", store: store(["Point": 1]), expected: "Point"),
        Case(
            path: "/One.mom", store: store(["Point": 1, "Note": 2]),
            expected: "$F/One.mom: \(another); give $F/Two.mom"),
        Case(
            path: "/One.mom", store: store(["Point": 7]),
            expected: "$F/One.mom: \(another), which is not in this folder"),
        // A model outside the folder's versions is not compared with the store.
        Case(path: "/other", store: store(["Point": 7]), expected: "Point"),
        Case(path: "/none.mom", expected: "$F/none.mom cannot be read: No such file or directory"),
        Case(path: "/pipe.mom", expected: "$F/pipe.mom: $F/pipe.mom is not a regular file"),
        Case(path: "/large.mom", expected: "$F/large.mom: $F/large.mom is larger than 67108864 bytes"),
    ]

    @Test(arguments: cases) func theVersionOfTheStoreIsRead(_ test: Case) throws {
        let folder = try Folder(test.info)
        try FileManager.default.copyItem(atPath: folder.path + "/One.mom", toPath: folder.path + "/other")
        #expect(mkfifo(folder.path + "/pipe.mom", 0o600) == 0)
        try folder.write([], to: "large.mom")
        #expect(truncate(folder.path + "/large.mom", ModelArchive.largestSizeBytes + 1) == 0)
        #expect(folder.read(test.path, test.store) == test.expected)
    }

    @Test func aModelStandsInForThatOfTheStore() throws {
        let folder = try Folder(nil)
        let store = try CoreDataStoreTests.store()
        try store.change("DELETE FROM Z_MODELCACHE")
        let bare = try #require(try store.reader().entity(named: "Point"))
        #expect(bare.attributes.map(\.name) == ["AT", "PHOTO"] && bare.model?.relationships.isEmpty == true)
        let reader = try SQLiteReader(path: store.path, modelPath: folder.path + "/Two.mom")
        let point = try #require(try reader.entity(named: "Point"))
        #expect(point.attributes.map(\.name) == ["at"] && point.attribute(named: "at")?.dateEncoding == .appleSeconds)
        #expect(try SQLiteWriter(path: store.path, modelPath: folder.path + "/Two.mom").entity(named: "Note") != nil)
        try folder.write(Self.info(.string("Two")).binary, to: "VersionInfo.plist")
        let other = #expect(throws: StoreError.self) {
            try SQLiteReader(path: store.path, modelPath: folder.path + "/Two.mom").entity(named: "Point")
        }
        #expect(other?.message.contains(Self.another) == true)
        let missing = #expect(throws: StoreError.self) {
            try SQLiteReader(path: store.path, modelPath: folder.path + "/none.mom").entityNames()
        }
        #expect(missing?.kind == .inputOutput && missing?.hint == nil)
    }
}
