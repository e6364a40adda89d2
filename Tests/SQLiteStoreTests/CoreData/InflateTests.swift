import TestSupport
import Testing

@testable import SQLiteStore

/// Streams that zlib made, and the same ones damaged.
struct InflateTests {
    /// A stream of zlib's and what it was made from.
    struct Sample: CustomTestStringConvertible, Sendable {
        var name: String
        var packed: [UInt8]
        var text: [UInt8]
        var testDescription: String { name }
    }

    /// Lines of a price file.
    private static let prices = (0..<40).map { index in
        let cents = 1893 + index * 37
        let (month, cent) = (index % 12 + 1, cents % 100)
        return "\(1833 + index / 12)-\(month < 10 ? "0" : "")\(month),\(cents / 100).\(cent < 10 ? "0" : "")\(cent)\n"
    }.joined()
    private static let ends = (0..<40).map { UInt8($0) }

    static let samples = [
        Sample(
            name: "stored", packed: bytes("010c00f3ff676f6c6420343036352e3130"), text: Array("gold 4065.10".utf8)),
        Sample(name: "stored, empty", packed: bytes("010000ffff"), text: []),
        Sample(
            name: "fixed codes", packed: bytes("4bcfcf495148472174148a3373ca528b00"),
            text: Array("gold gold gold gold, silver".utf8)),
        Sample(
            name: "dynamic codes",
            packed: bytes(
                """
                2dd0bb8d44310c43d17c6af10ad65feabfb195fc181e30b92097eadfe5c345ad3f7e92c34d7a215d454276e4d235c857c650acb2
                a03cc2c40ed5ca05ea55f527be478424205e055a588e28ddd762db39d284de9606e9112366c8565690afcaa1e974128172e50dd5
                aa039ace20d54fdb199468d9cea48b96ed4cb2d7e2af33a9189aad880bd2953b64ab16683a9ba4a158454079749e57a85676a15e
                657e9a4e9de7d1329d2347cb748eeab5c476ea3cef90ac42205d754376749e8fdf3f
                """), text: Array(prices.utf8)),
        Sample(
            name: "the longest distance",
            packed: bytes(
                """
                edc109128100000040395228940ee940d7ff7fe81f667737c176b73f84c7283e9d2f497abdddb3fc519455fd6c5e6dd70fefcf77
                9ce665dd00000000000000000000000000000000000000000000000000000000000000c03f0bb6bbfd213c46f1e97c49d2ebed9e
                e58fa2acea67f36abb7e787fbee3342feb0f
                """), text: ends + [UInt8](repeating: 0, count: 32768 - 40) + ends),
        Sample(
            name: "a copy of what it writes", packed: bytes("4b4c1c05a360140c770000"),
            text: Array(String(repeating: "a", count: 1000).utf8)),
        Sample(
            name: "several blocks",
            packed: bytes(
                """
                2cc7b111c0300804b03eb3108e076cf0fe8bc5e45e9dd011af41d07ae2c13f171c0de362b68b4b71534b6ecd12dc9e5573250ec5
                bafb000000ffffedc9c11180300844d1bbb510067663423ab37c25528005f86f6f3ed92c04ae270e0f3e5aa958afdc04508c92a7
                064b1050cd52bd99a7384bfbcdbe75fd7dee06
                """), text: Array((prices.prefix(200) + String(repeating: "x", count: 300)).utf8)),
    ]

    @Test(arguments: samples)
    func unpacksWhatZlibPacked(_ sample: Sample) throws {
        #expect(try Inflate.bytes(of: sample.packed, limit: 1 << 20) == sample.text)
    }

    @Test(arguments: samples)
    func ignoresWhatFollowsTheLastBlock(_ sample: Sample) throws {
        #expect(try Inflate.bytes(of: sample.packed + [0xFF, 0xFF], limit: 1 << 20) == sample.text)
    }

