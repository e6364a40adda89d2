/// The bound with which a numeric date column is compared: one for values stored as INTEGER, one for REAL.
///
/// The integer is exact and rounded so that comparing values gives the same result as comparing dates. The double is the one nearest to the
/// instant, and an equal stored double counts as exactly at the instant.
package struct NumericBound: Hashable, Sendable {
    /// The bound for values stored as INTEGER, clamped to 64 bits.
    package var integer: Int64
    package var real: Double

    package init(integer: Int64, real: Double) {
        self.integer = integer
        self.real = real
    }

    /// One value that decides `v < bound`, and so `v >= bound`, for both kinds of storage; nil if two are needed.
    package var singleParameter: StoreValue? {
        single(wholePart: real.rounded(.up))
    }

    /// One value that decides `v <= bound`, and so `v > bound`, for both kinds of storage; nil if two are needed.
    package var singleInclusiveParameter: StoreValue? {
        single(wholePart: real.rounded(.down))
    }

    private func single(wholePart: Double) -> StoreValue? {
        if Int64(exactly: real) == integer { return .integer(integer) }
        if Int64(exactly: wholePart) == integer { return .real(real) }
        // Beyond the range of integers, none of them is on the other side.
        if wholePart >= 0x1p63, integer == .max { return .real(real) }
        if wholePart < -0x1p63, integer == .min { return .real(real) }
        return nil
    }
}
