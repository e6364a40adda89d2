package import PriceStore

/// The identifier of a run: a ULID, so that runs sort by their start and two machines do not create the same one.
package enum RunID {
    /// Crockford's base 32: no I, L, O, U. Source: the ULID specification, "Encoding".
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    private static let length = 26

    /// Whether a text has the form of an ID, in capitals, as by ``make(at:random:)``.
    package static func isRunID(_ text: some StringProtocol) -> Bool {
        let digits = Array(text)
        // The first digit has only three bits.
        return digits.count == length && digits.allSatisfy(alphabet.contains) && digits[0] <= "7"
    }

    /// The start of the run with this ID, to the millisecond; nil: the text is not an ID.
    package static func start(of id: String) -> Instant? {
        guard isRunID(id) else { return nil }
        let milliseconds = id.prefix(10).compactMap(alphabet.firstIndex).reduce(Int64(0)) { $0 << 5 | Int64($1) }
        return Instant(microseconds: milliseconds * 1000)
    }

    /// The number of random bytes in an ID.
    package static let randomByteCount = 10

    /// Creates the ID of a run that begins now.
    package static func random(at instant: Instant) -> String {
        make(at: instant, random: (0..<randomByteCount).map { _ in UInt8.random(in: 0...255) })
    }

    /// Creates an ID of 26 characters: 48 bits of milliseconds since 1970 and 80 random bits.
    ///
    /// - Parameters:
    ///   - instant: the start of the run; an instant before 1970 counts as 1970.
    ///   - random: ten random bytes; missing bytes count as 0, excess bytes are ignored.
    package static func make(at instant: Instant, random: some Sequence<UInt8>) -> String {
        let milliseconds = UInt64(max(0, instant.microseconds / 1000)) & 0xFFFF_FFFF_FFFF
        var bits = UInt128(milliseconds) << 80
        for (place, byte) in random.prefix(randomByteCount).enumerated() {
            bits |= UInt128(byte) << UInt128(72 - 8 * place)
        }
        // 26 digits of 5 bits hold 130 bits; the two highest are always 0.
        return String((0..<length).map { alphabet[Int((bits >> UInt128(5 * (25 - $0))) & 31)] })
    }
}
