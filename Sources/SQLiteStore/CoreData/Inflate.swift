/// A raw DEFLATE stream (RFC 1951) that is being unpacked.
///
/// Every step takes at least one bit of the stream or stops, and no table is larger than the code that it describes: the
/// time is bounded by the lengths of the stream and of what comes out of it.
struct Inflate {
    private let stream: [UInt8]
    private let limit: Int
    private var output: [UInt8] = []
    /// The next byte of which no bit has been read.
    private var position = 0
    /// Bits that were read from the stream and not yet used, the next one lowest.
    private var bits = 0
    private var bitCount = 0

    /// Unpacks a stream. Bytes after its last block are ignored.
    ///
    /// - Parameters:
    ///   - stream: the packed bytes, without the header and trailer of zlib or gzip.
    ///   - limit: the largest number of unpacked bytes.
    /// - Throws: ``ModelArchiveError`` with the position in the stream, if it is damaged, ends early or unpacks to
    ///   more.
    static func bytes(of stream: [UInt8], limit: Int) throws(ModelArchiveError) -> [UInt8] {
        var inflate = Inflate(stream: stream, limit: limit)
        while try !inflate.unpackBlock() {}
        return inflate.output
    }

    private init(stream: [UInt8], limit: Int) {
        self.stream = stream
        self.limit = limit
    }

    /// Unpacks a block and says whether it was the last one.
    private mutating func unpackBlock() throws(ModelArchiveError) -> Bool {
        let isLast = try take(1) == 1
        switch try take(2) {
        case 0: try unpackStored()
        case 1: try unpack(.fixedLiterals, .fixedDistances)
        case 2:
            let (literals, distances) = try takeCodes()
            try unpack(literals, distances)
        default: throw damage("a block of an unknown kind")
        }
        return isLast
    }

    private mutating func unpackStored() throws(ModelArchiveError) {
        bits = 0
        bitCount = 0
        let length = try take(16)
        guard try take(16) == ~length & 0xFFFF else { throw damage("the two lengths of a stored block differ") }
        guard stream.count - position >= length else { throw ended }
        try makeRoom(for: length)
        output += stream[position..<position + length]
        position += length
    }

    private mutating func unpack(_ literals: HuffmanCode, _ distances: HuffmanCode) throws(ModelArchiveError) {
        while true {
            let symbol = try take(literals)
            if symbol < 256 {
                try makeRoom(for: 1)
                output.append(UInt8(symbol))
                continue
            }
            guard symbol > 256 else { return }
            guard symbol - 257 < Self.lengths.count else { throw damage("a length that has no meaning") }
            let (leastLength, lengthBits) = Self.lengths[symbol - 257]
            let length = leastLength + (try take(lengthBits))
            let distanceSymbol = try take(distances)
            guard distanceSymbol < Self.distances.count else { throw damage("a distance that has no meaning") }
            let (leastDistance, distanceBits) = Self.distances[distanceSymbol]
            let distance = leastDistance + (try take(distanceBits))
            guard distance <= output.count else { throw damage("a distance that reaches before the first byte") }
            try makeRoom(for: length)
            // Byte by byte: the copy may run into what it has just written.
            for _ in 0..<length { output.append(output[output.count - distance]) }
        }
    }

    /// Reads the codes that a block brings with it.
    private mutating func takeCodes() throws(ModelArchiveError) -> (literals: HuffmanCode, distances: HuffmanCode) {
        let literalCount = try take(5) + 257
        let distanceCount = try take(5) + 1
        let orderCount = try take(4) + 4
        guard literalCount <= 286, distanceCount <= 30 else { throw damage("a code with too many symbols") }
        var orderLengths = [Int](repeating: 0, count: Self.lengthOrder.count)
        for index in 0..<orderCount { orderLengths[Self.lengthOrder[index]] = try take(3) }
        guard let lengthCode = HuffmanCode(lengths: orderLengths, mayBeIncomplete: false) else {
            throw damage("the code of the code lengths is not a code")
        }

        var lengths: [Int] = []
        while lengths.count < literalCount + distanceCount {
            let symbol = try take(lengthCode)
            switch symbol {
            case ..<16: lengths.append(symbol)
            case 16:
                guard let last = lengths.last else { throw damage("a repeated code length without a first one") }
                lengths += repeatElement(last, count: 3 + (try take(2)))
            case 17: lengths += repeatElement(0, count: 3 + (try take(3)))
            default: lengths += repeatElement(0, count: 11 + (try take(7)))
            }
        }
        guard lengths.count == literalCount + distanceCount else { throw damage("more code lengths than symbols") }
        guard lengths[256] > 0 else { throw damage("a block that cannot end") }
        guard let literals = HuffmanCode(lengths: lengths.prefix(literalCount), mayBeIncomplete: true) else {
            throw damage("the code of the literals is not a code")
        }
        guard let distances = HuffmanCode(lengths: lengths.dropFirst(literalCount), mayBeIncomplete: true) else {
            throw damage("the code of the distances is not a code")
        }
        return (literals, distances)
    }

