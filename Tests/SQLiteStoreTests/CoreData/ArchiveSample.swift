/// A value of a property list that a test writes.
indirect enum ListSample: Sendable {
    case string(String)
    case wideString(String)
    case integer(Int)
    case boolean(Bool)
    case uid(Int)
    case data([UInt8])
    case array([ListSample])
    case dictionary([(String, ListSample)])
    /// Bytes that are written as they are.
    case raw([UInt8])

    /// The value as a binary property list, with references of two bytes.
    var bytes: [UInt8] {
        var objects: [[UInt8]] = []
        let top = add(to: &objects)
        var list = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += Self.number(list.count, 4)
            list += object
        }
        let table = list.count
        list += offsets + [UInt8](repeating: 0, count: 6) + [4, 2]
        return list + Self.number(objects.count, 8) + Self.number(top, 8) + Self.number(table, 8)
    }

    private func add(to objects: inout [[UInt8]]) -> Int {
        let index = objects.count
        objects.append([])
        func reference(_ value: ListSample) -> [UInt8] { Self.number(value.add(to: &objects), 2) }
        switch self {
        case .string(let text): objects[index] = Self.marker(0x5, text.utf8.count) + Array(text.utf8)
        case .wideString(let text):
            objects[index] = Self.marker(0x6, text.utf16.count) + text.utf16.flatMap { Self.number(Int($0), 2) }
        case .integer(let number): objects[index] = [0x13] + Self.number(number, 8)
        case .boolean(let flag): objects[index] = [flag ? 0x09 : 0x08]
        case .uid(let number): objects[index] = [0x81] + Self.number(number, 2)
        case .data(let bytes): objects[index] = Self.marker(0x4, bytes.count) + bytes
        case .array(let elements):
            let references = elements.flatMap(reference)
            objects[index] = Self.marker(0xA, elements.count) + references
        case .dictionary(let entries):
            let keys = entries.flatMap { reference(.string($0.0)) }
            let values = entries.flatMap { reference($0.1) }
            objects[index] = Self.marker(0xD, entries.count) + keys + values
        case .raw(let bytes): objects[index] = bytes
        }
        return index
    }

    private static func marker(_ kind: UInt8, _ count: Int) -> [UInt8] {
        count < 15 ? [kind << 4 | UInt8(count)] : [kind << 4 | 0xF, 0x11] + number(count, 2)
    }

    private static func number(_ value: Int, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}

/// The archive of a small model, which a test may bend: `Note` inherits from `Item`, which many `Folder`s hold.
struct ArchiveSample {
    /// The archive's table; see the constants for what is where.
    var objects: [ListSample]
    /// The archive's outermost object.
    var root = 1

    static let model = 1
    static let entities = 2
    static let item = 3
    static let note = 4
    static let folder = 5
    static let itemDate = 6
    static let itemFolder = 7
    static let noteText = 8
    static let folderItems = 9
    static let proxy = 10

    init() {
        let classes = [
            "NSManagedObjectModel", "NSMutableDictionary", "NSEntityDescription", "NSAttributeDescription",
            "NSRelationshipDescription", "_NSPropertyDescriptionProxy", "NSFetchedPropertyDescription",
        ]
        func kind(_ name: String) -> (String, ListSample) {
            ("$class", .uid(20 + (classes.firstIndex(of: name) ?? 0)))
        }
        func dictionary(_ values: [Int]) -> ListSample {
            .dictionary([kind("NSMutableDictionary"), ("NS.objects", .array(values.map { .uid($0) }))])
        }
        func entity(_ name: String, superentity: Int, properties: Int) -> ListSample {
            .dictionary([
                kind("NSEntityDescription"), ("NSEntityName", .string(name)), ("NSSuperentity", .uid(superentity)),
                ("NSProperties", .uid(properties)),
            ])
        }
        objects = [
            .string("$null"), .dictionary([kind("NSManagedObjectModel"), ("NSEntities", .uid(2))]),
            dictionary([3, 4, 5]), entity("Item", superentity: 0, properties: 11),
            entity("Note", superentity: 3, properties: 12), entity("Folder", superentity: 0, properties: 13),
            .dictionary([
                kind("NSAttributeDescription"), ("NSPropertyName", .string("at")), ("NSAttributeType", .integer(900)),
                ("NSFlagsKey", .integer(0x10)),
            ]),
            .dictionary([
                kind("NSRelationshipDescription"), ("NSPropertyName", .string("folder")),
                ("NSDestinationEntity", .uid(5)), ("NSInverseRelationship", .uid(9)), ("NSDeleteRule", .integer(1)),
                ("NSMinCount", .integer(1)), ("NSMaxCount", .integer(1)), ("NSIsOrdered", .boolean(true)),
            ]),
            .dictionary([
                kind("NSAttributeDescription"), ("NSPropertyName", .uid(14)), ("NSAttributeType", .integer(4711)),
                ("NSIsOptional", .boolean(true)), ("NSFlagsKey", .integer(0x4)),
            ]),
            .dictionary([
                kind("NSRelationshipDescription"), ("NSPropertyName", .string("items")),
                ("_NSDestinationEntityName", .string("Item")), ("_NSInverseRelationshipName", .string("folder")),
                ("NSDeleteRule", .integer(2)), ("NSMaxCount", .integer(0)), ("NSIsOptional", .boolean(true)),
                ("NSIsOrdered", .boolean(true)),
            ]),
            .dictionary([kind("_NSPropertyDescriptionProxy"), ("NSUnderlyingProperty", .uid(6))]),
            dictionary([6, 7]), dictionary([8, 10]), dictionary([9, 15]),
            .dictionary([("NS.string", .string("text"))]),
            .dictionary([kind("NSFetchedPropertyDescription"), ("NSPropertyName", .string("recent"))]),
        ]
        objects += [ListSample](repeating: .string("unused"), count: 20 - objects.count)
        objects += classes.map { .dictionary([("$classes", .array([.string($0), .string("NSObject")]))]) }
    }

    /// Gives a field of an object another value, or takes it away.
    mutating func set(_ field: String, of object: Int, to value: ListSample?) {
        guard case .dictionary(var entries) = objects[object] else { return }
        entries.removeAll { $0.0 == field }
        if let value { entries.append((field, value)) }
        objects[object] = .dictionary(entries)
    }

    /// The archive as Core Data would write it.
    var bytes: [UInt8] {
        ListSample.dictionary([
            ("$archiver", .string("NSKeyedArchiver")), ("$top", .dictionary([("root", .uid(root))])),
            ("$objects", .array(objects)),
        ]).bytes
    }
}
