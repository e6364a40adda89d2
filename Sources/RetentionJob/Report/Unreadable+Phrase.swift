package import PriceStore

extension Entity.Kind {
    /// The words for this kind.
    package var phrase: String {
        self == .virtual ? "a virtual table" : "a \(rawValue)"
    }
}

extension Survey.Unreadable {
    /// The words for this kind in a report for people.
    package var reportPhrase: String {
        switch self {
        case .null: "no value"
        case .wrongType: "a value of the wrong type"
        case .notADate: "not a date in the declared format"
        case .sentinel: "a placeholder for no date"
        case .beforeEarliest: "a date before `earliest`"
        case .afterLatest: "a date after `latest`"
        }
    }
}