    /// Takes that many bits, the first one lowest; at most 16.
    private mutating func take(_ count: Int) throws(ModelArchiveError) -> Int {
        while bitCount < count {
            guard position < stream.count else { throw ended }
            bits |= Int(stream[position]) << bitCount
            bitCount += 8
            position += 1
        }
        defer {
            bits >>= count
            bitCount -= count
        }
        return bits & ((1 << count) - 1)
    }

    /// Takes the bits of one symbol. The codes of each length are consecutive numbers, so no table is needed.
    private mutating func take(_ code: HuffmanCode) throws(ModelArchiveError) -> Int {
        var number = 0
        var firstOfLength = 0
        var symbolsBefore = 0
        for count in code.counts.dropFirst() {
            number = number << 1 | (try take(1))
            firstOfLength <<= 1
            if number - firstOfLength < count { return code.symbols[symbolsBefore + number - firstOfLength] }
            firstOfLength += count
            symbolsBefore += count
        }
        throw damage("bits that are not a symbol")
    }

    private func makeRoom(for count: Int) throws(ModelArchiveError) {
        guard limit - output.count >= count else {
            throw ModelArchiveError("the packed bytes unpack to more than \(limit) bytes")
        }
    }

    private var ended: ModelArchiveError { damage("they end early") }

    private func damage(_ what: String) -> ModelArchiveError {
        ModelArchiveError("the packed bytes are damaged at byte \(position): \(what)")
    }
}

extension Inflate {
    /// A canonical Huffman code: how many symbols have each length, and the symbols by length and number.
    private struct HuffmanCode {
        /// The counts of symbols by length in bits; index 0 means no code.
        let counts: [Int]
        /// The symbols in the order of their codes.
        let symbols: [Int]

        static let fixedLiterals = HuffmanCode(
            unchecked: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
        static let fixedDistances = HuffmanCode(unchecked: [Int](repeating: 5, count: 32))

        private init(unchecked lengths: [Int]) {
            var counts = [Int](repeating: 0, count: 16)
            for length in lengths { counts[length] += 1 }
            counts[0] = 0
            self.counts = counts
            var next = [Int](repeating: 0, count: 16)
            for length in 1..<15 { next[length + 1] = next[length] + counts[length] }
            var symbols = [Int](repeating: 0, count: counts.reduce(0, +))
            for (symbol, length) in lengths.enumerated() where length > 0 {
                symbols[next[length]] = symbol
                next[length] += 1
            }
            self.symbols = symbols
        }

        /// Creates a code from the lengths of its symbols, 0 to 15; nil if there are too many or too few of them. As in
        /// zlib, a code of one symbol with one bit is valid, and so is one without symbols, which is an error to use.
        init?(lengths: some Collection<Int>, mayBeIncomplete: Bool) {
            self.init(unchecked: Array(lengths))
            var free = 1
            for count in counts.dropFirst() {
                free = free * 2 - count
                if free < 0 { return nil }
            }
            let isTiny = symbols.isEmpty || counts[1] == 1 && symbols.count == 1
            guard free == 0 || mayBeIncomplete && isTiny else { return nil }
        }
    }

    /// The least length and the count of further bits, for the symbols from 257.
    private static let lengths: [(least: Int, bits: Int)] = {
        var lengths: [(Int, Int)] = []
        var least = 3
        for symbol in 0..<28 {
            let bits = symbol < 8 ? 0 : symbol / 4 - 1
            lengths.append((least, bits))
            least += 1 << bits
        }
        // The last symbol is 258 alone, which the one before it could also say.
        return lengths + [(258, 0)]
    }()

    /// The least distance and the count of further bits, for each symbol.
    private static let distances: [(least: Int, bits: Int)] = {
        var distances: [(Int, Int)] = []
        var least = 1
        for symbol in 0..<30 {
            let bits = symbol < 4 ? 0 : symbol / 2 - 1
            distances.append((least, bits))
            least += 1 << bits
        }
        return distances
    }()

    /// The order in which the lengths of the code of the code lengths are stored.
    private static let lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
}
