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
        /// When the state began that it is about; nil: that is not known.
        var since: Instant?

        /// Whether a run tells it: the first one since the state began, and, of rows that do not arrive, the first one of each week.
        func isNew(after lastRun: Instant?, clock: Instant) -> Bool {
            guard let since, let lastRun, lastRun >= since else { return true }
            let week = Duration.seconds(7 * 86_400)
            return title == "no new rows" && Int(clock.since(since) / week) > Int(lastRun.since(since) / week)
        }
    }

    /// All warnings: about holds, dates that cannot be read, and rows that do not arrive.
    var warnings: [Warning] {
        let ofHolds = holds.warnings.map {
            Warning(title: $0.title, text: $0.text, since: $0.title == "hold ended" ? $0.hold.expires : nil)
        }
        let unreadable = steps.filter { $0.disposition == .planned }.compactMap {
            $0.survey.warningOfUnreadable($0.rule)
        }
        return ofHolds + unreadable.map { Warning(title: "no date can be read", text: $0) } + arrivals
    }
}
