extension ClosedRange<Int64> {
    /// Up to `count` evenly spaced rowids of the range, starting with the lowest. Integers are used because doubles would round the largest
    /// rowids to invalid ones.
    func spread(over count: Int) -> [Int64] {
        let length = UInt64(bitPattern: upperBound &- lowerBound)
        let step = Swift.max(1, length / UInt64(Swift.max(1, count)))
        return (0..<UInt64(Swift.max(0, count))).prefix { $0 <= length / step }
            .map { lowerBound &+ Int64(bitPattern: $0 * step) }
    }
}
