package import PriceStore

extension Survey.Unreadable {
    /// What a report for people says of this kind.
    package var reportPhrase: String {
        switch self {
        case .null: "no value"
        case .wrongType: "a value of another type than the format's"
        case .notADate: "not a date in the declared format"
        case .sentinel: "a value that stands for no date"
        case .beforeEarliest: "a date before `earliest`"
        case .afterLatest: "a date after `latest`"
        }
    }
}
