import GRDB
import PriceStore

extension DateSQL {
    /// The readable rows whose first instant compares this way with an instant. The condition is true or false, never unknown: NULL gives
    /// false.
    func readable(_ comparison: StorePredicate.Operator, _ instant: Instant) -> SQLFragment {
        let isRight: SQLFragment
        if let function {
            let isSo: SQLFragment =
                "\(function.startName)(\(column)) \(comparison.sql) \(bound: instant.microseconds)"
            switch comparison {
            // The plain comparison of the texts can use an index.
            case .less, .lessOrEqual: isRight = .all([prefilter(.less, instant) ?? .always, isSo])
            default: isRight = isSo
            }
        } else {
            // A column of text affinity turns numbers into text, so a format of numbers cannot be read there.
            guard affinity != .text else { return .never }
            isRight = compareNumber(comparison, instant)
        }
        // If a part were unknown for NULL, its negation would be unknown too.
        return "\(column) IS NOT NULL AND \(SQLFragment.all([readable(), isRight]))"
    }

    private func compareNumber(_ comparison: StorePredicate.Operator, _ instant: Instant) -> SQLFragment {
        // At or after the instant means `>= lower`; at or before it means `<= upper`.
        let lower = date.encoding.lowerBound(instant)
        let upper = date.encoding.latestBound(instant)
        return switch comparison {
        case .less: compare(.less, lower)
        case .greaterOrEqual: compare(.greaterOrEqual, lower)
        case .lessOrEqual: compare(.lessOrEqual, upper)
        case .greater: compare(.greater, upper)
        case .equal: .all([compare(.greaterOrEqual, lower), compare(.lessOrEqual, upper)])
        case .notEqual: "(\(compare(.less, lower))) OR (\(compare(.greater, upper)))"
        }
    }
}
