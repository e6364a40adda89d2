import PriceStore
import RetentionPolicy

extension Plan {
    /// Something that the operator should know and that refuses nothing.
    package struct Warning: Hashable, Sendable {
        /// What it is about, in a few words: it is always the same.
        package var title: String
        /// A sentence, usually without a full stop.
        package var text: String
        /// The place in the policy, that of a rule; nil: `check` finds it by another way.
        var mark: Mark?
    }

    /// All warnings: about holds, dates that cannot be read, and rows that do not arrive.
    var warnings: [Warning] {
        holds.warnings.map { Warning(title: $0.title, text: $0.text) }
            + warningsOfUnreadable.map { Warning(title: "no date can be read", text: $0) } + arrivals
    }
}
