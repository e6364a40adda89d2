import Testing

@testable import SQLiteStore

/// Binary property lists: what every kind of object becomes, and what damage does.
struct PropertyListTests {

    @Test func readsEveryKindOfObject() throws {
        let list = try PropertyList(
            ListSample.array([
                .string("gold"), .wideString("Ω"), .integer(-1), .boolean(true), .boolean(false), .uid(300),
                .data([1, 2]), .dictionary([("a", .integer(7))]), .raw([0x10, 200]), .raw([0x11, 1, 44]),
                .raw([0x22, 0x3F, 0xC0, 0, 0]), .raw([0x23, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0]),
                .raw([0x33, 0x40, 0xF5, 0x18, 0, 0, 0, 0, 0]), .raw([0]),
                .raw([0x14] + [UInt8](repeating: 1, count: 16)),
                .raw([0xC0]), .string(String(repeating: "x", count: 300)),
            ]).bytes)
        #expect(list.top == 0)
        guard case .array(let numbers) = list.objects[0] else { Issue.record("no array"); return }
        #expect(
            numbers.map { list.objects[$0] } == [
                .string("gold"), .string("Ω"), .integer(-1), .boolean(true), .boolean(false), .uid(300),
                .data([1, 2]), .dictionary(keys: [9], values: [10]), .integer(200), .integer(300), .other, .other,
                .other, .other, .other, .array([]), .string(String(repeating: "x", count: 300)),
            ])
        #expect(list.value("a", of: numbers[7]) == 10 && list.objects[10] == .integer(7))
        #expect(list.value("b", of: numbers[7]) == nil && list.value("a", of: 0) == nil)
        #expect(list.dictionary(numbers[7]) == ["a": 10])
    }

    /// A list with its trailer's fields in the open.
    private func list(
        objects: [UInt8], offsets: [UInt8], offsetSize: UInt8 = 1, referenceSize: UInt8 = 1, count: UInt64? = nil,
        top: UInt64 = 0, table: UInt64? = nil
    ) -> [UInt8] {
        func number(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) } }
        return Array("bplist00".utf8) + objects + offsets + [0, 0, 0, 0, 0, 0, offsetSize, referenceSize]
            + number(count ?? UInt64(offsets.count)) + number(top) + number(table ?? UInt64(8 + objects.count))
    }

    @Test func aListOfOneObjectIsRead() throws {
        #expect(try PropertyList(list(objects: [0x09], offsets: [8])).objects == [.boolean(true)])
    }

    @Test func namesTheDamage() {
        let cases: [([UInt8], String)] = [
            ([], "not a binary property list: it does not begin with bplist00"),
            (Array("<?xml version=\"1.0\"?>".utf8), "not a binary property list: it does not begin with bplist00"),
            (Array("bplist00".utf8), "the property list ends early, at byte 8"),
            (list(objects: [9], offsets: [8], offsetSize: 0), "the sizes at its end do not fit"),
            (list(objects: [9], offsets: [8], referenceSize: 9), "the sizes at its end do not fit"),
            (list(objects: [9], offsets: [8], count: 2), "the sizes at its end do not fit"),
            (list(objects: [9], offsets: [8], count: .max), "the sizes at its end do not fit"),
            (list(objects: [9], offsets: [8], top: 1), "the sizes at its end do not fit"),
            (list(objects: [9], offsets: [8], table: 11), "the sizes at its end do not fit"),
            (list(objects: [9], offsets: [8], table: .max), "the sizes at its end do not fit"),
            (list(objects: [9], offsets: [9]), "at byte 9: an object is outside the list"),
            (list(objects: [9], offsets: [7]), "at byte 9: an object is outside the list"),
            (list(objects: [0xF0], offsets: [8]), "at byte 8: an object of an unknown kind"),
            (list(objects: [0x15], offsets: [8]), "at byte 8: an object of an unknown kind"),
            (list(objects: [0x11, 1], offsets: [8]), "at byte 8: an object extends past the end of the list"),
            (
                list(objects: [0x5F, 0x13, 0x7F, 255, 255, 255, 255, 255, 255, 255], offsets: [8]),
                "extends past the end of the list"
            ),
            (
                list(objects: [0x5F, 0x13, 0xFF, 255, 255, 255, 255, 255, 255, 255], offsets: [8]),
                "a count that is not a number"
            ),
            (list(objects: [0xAF, 0x53], offsets: [8]), "a count that is not a number"),
            (list(objects: [0xA1, 1], offsets: [8]), "at byte 8: a reference to a missing object"),
            (list(objects: [0x87] + [UInt8](repeating: 255, count: 8), offsets: [8]), "a reference that is too large"),
            // Two objects that are the same bytes: many of them would be larger than the list.
            (list(objects: [0x52, 0x41, 0x41], offsets: [8, 8]), "at byte 8: objects overlap"),
        ]
        for (bytes, message) in cases {
            let error = #expect(throws: ModelArchiveError.self, "\(message)") { try PropertyList(bytes) }
            #expect(error?.message.hasSuffix(message) == true, "\(error?.message ?? "no error"), not \(message)")
        }
    }

    @Test func objectsInACircleAreReadAndNotFollowed() throws {
        #expect(try PropertyList(list(objects: [0xA1, 0], offsets: [8])).objects == [.array([0])])
    }

    @Test func aListOfMillionsOfObjectsIsNotRead() {
        let objects = [UInt8](repeating: 0x09, count: 1_000_001)
        let offsets = [UInt8](repeating: 0, count: 8_000_008)
        #expect(throws: ModelArchiveError("the property list has more than 1000000 objects")) {
            try PropertyList(list(objects: objects, offsets: offsets, offsetSize: 8, count: 1_000_001))
        }
    }
}