    @Test(arguments: samples)
    func unpacksUpToTheLimitAndNotAByteMore(_ sample: Sample) throws {
        #expect(try Inflate.bytes(of: sample.packed, limit: sample.text.count) == sample.text)
        guard !sample.text.isEmpty else { return }
        #expect(throws: ModelArchiveError("the packed bytes unpack to more than \(sample.text.count - 1) bytes")) {
            try Inflate.bytes(of: sample.packed, limit: sample.text.count - 1)
        }
    }

    @Test(arguments: samples)
    func aStreamThatIsCutAnywhereIsAnError(_ sample: Sample) {
        for count in 0..<sample.packed.count {
            #expect(throws: ModelArchiveError.self, "cut to \(count) bytes") {
                try Inflate.bytes(of: Array(sample.packed.prefix(count)), limit: 1 << 20)
            }
        }
    }

    @Test(arguments: [
        ("07", "a block of an unknown kind"),
        ("010c00f2ff67", "the two lengths of a stored block differ"),
        // A copy from 1 byte back where there is none: the fixed code of length 3 and of distance 1.
        ("0302", "a distance that reaches before the first byte"),
        // The fixed code has numbers that mean nothing: 286 among the lengths, 30 among the distances.
        ("1b03", "a length that has no meaning"),
        ("037f", "a distance that has no meaning"),
        ("fdff00", "a code with too many symbols"),
        // Four code lengths of one bit.
        ("0500922400000000", "the code of the code lengths is not a code"),
        ("050000000000", "the code of the code lengths is not a code"),
    ])
    func namesTheDamage(_ packed: String, _ message: String) {
        let error = #expect(throws: ModelArchiveError.self) {
            try Inflate.bytes(of: bytes(packed), limit: 1 << 20)
        }
        #expect(error?.message.hasSuffix(message) == true, "\(error?.message ?? "no error")")
        #expect(error?.message.contains("at byte ") == true)
    }

    @Test(arguments: [
        // The code lengths are packed by hand: see ``dynamicBlock(lengths:)``.
        ([Int](repeating: 0, count: 256) + [0, 0], "a block that cannot end"),
        (
            [Int](repeating: 1, count: 3) + [Int](repeating: 0, count: 253) + [1, 0],
            "the code of the literals is not a code"
        ),
        ([0, 2] + [Int](repeating: 0, count: 254) + [2, 0], "the code of the literals is not a code"),
        ([0, 1] + [Int](repeating: 0, count: 254) + [1, 2], "the code of the distances is not a code"),
    ])
    func refusesCodesThatBitsCannotTellApart(_ lengths: [Int], _ message: String) {
        let error = #expect(throws: ModelArchiveError.self) {
            try Inflate.bytes(of: dynamicBlock(lengths: lengths), limit: 1 << 20)
        }
        #expect(error?.message.hasSuffix(message) == true, "\(error?.message ?? "no error")")
    }

    @Test func aBlockMayHaveOneSymbolAndNoDistances() throws {
        // Only the end of the block, with a code of one bit.
        let lengths = [Int](repeating: 0, count: 256) + [1, 0]
        #expect(try Inflate.bytes(of: dynamicBlock(lengths: lengths) + [0], limit: 10) == [])
    }

    @Test func randomBytesNeverDoMoreThanFail() {
        var random = SeededRandom(7)
        for _ in 0..<2000 {
            let packed = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let unpacked = try? Inflate.bytes(of: packed, limit: 5000)
            #expect(unpacked?.count ?? 0 <= 5000)
        }
    }

    /// A last block with dynamic codes: 257 literals and 1 distance of the given lengths (0, 1 or 2), and no symbols.
    private func dynamicBlock(lengths: [Int]) -> [UInt8] {
        var bits: [Int] = [1, 0, 1]
        func add(_ value: Int, _ count: Int) { bits += (0..<count).map { value >> $0 & 1 } }
        add(0, 5)  // 257 literals
        add(0, 5)  // 1 distance
        add(14, 4)  // 18 lengths, of which those of 0, 1 and 2 are in use: 1, 2 and 2 bits
        let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1]
        for symbol in order { add([0: 1, 1: 2, 2: 2][symbol] ?? 0, 3) }
        // Codes are sent with their first bit first: 0, then 10 and 11.
        for length in lengths { bits += [[0], [1, 0], [1, 1]][length] }
        return stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<min(start + 8, bits.count)].enumerated().reduce(0) { $0 | UInt8($1.element << $1.offset) }
        }
    }
}

/// The bytes that hexadecimal digits stand for; line ends between them do not count.
func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = hexadecimal.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
}
