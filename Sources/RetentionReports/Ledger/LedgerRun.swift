package import PriceStore
package import RetentionJob
import RetentionPolicy

/// A past run, as recorded in the ledger.
package struct LedgerRun: Sendable {
    package typealias Outcome = RunReport.RunOutcome

    /// The run's place in the order of all runs, from 1.
    package var number: Int
    /// What the run found and did. The store is its real path. Examples of unreadable values are not recorded.
    package var report: RunReport
    package var outcome: Outcome
    package var process: LedgerProcess
    /// Whether the archive is where the run left it; nil: this was not checked.
    package var isArchiveThere: Bool?
    /// Whether the archive of a killed run is a file without content.
    package var isArchiveEmpty = false
    /// Whether the date until which the archive is kept is over, so that the next run may remove it.
    package var isArchivePast = false
    /// The undos of the run; nil: there is none.
    package var undoneBy: UndoneBy?
    /// The path of the store from the folder of the ledger; nil: it is not recorded, or the store is not a file.
    package var relativeStore: String?
    /// The number of the first run of the command that it was a part of; nil: it was for one store alone, or that is not recorded.
    package var firstOfCommand: Int?

    /// What undos did with the rows of a run.
    package struct UndoneBy: Hashable, Sendable {
        /// An undo that ran to its end.
        package struct Ended: Hashable, Sendable {
            package var run: String
            package var started: Instant
            package var rules: [String]
            /// Rows that are in the store since the undo: restored, or already present.
            package var rows: Int
            /// Rows that the undo skipped, and rows whose references it did not restore.
            package var skipped: Int
            /// A later run that was allowed to delete the rows again; nil: there is none.
            package var deletedAgainBy: String?
            /// Whether it restored something; false: all was there already.
            var hasRestored = true
            /// If not, the undo before it that had restored the rows; empty: none is known.
            var earlier: [Ended] = []
        }

        /// The undos, newest first. Each undid a rule that no earlier one in this list undid.
        package var undos: [Ended] = []
        /// The newest undo, if it did not run to its end.
        package var stopped: String?
        /// Whether an undo was begun and not completed.
        package var wasInterrupted = false
        /// The rules with archived rows that no undo has undone, and the number of these rows.
        package var rulesLeft: Set<String> = []
        package var rowsLeft = 0

        /// The rules that were undone completely.
        package var rules: Set<String> { Set(undos.flatMap(\.rules)) }
        /// Whether all rules were undone.
        package var isWhole: Bool { !undos.isEmpty && rulesLeft.isEmpty }

        /// Adds an undo that is older than those in the list.
        mutating func note(_ undo: RunReport.Undo, by run: LedgerRun, deletedAgainBy: String?) {
            // An undo that ended with differences has skipped rows, but none that became candles.
            guard run.outcome == .completed || run.outcome == .refused else {
                if undos.isEmpty, !wasInterrupted { stopped = run.report.runID }
                wasInterrupted = true
                return
            }
            var ended = Ended(
                run: run.report.runID, started: run.report.started, rules: undo.rules,
                rows: undo.done.restoredCount + undo.done.presentCount,
                skipped: undo.done.leftCount, deletedAgainBy: deletedAgainBy)
            ended.hasRestored = undo.done.restoredCount + undo.done.referenceCount > 0
            if undos.isEmpty || !rules.isSuperset(of: undo.rules) { return undos.append(ended) }
            guard ended.hasRestored else { return }
            for index in undos.indices
            where !undos[index].hasRestored && undos[index].earlier.isEmpty
                && Set(undos[index].rules).isSubset(of: undo.rules)
            {
                undos[index].earlier = [ended]
            }
        }

        /// Finds the rules of the run that are not undone yet.
        mutating func findLeft(in all: [RunReport.RuleReport]) {
            let left = all.filter { $0.done.archived ?? 0 > 0 && !rules.contains($0.name) }
            rulesLeft = Set(left.map(\.name))
            rowsLeft = left.compactMap(\.done.archived).reduce(0, +)
        }
    }
}

extension LedgerRun {
    /// Whether the deleted rows of the run can be restored, and until when, as a clause; nil: the run deleted nothing.
    package var undoText: String? {
        let gone = report.goneCount
        guard gone > 0 || report.archive != nil else { return nil }
        // Rows that were deleted without an archive stay deleted.
        let archived = report.archive.flatMap { $0.isComplete ? $0.rows : nil } ?? gone
        let rest =
            archived < gone ? " for \(Figures.grouped(archived)) of \(Figures.count(gone, "deleted row"))" : ""
        let stopped =
            undoneBy?.stopped.map { "; undo \($0) was stopped, and the same undo continues it" } ?? ""
        if let undoneBy, !undoneBy.undos.isEmpty { return undoneText(undoneBy, archived, rest) + stopped }
        guard let archive = report.archive else { return "not possible: no archive was made" }
        guard isArchiveThere != false else { return "not possible: the archive no longer exists" }
        guard !isArchiveEmpty else {
            return "not possible: the archive is empty: the run was killed before it deleted a row, or the file beside "
                + "it with the rows is missing"
        }
        guard archive.isComplete else {
            return "possible for all rows in the archive, which has no SHA-256, because the run did not end normally"
        }
        return "possible\(until)\(rest)\(stopped)"
    }

