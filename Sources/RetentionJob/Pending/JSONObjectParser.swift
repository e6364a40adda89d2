import PriceStore

/// Reads one flat JSON object strictly by RFC 8259: strings, numbers, `true` (1), `false` (0) and `null`.
///
/// A number is kept as text, because the column decides what it becomes.
struct JSONObjectParser {
    private let bytes: ArraySlice<UInt8>
    private var index: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    /// The members in order.
    ///
    /// - Throws: ``BadLine`` for anything except one flat object without duplicate names.
    mutating func parse() throws(BadLine) -> [PendingRecord.Member] {
        guard !bytes.contains(0) else { throw BadLine("a NUL byte") }
        var members: [PendingRecord.Member] = []
        guard take("{") else { throw BadLine("not a JSON object") }
        if !take("}") {
            repeat {
                skipSpace()
                guard peek == .quote else { throw BadLine("broken JSON: a name in quotes is expected") }
                let name = try string()
                guard take(":") else { throw BadLine("broken JSON: a colon is expected after a name") }
                guard !members.contains(where: { $0.name == name }) else {
                    throw BadLine("the name '\(name)' occurs twice")
                }
                skipSpace()
                let isNumber = peek.map { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) } ?? false
                members.append(PendingRecord.Member(name: name, value: try value(), isNumber: isNumber))
            } while take(",")
            guard take("}") else { throw BadLine("broken JSON: a comma or a closing brace is expected") }
        }
        skipSpace()
        guard index == bytes.endIndex else { throw BadLine("broken JSON: text after the object") }
        return members
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }

    private var peek: UInt8? { index < bytes.endIndex ? bytes[index] : nil }

    private mutating func skipSpace() {
        while let byte = peek, Self.isSpace(byte) { index += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard peek == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func value() throws(BadLine) -> StoreValue {
        skipSpace()
        switch peek {
        case .quote: return .text(try string())
        case UInt8(ascii: "{"), UInt8(ascii: "["): throw BadLine("a nested value")
        case UInt8(ascii: "t"): return try word("true", .integer(1))
        case UInt8(ascii: "f"): return try word("false", .integer(0))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ value: StoreValue) throws(BadLine) -> StoreValue {
        let count = word.utf8CodeUnitCount
        let matches = word.withUTF8Buffer { bytes[index...].prefix(count).elementsEqual($0) }
        guard matches else { throw BadLine("broken JSON: an unknown word") }
        index += count
        return value
    }

    private mutating func number() throws(BadLine) -> StoreValue {
        let start = index
        if peek == UInt8(ascii: "-") { index += 1 }
        let digitsStart = index
        try digits()
        guard bytes[digitsStart] != UInt8(ascii: "0") || index == digitsStart + 1 else {
            throw BadLine("broken JSON: a number with a leading zero")
        }
        if peek == UInt8(ascii: ".") {
            index += 1
            try digits()
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            index += 1
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
        return .text(String(decoding: bytes[start..<index], as: UTF8.self))
    }

    private mutating func digits() throws(BadLine) {
        let start = index
        while let byte = peek, byte >= 0x30, byte <= 0x39 { index += 1 }
        guard index > start else { throw BadLine("broken JSON: a value is expected") }
    }

    private mutating func string() throws(BadLine) -> String {
        index += 1
        let start = index
        while let byte = peek, byte != .quote, byte != UInt8(ascii: "\\"), byte >= 0x20 { index += 1 }
        if peek == .quote {
            defer { index += 1 }
            return try pendingText(bytes[start..<index])
        }
        var text = Array(bytes[start..<index])
        while let byte = peek, byte != .quote {
            guard byte >= 0x20 else { throw BadLine("broken JSON: a control character in a string") }
            index += 1
            if byte == UInt8(ascii: "\\") { try escape(into: &text) } else { text.append(byte) }
        }
        guard peek == .quote else { throw BadLine("broken quotes: a string is not closed") }
        index += 1
        return try pendingText(text)
    }

    private mutating func escape(into text: inout [UInt8]) throws(BadLine) {
        guard let byte = peek else { throw BadLine("broken quotes: a string is not closed") }
        index += 1
        switch byte {
        case .quote, UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(Character(try scalar())).utf8)
        default: throw BadLine("broken JSON: an unknown escape")
        }
    }

    /// The scalar of a `\uXXXX` whose `\u` is already read, including the low half that follows a high one.
    private mutating func scalar() throws(BadLine) -> Unicode.Scalar {
        let unit = try hexUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard unit < 0xDC00, peek == UInt8(ascii: "\\") else { throw BadLine("broken JSON: half a surrogate pair") }
        index += 1
        guard peek == UInt8(ascii: "u") else { throw BadLine("broken JSON: half a surrogate pair") }
        index += 1
        let low = try hexUnit()
        guard (0xDC00..<0xE000).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        else { throw BadLine("broken JSON: half a surrogate pair") }
        return scalar
    }

    private mutating func hexUnit() throws(BadLine) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw BadLine("broken JSON: four hexadecimal digits are expected")
            }
            unit = unit << 4 + UInt32(digit)
            index += 1
        }
        return unit
    }
}
