package import PriceStore

extension RunReport {
    /// What an undo restored, or would restore.
    package struct Undo: Hashable, Sendable {
        /// One table of the store.
        package struct Table: Hashable, Sendable {
            package var name: String
            /// Rows in the archive.
            package var archived = 0
            /// What was restored, or in a dry run would be.
            package var done = RestoredTable()
            /// Rows that differ from the archived ones because the store changed them; nil: not counted.
            package var changed: Int?

            /// Whether candles of the table were deleted, and none of its rows was restored or is there.
            package var onlyLostCandles: Bool {
                done.deletedCandleCount > 0
                    && done.restoredCount + done.presentCount + done.referenceCount + done.restoredCandleCount == 0
            }
        }

        /// Rows that a rule deleted without an archive.
        package struct Unarchived: Hashable, Sendable {
            package var rule: String
            package var rows: Int

            package init(rule: String, rows: Int) {
                self.rule = rule
                self.rows = rows
            }
        }

        /// The run that was undone.
        package var run: String
        /// Its archive.
        package var archive: String
        /// The rules whose rows are restored.
        package var rules: [String]
        package var tables: [Table]
        /// The first rows that were not restored, or were restored without their references.
        package var skippedRows: [SkippedRow] = []
        /// What the run deleted without an archive, if no rule was named; it cannot be restored.
        package var unarchived: [Unarchived] = []
        /// The store's triggers that the undo fires unless they are skipped, as `name of table`.
        package var triggers: [String] = []
        /// What to do with these triggers; nil: nobody has chosen.
        package var triggerChoice: TriggerChoice?
        /// Rows that these triggers wrote, by table name.
        package var byTriggers: [String: TriggeredRows] = [:]
        /// Whether the undo was stopped with rows left to restore.
        package var isInterrupted = false
        /// The rules that the next run refuses because they would delete restored rows again, with the reason; not recorded.
        package var waiting: [Waiting] = []

        /// A rule that waits until its delete of restored rows is accepted.
        package struct Waiting: Hashable, Sendable {
            package var rule: String
            /// A sentence that says how to accept it.
            package var reason: String
        }

        package var unknown: Set<String> = []

        /// What was restored, over all tables.
        package var done: RestoredTable { tables.reduce(into: RestoredTable()) { $0.add($1.done) } }
        package var archivedCount: Int { tables.reduce(0) { $0 + $1.archived } }
        package var unarchivedCount: Int { unarchived.reduce(0) { $0 + $1.rows } }
        /// Whether a choice about triggers is still missing.
        package var needsTriggerChoice: Bool { !triggers.isEmpty && triggerChoice == nil }
        /// Whether something differs from the state before the run.
        package var hasDifferences: Bool {
            done.leftCount + unarchivedCount > 0 || tables.contains { $0.changed ?? 0 > 0 }
        }

        /// The most skipped rows that are listed.
        package static let mostListed = 100
    }
}