    /// Whether there are archived rows that no undo has restored.
    package var canBeUndone: Bool {
        report.archive != nil && isArchiveThere != false && !isArchiveEmpty && undoneBy?.isWhole != true
    }

    private var until: String {
        guard let until = report.archive?.until.map({ Figures.instant($0.toSecond) }) else { return "" }
        return isArchivePast ? " as long as the archive is there, which was kept until \(until)" : " until \(until)"
    }

    /// Which undos have undone the run, or which part of it.
    ///
    /// - Parameter rest: which part of the deleted rows they are; blank: all.
    private func undoneText(_ undone: UndoneBy, _ archived: Int, _ rest: String) -> String {
        let runs = undone.undos.map { $0.earlier.first ?? $0 }
            .map { "run \($0.run) on \(Figures.instant($0.started.toSecond))" }
            .joined(separator: " and ")
        let skipped = undone.undos.reduce(0) { $0 + $1.skipped }
        var notes =
            skipped > 0 ? ", without \(Figures.count(skipped, "row or reference", plural: "rows or references"))" : ""
        if let again = undone.undos.lazy.compactMap(\.deletedAgainBy).first {
            notes += ", and run \(again) has deleted rows again"
        }
        // It is not recorded which rules a crashed run carried out.
        guard report.archive?.isComplete != false else {
            let rules = undone.rules.isEmpty ? "" : " of \(undone.rules.sorted().joined(separator: ", "))"
            return "rows\(rules) restored by \(runs)\(notes)"
        }
        guard undone.rowsLeft > 0 else { return "undone by \(runs)\(rest)\(notes)" }
        let restored = min(undone.undos.reduce(0) { $0 + $1.rows }, archived - undone.rowsLeft)
        let left = Figures.grouped(undone.rowsLeft)
        return
            "\(Figures.grouped(restored)) of \(Figures.count(archived, rest.isEmpty ? "row" : "archived row")) restored by \(runs)\(notes); "
            + (canBeUndone
                ? "\(left) can still be restored\(until)"
                : "the other \(left) cannot: the archive no longer exists")
    }
}

/// Who runs the program, and where.
package struct LedgerProcess: Hashable, Reported {
    package static let fields: ReportFields<Self> = [
        .stored("pid", \.pid), .stored("host", \.host), .stored("user", \.user), .stored("version", \.version),
        .stored("uid", \.uid), .stored("login", \.login), .stored("sudo_user", \.sudoUser),
    ]

    package var pid: Int
    package var host: String
    package var user: String
    /// The program's version.
    package var version: String
    /// The ID of the user whose rights the program has; nil: not recorded.
    package var uid: Int?
    /// The user who logged in, according to the kernel; nil: nobody, as for a cron job.
    package var login: String?
    /// The user who called `sudo`, according to its variable; nil: none.
    package var sudoUser: String?
    package var unknown: Set<String> = []

    package init(
        pid: Int, host: String, user: String, version: String, uid: Int? = nil, login: String? = nil,
        sudoUser: String? = nil
    ) {
        self.pid = pid
        self.host = host
        self.user = user
        self.version = version
        self.uid = uid
        self.login = login
        self.sudoUser = sudoUser
    }

    /// The user in words: `root (uid 0), login ann, sudo by ann`.
    package var operatorText: String {
        var text = user
        if let uid { text += " (uid \(uid))" }
        if let login { text += ", login \(login)" }
        if let sudoUser { text += ", sudo by \(sudoUser)" }
        return text
    }
}

extension RunReport {
    /// Whether the clock was checked and no rule was refused because of it. A run that ended before its plan was made did not check the
    /// clock.
    package var trustsClock: Bool {
        !rules.isEmpty && !doubtsClock
    }

    /// Whether a rule was refused because of the clock, so that the times of the run may be wrong.
    package var doubtsClock: Bool {
        rules.contains { !Set($0.refusalCodes).isDisjoint(with: [.clockMovedBack, .clockJumped]) }
    }

    /// Whether a rule was refused because the clock was earlier than the end of the last run.
    var saysMovedBack: Bool { rules.contains { $0.refusalCodes.contains(.clockMovedBack) } }

    /// Whether the clock of the run was ahead: its date is more than a day after what follows.
    func isAhead(of next: Instant) -> Bool { started > next.advanced(byMicroseconds: 86_400_000_000) }
}
