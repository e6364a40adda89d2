import PriceStore
import RetentionPolicy

extension Plan {
    /// Something that the operator should know and that refuses no rule.
    package struct Warning: Hashable, Sendable {
        /// The subject in a few words; always the same for one kind of warning.
        package var title: String
        /// A sentence, usually without a full stop.
        package var text: String
        /// The place of a rule in the policy; nil: `check` finds it in another way.
        var mark: Mark?
    }

    /// All warnings: about holds, dates that cannot be read, and rows that do not arrive.
    var warnings: [Warning] {
        holds.warnings.map { Warning(title: $0.title, text: $0.text) }
            + warningsOfUnreadable.map { Warning(title: "no date can be read", text: $0) } + arrivals
    }
}
