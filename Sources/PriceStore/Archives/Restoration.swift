/// Whether triggers of the store fire when an undo writes rows.
package enum TriggerChoice: String, CaseIterable, Sendable {
    /// Triggers do not fire: the undo restores what was deleted and nothing else.
    case skip
    /// Triggers fire: data that they maintain, such as a full-text index, stays in step.
    case fire
}

/// Rows of a table that triggers of the store wrote.
package struct TriggeredRows: Hashable, Sendable {
    package var insertedCount = 0
    package var changedCount = 0
    package var deletedCount = 0

    package init(insertedCount: Int = 0, changedCount: Int = 0, deletedCount: Int = 0) {
        self.insertedCount = insertedCount
        self.changedCount = changedCount
        self.deletedCount = deletedCount
    }

    package var isEmpty: Bool { self == TriggeredRows() }

    package mutating func add(_ other: TriggeredRows) {
        insertedCount += other.insertedCount
        changedCount += other.changedCount
        deletedCount += other.deletedCount
    }
}

/// An archive to restore from.
package struct RestorationRequest: Hashable, Sendable {
    /// The path of the archive's file, or the name of its schema.
    package var archive: String
    package var run: String
    /// The rules whose rows are restored; empty: all rules.
    package var rules: [String]
    /// Whether the archive must be complete. An incomplete one may hold rows that were never deleted and are still in the store.
    package var mustBeComplete: Bool
    /// Rules that earlier undos have undone completely. If their rows became candles, nothing of them is restored again: a later run may
    /// have made the same candles of the same rows.
    package var undoneRules: Set<String>
    /// Whether some of the last transactions may already be undone, or were never committed. The archive does not say so.
    package var mayBeUndoneInPart: Bool
    /// What triggers of the store do; nil: nobody has said, and they fire.
    package var triggers: TriggerChoice?

    package init(
        archive: String, run: String, rules: [String] = [], mustBeComplete: Bool = true,
        undoneRules: Set<String> = [], mayBeUndoneInPart: Bool = true, triggers: TriggerChoice? = nil
    ) {
        self.triggers = triggers
        self.undoneRules = undoneRules
        self.mayBeUndoneInPart = mayBeUndoneInPart
        self.archive = archive
        self.run = run
        self.rules = rules
        self.mustBeComplete = mustBeComplete
    }
}

/// A virtual table, such as a full-text index, that triggers keep in step with a table.
package struct FollowingIndex: Hashable, Sendable {
    package var name: String
    /// How to bring it into step again, as a clause.
    package var remedy: String

    package init(name: String, remedy: String) {
        self.name = name
        self.remedy = remedy
    }
}

/// What an archive holds for one table of the store, compared with the store now.
package struct RestorableTable: Hashable, Sendable {
    package var table: String
    package var archivedCount = 0
    /// Rows that the store already has, equal in every value.
    package var presentCount = 0
    /// Rows whose key the store uses for a row with other values. They are skipped.
    package var conflictCount = 0
    /// Rows with references that were cleared and can be restored, because nobody has changed them since.
    package var referenceCount = 0
    /// Rows with references that were cleared and cannot be restored, because they are not in the store.
    package var skippedReferenceCount = 0
    /// Candles that would get their former values back.
    package var restoredCandleCount = 0
    /// Candles that would be deleted, because the run made them.
    package var deletedCandleCount = 0
    /// Candles that are neither as the run left them nor as they were before it, or that exist more than once. If there is one, nothing can
    /// be restored.
    package var changedCandleCount = 0
    /// Rows that became candles and cannot be restored, because other rows use their keys. If there is one, nothing can be restored.
    package var blockedCount = 0
    /// The triggers of the table that the restoration fires unless they are skipped, by name.
    package var triggers: [String] = []
    /// The virtual tables that these triggers write. They are out of step if the triggers are skipped.
    package var indexes: [FollowingIndex] = []

    package var restorableCount: Int { archivedCount - presentCount - conflictCount }

    package var prediction: RestoredTable {
        var done = RestoredTable()
        (done.restoredCount, done.presentCount, done.skippedCount) = (restorableCount, presentCount, conflictCount)
        (done.referenceCount, done.skippedReferenceCount) = (referenceCount, skippedReferenceCount)
        (done.restoredCandleCount, done.deletedCandleCount) = (restoredCandleCount, deletedCandleCount)
        return done
    }
}

/// A row of an archive that was not restored, or whose reference was not restored.
package struct SkippedRow: Hashable, Sendable {
    package var table: String
    package var key: [StoreValue]
    /// Why, as a clause: `another row uses its key`.
    package var reason: String

    package init(table: String, key: [StoreValue], reason: String) {
        self.table = table
        self.key = key
        self.reason = reason
    }
}

/// What a part of a restoration did to one table.
package struct RestoredTable: Hashable, Sendable {
    package var restoredCount = 0
    /// Rows that were in the store already.
    package var presentCount = 0
    /// Rows that were not inserted.
    package var skippedCount = 0
    package var referenceCount = 0
    /// Rows with references that were cleared and not restored.
    package var skippedReferenceCount = 0
    /// Candles that have their former values again.
    package var restoredCandleCount = 0
    /// Candles that were deleted, because the run had made them.
    package var deletedCandleCount = 0

    package init() {}

    /// Rows that were not inserted, and rows whose references were not restored.
    package var leftCount: Int { skippedCount + skippedReferenceCount }

    package mutating func add(_ other: RestoredTable) {
        restoredCount += other.restoredCount
        presentCount += other.presentCount
        skippedCount += other.skippedCount
        referenceCount += other.referenceCount
        skippedReferenceCount += other.skippedReferenceCount
        restoredCandleCount += other.restoredCandleCount
        deletedCandleCount += other.deletedCandleCount
    }
}

/// What a part of a restoration did.
package struct RestorationPart: Hashable, Sendable {
    /// The tables of the part, by their names in the store.
    package var tables: [String: RestoredTable] = [:]
    /// Rows that were not inserted and rows whose references were not restored: at most the first 100 of the part.
    package var skipped: [SkippedRow] = []
    /// Rows that triggers of the store wrote, by the name of their table; rows of virtual tables are not counted.
    package var byTriggers: [String: TriggeredRows] = [:]
    package var hasMore = true

    package init() {}
}

/// Inserts the rows of an archive into the store that they were deleted from, the last deleted first.
package protocol Restoration: AnyObject {
    var rules: [String] { get }

    /// The tables of the store that get rows, references or candles back. Of the counts, only those of archived rows and of what prevents
    /// the restoration are known.
    var tables: [RestorableTable] { get }

    /// Whether restored rows can differ from the archived ones: triggers of the store fire, or column types differ.
    var mayDiffer: Bool { get }

    /// Restores the next rows in one transaction.
    ///
    /// - Parameter rows: how many. It can be more, because rows that refer to each other in a circle are restored together.
    /// - Throws: ``StoreError``; then this part is rolled back, and all earlier parts stay committed.
    func restoreNext(rows: Int) throws(StoreError) -> RestorationPart
}
