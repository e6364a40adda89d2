package import PriceStore

/// The keys of some rows, in the order of ``KeyCollector``.
package enum KeyList: Hashable, Sendable {
    /// Keys of one integer, as ranges without gaps.
    case numbers([ClosedRange<Int64>])
    /// All other keys, as lines of ``KeyCollector``. They are compared byte by byte.
    case lines([[UInt8]])

    /// The number of keys; in a file that no dry run wrote, ranges may have more than there can be rows.
    package var count: Int128 {
        switch self {
        case .lines(let lines): Int128(lines.count)
        case .numbers(let ranges): ranges.reduce(0) { $0 + Int128($1.upperBound) - Int128($1.lowerBound) + 1 }
        }
    }

    /// Whether the keys are in order and distinct.
    package var isInOrder: Bool {
        switch self {
        case .numbers(let ranges):
            zip(ranges, ranges.dropFirst()).allSatisfy {
                $0.upperBound < $1.lowerBound && $0.upperBound + 1 < $1.lowerBound
            }
        case .lines(let lines): zip(lines, lines.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
        }
    }

    /// Whether the list contains the key of a row.
    package func contains(_ id: ObjectID) -> Bool {
        switch self {
        case .numbers(let ranges):
            guard id.key.count == 1, case .integer(let number) = id.key[0] else { return false }
            let place = ranges.firstPlace { number <= $0.upperBound }
            return place < ranges.count && ranges[place].contains(number)
        case .lines(let lines): return lines.contains(inOrder: KeyCollector.line(id))
        }
    }

    /// The keys that another list lacks: their number, and the first five.
    package func subtracting(_ other: KeyList) -> (count: Int, first: [String]) {
        switch (self, other) {
        case (.numbers(let own), _): return Self.subtract(other.ranges, from: own)
        case (.lines(let own), .lines(let others)):
            let lacking = own.filter { !others.contains(inOrder: $0) }
            return (lacking.count, lacking.prefix(5).map { String(decoding: $0, as: UTF8.self) })
        case (.lines(let own), .numbers(let others)):
            let numbers = KeyList.numbers(others)
            let lacking = own.filter { line in
                Self.number(line).map { !numbers.contains(ObjectID(entity: "", key: [.integer($0)])) } ?? true
            }
            return (lacking.count, lacking.prefix(5).map { String(decoding: $0, as: UTF8.self) })
        }
    }

    /// The keys of one integer. A column without a type can hold other keys beside them.
    private var ranges: [ClosedRange<Int64>] {
        switch self {
        case .numbers(let ranges): ranges
        case .lines(let lines): lines.compactMap(Self.number).sorted().map { $0...$0 }
        }
    }

    private static func number(_ line: [UInt8]) -> Int64? { Int64(String(decoding: line, as: UTF8.self)) }

    private static func subtract(
        _ others: [ClosedRange<Int64>], from own: [ClosedRange<Int64>]
    ) -> (count: Int, first: [String]) {
        var count = 0
        var first: [String] = []
        func add(_ range: ClosedRange<Int64>) {
            count += range.count
            for key in range.prefix(5 - first.count) { first.append("\(key)") }
        }
        var index = 0
        for range in own {
            while index < others.count, others[index].upperBound < range.lowerBound { index += 1 }
            var begin: Int64? = range.lowerBound
            for other in others[index...].prefix(while: { $0.lowerBound <= range.upperBound }) {
                if let begin, begin < other.lowerBound { add(begin...(other.lowerBound - 1)) }
                begin = other.upperBound < range.upperBound ? other.upperBound + 1 : nil
            }
            if let begin { add(begin...range.upperBound) }
        }
        return (count, first)
    }
}

extension [[UInt8]] {
    fileprivate func contains(inOrder line: [UInt8]) -> Bool {
        let place = firstPlace { !$0.lexicographicallyPrecedes(line) }
        return place < count && self[place] == line
    }
}

extension Array {
    /// The first index whose element meets a condition that all later elements meet too.
    fileprivate func firstPlace(where holds: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
