extension ClosedRange<Int64> {
    /// At most so many rowids of the range, at equal distances, the first of them the lowest. In integers, because
    /// doubles would round the largest rowids to invalid ones.
    func spread(over count: Int) -> [Int64] {
        let length = UInt64(bitPattern: upperBound &- lowerBound)
        let step = Swift.max(1, length / UInt64(Swift.max(1, count)))
        return (0..<UInt64(Swift.max(0, count))).prefix { $0 <= length / step }
            .map { lowerBound &+ Int64(bitPattern: $0 * step) }
    }
}
