import Foundation
import TestSupport
import Testing

@testable import SQLiteStore

/// Archives of models that the tests write, whole and bent.
struct ModelArchiveTests {
    @Test func readsEntitiesWithWhatTheyInherit() throws {
        var sample = ArchiveSample()
        sample.set("NSRenamingIdentifier", of: ArchiveSample.item, to: .string("Thing"))
        sample.set("NSRenamingIdentifier", of: ArchiveSample.note, to: .string("Note"))
        let model = try ManagedObjectModel.read(archive: sample.bytes)
        let date = ManagedAttribute(
            name: "at", kind: 900, isOptional: false, isTransient: false, isDerived: false, isExternal: false,
            isPreservedOnDelete: true)
        let text = ManagedAttribute(
            name: "text", kind: 4711, isOptional: true, isTransient: false, isDerived: false, isExternal: true,
            isPreservedOnDelete: false)
        let folder = ManagedRelationship(
            name: "folder", destination: "Folder", inverse: "items", deleteRule: .nullify, isOptional: false,
            maxCount: 1, hasOrder: true, isTransient: false)
        let items = ManagedRelationship(
            name: "items", destination: "Item", inverse: "folder", deleteRule: .cascade, isOptional: true,
            maxCount: 0, hasOrder: true, isTransient: false)
        #expect(
            model.entities == [
                "Item": ManagedEntity(
                    name: "Item", formerName: "Thing", superentity: nil, isAbstract: false, attributes: ["at": date],
                    relationships: ["folder": folder]),
                "Note": ManagedEntity(
                    name: "Note", formerName: nil, superentity: "Item", isAbstract: false,
                    attributes: ["at": date, "text": text],
                    relationships: ["folder": folder]),
                "Folder": ManagedEntity(
                    name: "Folder", formerName: nil, superentity: nil, isAbstract: false, attributes: [:],
                    relationships: ["items": items]),
            ])
        // An order needs more than one other end.
        #expect(!folder.isToMany && !folder.isOrdered && items.isToMany && items.isOrdered)
    }

    @Test func entitiesMayLieInTheSlotsOfATableOfKnownKeys() throws {
        var sample = ArchiveSample()
        sample.objects[ArchiveSample.entities] = .dictionary([("values", .uid(16)), ("emptyToken", .uid(17))])
        sample.objects[16] = .dictionary([("NS.objects", .array([.uid(3), .uid(17), .uid(5)]))])
        #expect(try ManagedObjectModel.read(archive: sample.bytes).entities.keys.sorted() == ["Folder", "Item"])
    }

    @Test func aFlagMayBeANumber() throws {
        for (number, isSet) in [(1, true), (0, false)] {
            var sample = ArchiveSample()
            sample.set("NSIsTransient", of: ArchiveSample.itemDate, to: .integer(number))
            let model = try ManagedObjectModel.read(archive: sample.bytes)
            #expect(model.entities["Item"]?.attributes["at"]?.isTransient == isSet)
        }
    }

    @Test func anArchiveThatIsTooLargeIsNotRead() {
        let bytes = [UInt8](repeating: 0, count: ModelArchive.largestSizeBytes + 1)
        #expect(throws: ModelArchiveError("the model is larger than 67108864 bytes")) {
            try ManagedObjectModel.read(archive: bytes)
        }
    }

    @Test func aModelWithoutEntitiesIsEmpty() throws {
        var sample = ArchiveSample()
        sample.set("NSEntities", of: ArchiveSample.model, to: .uid(0))
        #expect(try ManagedObjectModel.read(archive: sample.bytes).entities.isEmpty)
    }

    /// A change to the sample archive, and what must be said of it.
    struct Bend: CustomTestStringConvertible, Sendable {
        var message: String
        var change: @Sendable (inout ArchiveSample) -> Void
        var testDescription: String { message }

        init(_ message: String, _ change: @escaping @Sendable (inout ArchiveSample) -> Void) {
            self.message = message
            self.change = change
        }
    }

    private static let bends = [
        Bend("the archive holds no Core Data model") { $0.root = ArchiveSample.item },
        Bend("the archive is damaged: its root object is missing") { $0.root = 999 },
        Bend("the archive is damaged: it refers to object 999, but has 27 objects") {
            $0.set("NSEntities", of: ArchiveSample.model, to: .uid(999))
        },
        Bend("the archive is damaged at object 1: its NSEntities is not a dictionary") {
            $0.set("NSEntities", of: ArchiveSample.model, to: .integer(3))
        },
        Bend("the archive is damaged at object 2: its elements are not an array") {
            $0.set("NS.objects", of: ArchiveSample.entities, to: .integer(3))
        },
        Bend("the archive is damaged at object 4: an entity without a name") {
            $0.set("NSEntityName", of: ArchiveSample.note, to: nil)
        },
        Bend("the archive is damaged at object 4: the entity 'Item' occurs twice") {
            $0.set("NSEntityName", of: ArchiveSample.note, to: .string("Item"))
        },
        Bend("the archive is damaged at object 3: its NSEntityName is not text") {
            $0.set("NSEntityName", of: ArchiveSample.item, to: .integer(3))
        },
        Bend("the archive is damaged at object 3: its NSEntityName is longer than 1000 bytes") {
            $0.set("NSEntityName", of: ArchiveSample.item, to: .string(String(repeating: "x", count: 1001)))
        },
        Bend("the entity 'Item' inherits from itself") {
            $0.set("NSSuperentity", of: ArchiveSample.item, to: .uid(ArchiveSample.item))
        },
        Bend("the archive is damaged at object 6: a property without a name") {
            $0.set("NSPropertyName", of: ArchiveSample.itemDate, to: nil)
        },
        Bend("the archive is damaged at object 6: its NSIsTransient is neither true nor false") {
            $0.set("NSIsTransient", of: ArchiveSample.itemDate, to: .string("yes"))
        },
        Bend("the archive is damaged at object 6: its NSFlagsKey is not an integer") {
            $0.set("NSFlagsKey", of: ArchiveSample.itemDate, to: .string("16"))
        },
        Bend("the archive is damaged at object 7: the relationship 'folder' has an unknown delete rule") {
            $0.set("NSDeleteRule", of: ArchiveSample.itemFolder, to: .integer(4))
        },
        Bend("the archive is damaged at object 7: the relationship 'folder' has an unknown delete rule") {
            $0.set("NSDeleteRule", of: ArchiveSample.itemFolder, to: nil)
        },
        Bend("the archive is damaged at object 7: the relationship 'folder' has no maximum count") {
            $0.set("NSMaxCount", of: ArchiveSample.itemFolder, to: nil)
        },
        Bend("the archive is damaged at object 9: the relationship 'items' has no destination") {
            $0.set("_NSDestinationEntityName", of: ArchiveSample.folderItems, to: nil)
        },
        Bend("the relationship 'items' of 'Folder' leads to 'Price', which the model does not contain") {
            $0.set("_NSDestinationEntityName", of: ArchiveSample.folderItems, to: .string("Price"))
        },
        Bend("an entity inherits from 'Item', which the model does not contain") {
            $0.set("NS.objects", of: ArchiveSample.entities, to: .array([.uid(ArchiveSample.note)]))
        },
        Bend("the archive is damaged at object 10: a property proxy without a property") {
            $0.set("NSUnderlyingProperty", of: ArchiveSample.proxy, to: nil)
        },
        Bend("the archive is damaged at object 10: a property proxy that refers to itself") {
            $0.set("NSUnderlyingProperty", of: ArchiveSample.proxy, to: .uid(ArchiveSample.proxy))
        },
    ]

    @Test(arguments: bends)
    func namesWhatIsWrongWithAnArchive(_ bend: Bend) {
        var sample = ArchiveSample()
        bend.change(&sample)
        #expect(throws: ModelArchiveError(bend.message)) { try ManagedObjectModel.read(archive: sample.bytes) }
    }

    @Test func twoEntitiesThatInheritFromEachOtherAreAnError() {
        var sample = ArchiveSample()
        sample.set("NSSuperentity", of: ArchiveSample.item, to: .uid(ArchiveSample.note))
        let error = #expect(throws: ModelArchiveError.self) { try ManagedObjectModel.read(archive: sample.bytes) }
        #expect(error?.message.hasSuffix("' inherits from itself") == true)
    }

    @Test func otherFilesAreNoModels() {
        #expect(throws: ModelArchiveError("the property list is not a keyed archive: it lacks $objects or $top")) {
            try ManagedObjectModel.read(archive: ListSample.dictionary([("a", .integer(1))]).bytes)
        }
        #expect(throws: ModelArchiveError.self) { try ManagedObjectModel.read(archive: Array("SQLite format 3".utf8)) }
        let error = #expect(throws: ModelArchiveError.self) {
            try ManagedObjectModel.read(archive: Array("momv2$srsr".utf8))
        }
        #expect(error?.message.contains("optimized model (.omo)") == true)
    }

    @Test func anArchiveWhoseEntitiesShareTooManyPropertiesIsRefused() {
        var sample = ArchiveSample()
        // A chain of entities, each of which would inherit all that those above it have.
        let properties = 500
        let entities = 300
        let first = sample.objects.count
        for index in 0..<properties {
            sample.objects.append(sample.objects[ArchiveSample.itemDate])
            sample.set("NSPropertyName", of: first + index, to: .string("p\(index)"))
        }
        sample.set("NS.objects", of: 11, to: .array((0..<properties).map { .uid(first + $0) }))
        var chain = [ArchiveSample.item]
        for index in 0..<entities {
            sample.objects.append(sample.objects[ArchiveSample.note])
            let entity = sample.objects.count - 1
            sample.set("NSEntityName", of: entity, to: .string("E\(index)"))
            sample.set("NSSuperentity", of: entity, to: .uid(chain[index]))
            chain.append(entity)
        }
        sample.set("NSProperties", of: ArchiveSample.note, to: nil)
        sample.set(
            "NS.objects", of: ArchiveSample.entities, to: .array((chain + [ArchiveSample.folder]).map { .uid($0) }))
        #expect(throws: ModelArchiveError("the model has more than 100000 properties")) {
            try ManagedObjectModel.read(archive: sample.bytes)
        }
    }

    /// The model in a store is packed; the bytes come from a file that may be damaged.
    @Test func packedBytesThatAreCutOrDamagedAreRefused() throws {
        let archive = ArchiveSample().bytes
        // A block that is not compressed. Source: RFC 1951, section 3.2.4.
        let length = UInt16(archive.count)
        let words = [length, ~length].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        let packed = [1] + words + archive
        #expect(try ManagedObjectModel.read(cache: packed).entities.count == 3)
        #expect(try ManagedObjectModel.read(cache: packed + [0xFF]).entities.count == 3)
        for count in 0..<packed.count {
            #expect(throws: ModelArchiveError("the compressed data is damaged: it ends early")) {
                try ManagedObjectModel.read(cache: Array(packed.prefix(count)))
            }
        }
        #expect(throws: ModelArchiveError("the compressed data is damaged: invalid block type")) {
            try ManagedObjectModel.read(cache: [7] + packed)
        }
    }

    @Test func packedBytesThatUnpackToMoreThanTheLimitAreRefused() {
        // The byte 0, and then copies of 258 bytes from one byte back, 13 bits each, in fixed codes: eight are 13 bytes.
        let copies = Array("1100010100000".utf8).map { $0 - 0x30 }
        let bits = [1, 1, 0] + [0, 0, 1, 1, 0, 0, 0, 0] + Array(repeatElement(copies, count: 9).joined())
        let bytes = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].enumerated().reduce(UInt8(0)) { $0 | $1.element << UInt8($1.offset) }
        }
        let packed =
            bytes.prefix(3) + Array(repeatElement(bytes.dropFirst(3), count: (64 << 20) / (8 * 258) + 1).joined())
        #expect(throws: ModelArchiveError("the compressed data expands to more than \(64 << 20) bytes")) {
            try ManagedObjectModel.read(cache: Array(packed))
        }
    }

    @Test func damageIsAnErrorOrAModelAndNothingElse() {
        let archive = ArchiveSample().bytes
        for count in 0..<archive.count {
            #expect(throws: ModelArchiveError.self) {
                try ManagedObjectModel.read(archive: Array(archive.prefix(count)))
            }
        }
        var random = SeededRandom(11)
        var models = 0
        for _ in 0..<5000 {
            var bent = archive
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bent[Int.random(in: 0..<bent.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if (try? ManagedObjectModel.read(archive: bent)) != nil { models += 1 }
        }
        // Both happen, so that both were looked at.
        #expect(models > 0 && models < 5000)
    }
}
