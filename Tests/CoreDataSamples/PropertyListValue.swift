/// A value of a property list, as a keyed archive needs them.
indirect enum PropertyListValue {
    case boolean(Bool)
    case integer(Int)
    case string(String)
    case data([UInt8])
    /// A place in an archive's table of objects.
    case uid(Int)
    case array([PropertyListValue])
    case dictionary([String: PropertyListValue])
}

extension PropertyListValue {
    /// The list in Apple's binary form. Dictionaries are written in the order of their keys, so that equal lists are
    /// equal bytes.
    ///
    /// Source: `CFBinaryPList.c` of Apple's open-source Core Foundation, which describes the format.
    var binary: [UInt8] {
        var table = ObjectTable()
        let top = table.place(self)
        return table.bytes(top: top)
    }
}

/// The objects of a binary property list: each is written once, and collections refer to theirs by index.
private struct ObjectTable {
    private enum Object {
        case scalar([UInt8])
        case collection(marker: UInt8, count: Int, places: [Int])
    }

    private var objects: [Object] = []
    /// Where a scalar is already.
    private var places: [[UInt8]: Int] = [:]

    /// Puts a value into the table and returns its place.
    mutating func place(_ value: PropertyListValue) -> Int {
        switch value {
        case .array(let values):
            return append(.collection(marker: 0xA0, count: values.count, places: values.map { place($0) }))
        case .dictionary(let pairs):
            let sorted = pairs.sorted { $0.key < $1.key }
            let keys = sorted.map { place(.string($0.key)) }
            return append(
                .collection(marker: 0xD0, count: pairs.count, places: keys + sorted.map { place($0.value) }))
        case .boolean(let flag): return place([flag ? 0x09 : 0x08])
        case .integer(let number): return place(Self.integer(number))
        case .uid(let place):
            let width = place <= 0xFF ? 1 : place <= 0xFFFF ? 2 : 4
            return self.place([0x80 | UInt8(width - 1)] + Self.bigEndian(place, width: width))
        case .data(let bytes): return place(Self.marker(0x40, count: bytes.count) + bytes)
        case .string(let text):
            guard !text.utf8.allSatisfy({ $0 < 0x80 }) else {
                return place(Self.marker(0x50, count: text.utf8.count) + Array(text.utf8))
            }
            let units = text.utf16.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
            return place(Self.marker(0x60, count: text.utf16.count) + units)
        }
    }

    private mutating func place(_ scalar: [UInt8]) -> Int {
        if let place = places[scalar] { return place }
        places[scalar] = objects.count
        return append(.scalar(scalar))
    }

    private mutating func append(_ object: Object) -> Int {
        objects.append(object)
        return objects.count - 1
    }

    /// The file: a header, the objects, their offsets, and the offset of that list.
    func bytes(top: Int) -> [UInt8] {
        let placeWidth = objects.count <= 0xFF ? 1 : objects.count <= 0xFFFF ? 2 : 4
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            switch object {
            case .scalar(let scalar): bytes += scalar
            case .collection(let marker, let count, let places):
                bytes += Self.marker(marker, count: count)
                for place in places { bytes += Self.bigEndian(place, width: placeWidth) }
            }
        }
        let tableOffset = bytes.count
        let offsetWidth = tableOffset <= 0xFFFF ? 2 : 4
        for offset in offsets { bytes += Self.bigEndian(offset, width: offsetWidth) }
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetWidth), UInt8(placeWidth)]
        for number in [objects.count, top, tableOffset] { bytes += Self.bigEndian(number, width: 8) }
        return bytes
    }

    /// The first byte of an object with a length, and the length itself if it does not fit there.
    private static func marker(_ kind: UInt8, count: Int) -> [UInt8] {
        count < 15 ? [kind | UInt8(count)] : [kind | 0x0F] + integer(count)
    }

    /// Negative numbers use eight bytes, others as few as possible.
    private static func integer(_ number: Int) -> [UInt8] {
        switch number {
        case 0...0xFF: [0x10] + bigEndian(number, width: 1)
        case 0...0xFFFF: [0x11] + bigEndian(number, width: 2)
        case 0...0xFFFF_FFFF: [0x12] + bigEndian(number, width: 4)
        default: [0x13] + bigEndian(number, width: 8)
        }
    }

    private static func bigEndian(_ number: Int, width: Int) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
