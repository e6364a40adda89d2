import PriceStore

/// Encodes a row's key as one value and decodes it without loss.
///
/// A key of one number or text is stored as it is. Any other is stored as bytes: for each value, a letter for its storage class, then a
/// number of eight bytes, or a length of eight bytes and that many bytes.
enum HistoryKey {
    static func encode(_ key: [StoreValue]) -> StoreValue {
        if key.count == 1 {
            switch key[0] {
            case .integer, .real, .text: return key[0]
            case .null, .blob: break
            }
        }
        var bytes: [UInt8] = []
        func append(_ letter: Unicode.Scalar, _ number: UInt64, _ rest: some Sequence<UInt8> = [UInt8]()) {
            bytes.append(UInt8(ascii: letter))
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> shift))
            }
            bytes += rest
        }
        for value in key {
            switch value {
            case .null: append("n", 0)
            case .integer(let number): append("i", UInt64(bitPattern: number))
            case .real(let number): append("r", number.bitPattern)
            case .text(let text): append("t", UInt64(text.utf8.count), text.utf8)
            case .blob(let blob): append("b", UInt64(blob.count), blob)
            }
        }
        return .blob(bytes)
    }

    /// The stored key, or nil if the bytes are not a key.
    static func decode(_ stored: StoreValue) -> [StoreValue]? {
        guard case .blob(let bytes) = stored else { return [stored] }
        var key: [StoreValue] = []
        var rest = bytes[...]
        while let letter = rest.popFirst() {
            guard rest.count >= 8 else { return nil }
            let number = rest.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(8)
            switch Character(UnicodeScalar(letter)) {
            case "n": key.append(.null)
            case "i": key.append(.integer(Int64(bitPattern: number)))
            case "r": key.append(.real(Double(bitPattern: number)))
            case "t":
                guard number <= UInt64(rest.count) else { return nil }
                key.append(.text(String(decoding: rest.prefix(Int(number)), as: UTF8.self)))
                rest = rest.dropFirst(Int(number))
            case "b":
                guard number <= UInt64(rest.count) else { return nil }
                key.append(.blob(Array(rest.prefix(Int(number)))))
                rest = rest.dropFirst(Int(number))
            default: return nil
            }
        }
        return key
    }
}
