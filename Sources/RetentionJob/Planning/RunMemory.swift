package import PriceStore
package import RetentionPolicy

/// What the guards that need memory know of past runs of the same store.
package struct RunMemory: Hashable, Sendable {
    /// When the last recorded run ended (a crashed one: when it started); nil: there was none.
    package var lastRun: Instant?
    /// The longest time between the ends of two runs that followed each other; nil: fewer than two runs.
    package var longestGap: Duration?
    /// Whether the last run crashed, or failed after one that did: then the store is checked for damage.
    package var hasCrash: Bool
    /// What undos have restored, the newest first.
    package var restorations: [Restored]
    /// The holds that were in force in the last run.
    package var holds: [Hold] = []
    /// By the names of a rule and its entity: the rule's last deletes took the rows before this instant.
    package var deletedBefore: [[String]: Instant]

    /// Rows that an undo has restored, or may have.
    package struct Restored: Hashable, Sendable {
        /// The undo, and the run that it undid.
        package var undo: String
        package var run: String
        package var ended: Instant
        /// The rules whose rows were restored, and their tables.
        package var rules: Set<String>
        package var tables: Set<String>
        /// The digests of the policies of both runs.
        package var policies: Set<String>
        /// The rules with which a later run was allowed to delete again.
        package var accepted: Set<String>

        package init(
            undo: String, run: String, ended: Instant, rules: Set<String>, tables: Set<String>, policies: Set<String>,
            accepted: Set<String> = []
        ) {
            self.undo = undo
            self.run = run
            self.ended = ended
            self.rules = rules
            self.tables = tables
            self.policies = policies
            self.accepted = accepted
        }
    }

    /// The newest undo whose rows a rule must not delete again; nil: there is none, or the policy has changed since.
    func hold(on rule: Rule, policySHA256: String) -> Restored? {
        restorations.first { restored in
            let isConcerned =
                restored.rules.contains(rule.name)
                || restored.tables.contains { $0.lowercased() == rule.entity.lowercased() }
            return isConcerned && restored.policies.contains(policySHA256) && !restored.accepted.contains(rule.name)
        }
    }

    package init(
        lastRun: Instant? = nil, longestGap: Duration? = nil, hasCrash: Bool = false, restorations: [Restored] = [],
        deletedBefore: [[String]: Instant] = [:]
    ) {
        self.restorations = restorations
        self.lastRun = lastRun
        self.longestGap = longestGap
        self.hasCrash = hasCrash
        self.deletedBefore = deletedBefore
    }
}
