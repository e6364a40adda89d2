import GRDB
import PriceStore

extension DateSQL {
    /// The readable rows whose first instant compares so with an instant. True or false, never unknown: NULL is false.
    func readable(_ comparison: StorePredicate.Operator, _ instant: Instant) -> SQLFragment {
        let isRight: SQLFragment
        if let function {
            let isSo = SQLFragment(
                "\(function.startName)(\(column)) \(comparison.sql) ?", [instant.microseconds.databaseValue])
            switch comparison {
            // An index can answer the plain comparison of the texts.
            case .less, .lessOrEqual: isRight = .all([prefilter(.less, instant) ?? .always, isSo])
            default: isRight = isSo
            }
        } else {
            // A format of numbers in a column that turns them into text cannot be read at all.
            guard affinity != .text else { return .never }
            isRight = compareNumber(comparison, instant)
        }
        // A part that is unknown for NULL would make NOT of it unknown too.
        return SQLFragment("\(column) IS NOT NULL AND ") + .all([readable(), isRight, .always])
    }

    private func compareNumber(_ comparison: StorePredicate.Operator, _ instant: Instant) -> SQLFragment {
        // At or after the instant is `>= lower`; at or before it is `<= upper`.
        let lower = date.encoding.lowerBound(instant)
        let upper = date.encoding.latestBound(instant)
        return switch comparison {
        case .less: compare(.less, lower)
        case .greaterOrEqual: compare(.greaterOrEqual, lower)
        case .lessOrEqual: compare(.lessOrEqual, upper)
        case .greater: compare(.greater, upper)
        case .equal: .all([compare(.greaterOrEqual, lower), compare(.lessOrEqual, upper)])
        case .notEqual:
            SQLFragment("(") + compare(.less, lower) + ") OR (" + compare(.greater, upper) + ")"
        }
    }
}
