/// A binary property list, read as data: a table of objects that refer to each other by number.
///
/// Reading follows no references, so cycles do no harm; callers that follow them must limit the depth. The objects together may not be
/// larger than the list, so no byte is read twice.
struct PropertyList {
    /// One object. The elements that it holds are numbers of objects in the table.
    enum Object: Hashable {
        case boolean(Bool)
        case integer(Int64)
        case data([UInt8])
        case string(String)
        /// A reference of a keyed archive: an index into the archive's own table.
        case uid(Int)
        /// An array or a set.
        case array([Int])
        case dictionary(keys: [Int], values: [Int])
        /// Null, a date, or a number that is not an integer of up to 64 bits.
        case other
    }

    /// The objects by number.
    let objects: [Object]
    /// The number of the outermost object.
    let top: Int

    private static let largestObjectCount = 1_000_000

    /// Reads a list.
    ///
    /// - Throws: ``ModelArchiveError`` that names the byte if the list is damaged or is not a binary property list.
    init(_ bytes: [UInt8]) throws(ModelArchiveError) {
        let headerSize = 8
        let trailerSize = 32
        guard bytes.starts(with: Array("bplist0".utf8)) else {
            throw ModelArchiveError("not a binary property list: it does not begin with bplist00")
        }
        let trailer = bytes.count - trailerSize
        guard trailer >= headerSize else {
            throw ModelArchiveError("the property list ends early, at byte \(bytes.count)")
        }
        let offsetSize = Int(bytes[trailer + 6])
        let referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = BigEndian.count(bytes[trailer + 8..<trailer + 16]),
            let top = BigEndian.count(bytes[trailer + 16..<trailer + 24]),
            let table = BigEndian.count(bytes[trailer + 24..<trailer + 32]),
            table >= headerSize, table <= trailer, count <= (trailer - table) / offsetSize, top < count
        else {
            throw ModelArchiveError("the property list is damaged at byte \(trailer): the sizes at its end do not fit")
        }
        guard count <= Self.largestObjectCount else {
            throw ModelArchiveError("the property list has more than \(Self.largestObjectCount) objects")
        }
        var reader = ObjectReader(
            bytes: bytes, end: table, referenceSize: referenceSize, objectCount: count, unread: table - headerSize)
        var objects: [Object] = []
        objects.reserveCapacity(count)
        for index in 0..<count {
            let entry = table + index * offsetSize
            guard let offset = BigEndian.count(bytes[entry..<entry + offsetSize]), offset >= headerSize, offset < table
            else {
                throw ModelArchiveError("the property list is damaged at byte \(entry): an object is outside the list")
            }
            objects.append(try reader.object(at: offset))
        }
        self.objects = objects
        self.top = top
    }

    /// The number of the value under a key of a dictionary, or nil if the object is not a dictionary or lacks the key.
    ///
    /// A dictionary of more than 256 keys counts as lacking the key; the objects of archives have a few dozen.
    func value(_ key: String, of object: Int) -> Int? {
        guard case .dictionary(let keys, let values) = objects[object], keys.count <= 256 else { return nil }
        return zip(keys, values).first { objects[$0.0] == .string(key) }?.1
    }

    /// The entries of a dictionary whose keys are strings, or nil if the object is not a dictionary.
    func dictionary(_ object: Int) -> [String: Int]? {
        guard case .dictionary(let keys, let values) = objects[object] else { return nil }
        var entries: [String: Int] = [:]
        for (key, value) in zip(keys, values) {
            if case .string(let name) = objects[key] { entries[name] = value }
        }
        return entries
    }
}

/// Big-endian numbers, as property lists store them.
private enum BigEndian {
    static func bits(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// A count or an offset of up to 8 bytes, or nil if it is too large.
    static func count(_ bytes: ArraySlice<UInt8>) -> Int? { Int(exactly: bits(bytes)) }
}

/// Reads the objects of a list and limits their total size to that of the list.
private struct ObjectReader {
    let bytes: [UInt8]
    /// Where the objects end.
    let end: Int
    let referenceSize: Int
    let objectCount: Int
    /// The number of bytes that no object has used yet.
    var unread: Int

    var start = 0
    var cursor = 0

    /// Reads the object at an offset before the end.
    mutating func object(at offset: Int) throws(ModelArchiveError) -> PropertyList.Object {
        start = offset
        cursor = offset
        let marker = BigEndian.bits(try take(1))
        let low = Int(marker & 0xF)
        switch marker >> 4 {
        case 0x0:
            switch low {
            case 0x8: return .boolean(false)
            case 0x9: return .boolean(true)
            default: return .other
            }
        case 0x1 where low <= 3:
            // Integers of eight bytes are signed, shorter ones are not.
            return .integer(Int64(bitPattern: BigEndian.bits(try take(1 << low))))
        case 0x1 where low == 4:
            _ = try take(16)
            return .other
        case 0x2 where low == 2 || low == 3, 0x3 where low == 3:
            _ = try take(1 << low)
            return .other
        case 0x4: return .data(Array(try take(try takeCount(low))))
        case 0x5, 0x7: return .string(String(decoding: try take(try takeCount(low)), as: UTF8.self))
        case 0x6:
            let units = try take(try takeCount(low), each: 2)
            let starts = stride(from: units.startIndex, to: units.endIndex, by: 2)
            return .string(
                String(decoding: starts.map { UInt16(units[$0]) << 8 | UInt16(units[$0 + 1]) }, as: UTF16.self))
        case 0x8 where low < 8:
            guard let uid = BigEndian.count(try take(low + 1)) else { throw damage("a reference that is too large") }
            return .uid(uid)
        case 0xA, 0xB, 0xC: return .array(try takeReferences(try takeCount(low)))
        case 0xD:
            let count = try takeCount(low)
            return .dictionary(keys: try takeReferences(count), values: try takeReferences(count))
        default: throw damage("an object of an unknown kind")
        }
    }

    private mutating func take(_ count: Int, each size: Int = 1) throws(ModelArchiveError) -> ArraySlice<UInt8> {
        guard count <= (end - cursor) / size else { throw damage("an object extends past the end of the list") }
        guard count * size <= unread else { throw damage("objects overlap") }
        defer {
            cursor += count * size
            unread -= count * size
        }
        return bytes[cursor..<cursor + count * size]
    }

    /// A count of elements, which is in the marker or in an integer after it.
    private mutating func takeCount(_ low: Int) throws(ModelArchiveError) -> Int {
        guard low == 0xF else { return low }
        let marker = BigEndian.bits(try take(1))
        guard marker >> 4 == 1, marker & 0xF <= 3, let count = BigEndian.count(try take(1 << Int(marker & 0xF))) else {
            throw damage("a count that is not a number")
        }
        return count
    }

    private mutating func takeReferences(_ count: Int) throws(ModelArchiveError) -> [Int] {
        let slice = try take(count, each: referenceSize)
        var references: [Int] = []
        references.reserveCapacity(count)
        for place in stride(from: slice.startIndex, to: slice.endIndex, by: referenceSize) {
            guard let number = BigEndian.count(slice[place..<place + referenceSize]), number < objectCount else {
                throw damage("a reference to a missing object")
            }
            references.append(number)
        }
        return references
    }

    private func damage(_ what: String) -> ModelArchiveError {
        ModelArchiveError("the property list is damaged at byte \(start): \(what)")
    }
}
