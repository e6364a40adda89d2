/// A quotient of integers, for exact conversions between counts and doubles.
struct ExactRatio {
    var numerator: Int128
    /// Positive.
    var denominator: Int128

    /// The greatest integer that is not above the quotient.
    var floor: Int128 { numerator.flooringDivision(by: denominator) }
    /// The least integer that is not below the quotient.
    var ceiling: Int128 { numerator.ceilingDivision(by: denominator) }
    var integer: Int128? { numerator % denominator == 0 ? numerator / denominator : nil }

    /// The double nearest to the quotient; of two that are equally near, the one with an even significand.
    ///
    /// The numerator must be below 2^100 in magnitude and the denominator below 2^64, as in all formats.
    var nearestDouble: Double {
        guard numerator != 0 else { return 0 }
        let magnitude = numerator.magnitude
        let divisor = denominator.magnitude
        // At least 56 bits of quotient, of which a double holds 53, so the last bit can represent the whole remainder.
        let shift = max(0, 56 - (magnitude.bitLength - divisor.bitLength))
        var (quotient, remainder) = (magnitude << UInt128(shift)).quotientAndRemainder(dividingBy: divisor)
        var exponent = -shift
        let excess = quotient.bitLength - 64
        if excess > 0 {
            if quotient.trailingZeroBitCount < excess { remainder = 1 }
            quotient >>= UInt128(excess)
            exponent += excess
        }
        let bits = UInt64(quotient) | (remainder == 0 ? 0 : 1)
        return Double(sign: numerator < 0 ? .minus : .plus, exponent: exponent, significand: Double(bits))
    }
}

extension ExactRatio {
    /// The product of a finite double and a fraction, rounded down. The double must be below 2^80 in magnitude. Both parts of the fraction
    /// must be positive and below 2^37.
    static func floor(of value: Double, times multiplier: Int128, over divisor: Int128) -> Int128 {
        guard value != 0 else { return 0 }
        // value = significand * 2^exponent, both whole. Subnormals lose nothing: their ulp is the least exponent.
        let exponent = Int(value.ulp.exponent)
        let significand = Int128(Double(sign: .plus, exponent: -exponent, significand: value))
        let product = significand * multiplier
        // Rounding down twice equals rounding down once, because both divisors are positive integers.
        let shifted = exponent >= 0 ? product << Int128(exponent) : product >> Int128(-exponent)
        return shifted.flooringDivision(by: divisor)
    }
}

extension UInt128 {
    fileprivate var bitLength: Int { bitWidth - leadingZeroBitCount }
}
