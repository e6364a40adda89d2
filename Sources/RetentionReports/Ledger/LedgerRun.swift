package import PriceStore
package import RetentionJob
import RetentionPolicy

/// A past run, as recorded in the ledger.
package struct LedgerRun: Sendable {
    /// How a run ended.
    package enum Outcome: String, Hashable, Sendable, CaseIterable {
        /// It has not ended.
        case running
        /// Every rule was carried out.
        case completed
        /// At least one rule was refused; the others ran.
        case refused
        /// At least one rule failed, or an error ended the run.
        case failed
        /// The budget or a signal ended it; rows remain.
        case interrupted
        /// Its process ended without a record of it.
        case crashed
    }

    /// Its place in the order of all runs, from 1.
    package var number: Int
    /// What it found and did; the store is the real path, examples of unreadable values are not recorded.
    package var report: RunReport
    package var outcome: Outcome
    package var process: LedgerProcess
    /// Whether the archive is where the run left it; nil: it was not looked for.
    package var isArchiveThere: Bool?
    /// The last undo of the run; nil: there is none.
    package var undoneBy: UndoneBy?
    /// The path of the store from the folder of the ledger; nil: it is not recorded, or the store is no file.
    package var relativeStore: String?

    /// An undo of a run.
    package struct UndoneBy: Hashable, Sendable {
        package var run: String
        package var started: Instant
        /// Whether it came to its end.
        package var isComplete: Bool
        /// The rules that this undo, or one before it, has undone completely.
        package var rules: Set<String>
        /// Whether one of them was begun and not completed.
        package var wasInterrupted: Bool
        /// A later run that was allowed to delete the rows again; nil: none.
        package var deletedAgainBy: String?
    }

    package init(number: Int, report: RunReport, outcome: Outcome, process: LedgerProcess) {
        self.number = number
        self.report = report
        self.outcome = outcome
        self.process = process
    }
}

extension LedgerRun {
    /// Whether what the run deleted can be restored, and until when, as a clause; nil: it deleted nothing.
    package var undoText: String? {
        let gone = report.rules.reduce(0) { $0 + $1.goneCount }
        guard gone > 0 || report.archive != nil else { return nil }
        // What was deleted without an archive stays deleted.
        let archived = report.archive.flatMap { $0.isComplete ? $0.rows : nil } ?? gone
        let rest =
            archived < gone ? " for \(Figures.grouped(archived)) of \(Figures.count(gone, "deleted row"))" : ""
        if let undoneBy, undoneBy.isComplete {
            let undone = "undone by run \(undoneBy.run) on \(Figures.instant(undoneBy.started))\(rest)"
            return undone + (undoneBy.deletedAgainBy.map { ", and run \($0) has deleted rows again" } ?? "")
        }
        guard let archive = report.archive else { return "not possible: no archive was made" }
        guard isArchiveThere != false else { return "not possible: the archive is not there any more" }
        guard archive.isComplete else { return "possible in part: the archive is not complete" }
        let until = archive.until.map { " until \(Figures.instant($0.toSecond))" } ?? ""
        let begun = undoneBy.map { "; undo \($0.run) was stopped, and the same undo continues it" } ?? ""
        return "possible\(until)\(rest)\(begun)"
    }
}

/// Who runs the program, and where.
package struct LedgerProcess: Hashable, Sendable {
    package var pid: Int
    package var host: String
    package var user: String
    /// The program's version.
    package var version: String
    /// The number of the user whose rights the program has; nil: not recorded.
    package var uid: Int?
    /// The user who logged in, according to the kernel; nil: none, as for a cron job.
    package var login: String?
    /// The user who called `sudo`, according to its variable; nil: none.
    package var sudoUser: String?

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

    /// Who it was, in words: `root (uid 0), login ann, sudo by ann`.
    package var operatorText: String {
        var text = user
        if let uid { text += " (uid \(uid))" }
        if let login { text += ", login \(login)" }
        if let sudoUser { text += ", sudo by \(sudoUser)" }
        return text
    }
}

extension RunReport {
    /// Whether the clock was checked and no rule was refused because of it. A run that ended before its plan was made
    /// has not checked it.
    package var trustsClock: Bool {
        !rules.isEmpty
            && rules.allSatisfy { Set($0.refusalCodes).isDisjoint(with: [.clockMovedBack, .clockJumped]) }
    }

    /// The outcome of the whole run: the worst of what happened.
    package var ledgerOutcome: LedgerRun.Outcome {
        if failure != nil || rules.contains(where: { $0.outcome == .failed }) { return .failed }
        if rules.contains(where: { $0.outcome == .interrupted }) || undo?.isInterrupted == true { return .interrupted }
        return rules.contains { $0.outcome == .refused } ? .refused : .completed
    }
}
