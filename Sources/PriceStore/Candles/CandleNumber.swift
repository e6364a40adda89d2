/// A price, a volume or a sum of them: an integer, a finite double, or a decimal number of any length.
package enum CandleNumber: Sendable {
    case integer(Int64)
    case real(Double)
    case decimal(DecimalNumber)

    /// The number that a store holds; nil: the value is not a number.
    package init?(_ value: StoreValue) {
        switch value {
        case .integer(let number): self = .integer(number)
        case .real(let number) where number.isFinite: self = .real(number)
        case .real, .null, .text, .blob: return nil
        }
    }

    package var storeValue: StoreValue {
        switch self {
        case .integer(let number): .integer(number)
        case .real(let number): .real(number)
        case .decimal(let number): .text(number.description)
        }
    }

    package var asDouble: Double {
        switch self {
        case .integer(let number): Double(number)
        case .real(let number): number
        case .decimal(let number): number.asDouble
        }
    }

    /// The number as a decimal; nil: it is a double.
    package var asDecimal: DecimalNumber? {
        switch self {
        case .integer(let number): DecimalNumber(Int128(number))
        case .real: nil
        case .decimal(let number): number
        }
    }

    /// The sum; exact, except for doubles.
    ///
    /// - Throws: ``CandleError/overflow`` if it is too large to be stored.
    package static func + (a: CandleNumber, b: CandleNumber) throws(CandleError) -> CandleNumber {
        if case .integer(let a) = a, case .integer(let b) = b {
            return try whole(a.addingReportingOverflow(b))
        }
        if let a = a.asDecimal, let b = b.asDecimal { return .decimal(a + b) }
        return try finite(a.asDouble + b.asDouble)
    }

    /// The product, with the limits of ``+(_:_:)``.
    package static func * (a: CandleNumber, b: CandleNumber) throws(CandleError) -> CandleNumber {
        if case .integer(let a) = a, case .integer(let b) = b {
            return try whole(a.multipliedReportingOverflow(by: b))
        }
        if let a = a.asDecimal, let b = b.asDecimal { return .decimal(a * b) }
        return try finite(a.asDouble * b.asDouble)
    }

    private static func whole(_ result: (partialValue: Int64, overflow: Bool)) throws(CandleError) -> CandleNumber {
        guard !result.overflow else { throw .overflow }
        return .integer(result.partialValue)
    }

    private static func finite(_ result: Double) throws(CandleError) -> CandleNumber {
        guard result.isFinite else { throw .overflow }
        return .real(result)
    }
}

extension CandleNumber: Comparable {
    /// Whether both are the same number, in any representation.
    package static func == (a: CandleNumber, b: CandleNumber) -> Bool { !(a < b) && !(b < a) }

    /// Compares exactly, without rounding integers. A decimal is compared with a double as a double.
    package static func < (a: CandleNumber, b: CandleNumber) -> Bool {
        switch (a, b) {
        case (.integer(let a), .integer(let b)): a < b
        case (.real(let a), .real(let b)): a < b
        case (.integer(let a), .real(let b)): b >= 0x1p63 || b > -0x1p63 && a < Int64(b.rounded(.up))
        case (.real(let a), .integer(let b)): a < -0x1p63 || a < 0x1p63 && Int64(a.rounded(.down)) < b
        default:
            if let a = a.asDecimal, let b = b.asDecimal { a < b } else { a.asDouble < b.asDouble }
        }
    }
}

extension CandleNumber: Hashable {
    package func hash(into hasher: inout Hasher) { hasher.combine(asDouble) }
}

/// Why rows cannot become candles. Nothing is changed in this case.
package enum CandleError: Error, Hashable, Sendable {
    /// A sum is larger than its kind of number can hold.
    case overflow
    /// The candles do not agree with the rows in the named figure.
    case disagreement(String)
    /// The number of rows that became candles differs from the number of deleted rows.
    case miscount(rolledUp: Int, deleted: Int)
    /// A candle is read with other values than were written.
    case notAsWritten
    /// A candle that begins at the instant does not lie within one bucket of the longer candles.
    case straddle(Instant)
    /// The start of a bucket is read as another instant if it is written in the format.
    case unwritable(Instant, DateEncoding)
}

extension CandleError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .overflow: "a sum of a candle is too large to be stored"
        case .disagreement(let figure): "the candles do not agree with the rows: \(figure)"
        case .miscount(let rolledUp, let deleted): "\(rolledUp) rows became candles, and \(deleted) were deleted"
        case .notAsWritten: "a candle differs from what was written"
        case .straddle(let start):
            "a candle of \(start.rfc3339) is not within one bucket of the longer candles: their sessions begin at different times"
        case .unwritable(let start, let format):
            "the start of a candle, \(start.rfc3339), cannot be written as \(format.rawValue): it is read as another instant"
        }
    }
}
