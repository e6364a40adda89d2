package import PriceStore
import RetentionJob
package import RetentionPolicy

/// The review of many stores: those that need attention first, the others as one, and what is true of all.
package struct StoresReview {
    /// What the review of one store comes to.
    package struct Store {
        fileprivate var name: String
        /// Rows, rows that are expired now and within 24 hours, and bytes; nil: not known.
        fileprivate var counts: [Int?] = [nil, nil, nil, nil]
        fileprivate var lastRun: LedgerRun?
        /// When its next run is due, and when that counts as missed; nil: that is not known.
        fileprivate var due: (due: Instant, late: Instant)?
        fileprivate var findings: [(text: String, style: Style)] = []
        /// What is true of all stores of the policy.
        fileprivate var ofAll: [(text: String, style: Style)] = []
        fileprivate var json = ""
        fileprivate var isLedgerUnreadable = false

        package init(_ review: Review) {
            name = review.plan.store
            let rows = review.plan.rules.compactMap(\.planned.rows).reduce(0, +)
            let expired = review.expiredOfAll
            counts = [rows, expired.now, expired.tomorrow, review.storeSizeBytes.map { Int($0) }]
            (lastRun, due) = (review.lastRun, review.due)
            json = String(review.json.dropLast())
            isLedgerUnreadable = review.isLedgerUnreadable
            // A new store waits for its first run.
            for (found, sentence) in zip(review.attention, review.sentences)
            where found.kind != "missed" || !review.runs.isEmpty {
                if ["ledger", "no_archive", "no_limit"].contains(found.kind) {
                    ofAll.append(sentence)
                } else {
                    findings.append(sentence)
                }
            }
        }

        /// Makes it of a store that cannot be read.
        ///
        /// - Parameter runs: the past runs of the policy on it, the newest last.
        package init(_ policy: Policy, trouble: String, runs: [LedgerRun], now: Instant) {
            (name, lastRun, due) = (policy.store.written, runs.newest(now: now), runs.due(of: policy, now: now))
            // What is wrong with the policy is said once.
            let last = lastRun.flatMap { $0.outcome == .completed ? nil : $0 }.map {
                ("\(Figures.instant($0.report.started.toSecond)): \($0.outcomeText)", $0.outcome.style)
            }
            findings = policy.mistakes == nil ? [(trouble, .bad)] : [last].compactMap(\.self)
            json = (["schema": "retention.report/1", "store": name.json, "error": trouble.json] as JSONText).document
        }

        /// Makes the sums of several stores, without those that cannot be read.
        ///
        /// - Parameters:
        ///   - all: the name of all of them.
        ///   - count: how many they are, in words.
        fileprivate init(_ all: String, _ count: String, _ stores: ArraySlice<Store>) {
            let known = stores.filter { $0.counts[0] != nil }
            name = known.count == stores.count ? all : "\(Figures.grouped(known.count)) of \(count)"
            let none: Int? = known.isEmpty && !stores.isEmpty ? nil : 0
            counts = counts.indices.map { index in
                known.reduce(none) { sum, store in sum.flatMap { sum in store.counts[index].map { sum + $0 } } }
            }
            lastRun = stores.compactMap(\.lastRun).max { $0.report.started < $1.report.started }
        }

        fileprivate var rank: Int { [.bad, .caution].firstIndex { $0 == findings.first?.style } ?? 2 }
    }

    private let title: String
    private let policy: Policy
    private let asOf: Instant
    private let stores: [Store]
    private let problems: [String]
    private let gone: String?

    /// The largest number of stores that have a line.
    private static let mostShown = 50

    /// Makes the review of the stores of a pattern.
    ///
    /// - Parameters:
    ///   - title: the pattern.
    ///   - problems: what the pattern missed.
    ///   - gone: the stores that recent runs had and that are gone; nil: that is not known.
    package init(
        _ title: String, of policy: Policy, asOf: Instant, _ stores: [Store], problems: [String],
        gone: GoneStores? = nil
    ) {
        (self.title, self.policy, self.asOf) = (title, policy, asOf)
        self.problems = problems + (policy.mistakes.map { ["a run now would fail: \($0.firstText)"] } ?? [])
        self.gone = gone?.text
        self.stores = stores.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
            .map(\.element)
    }

    /// The reviews as a JSON list, those that need attention first, ending with a line end.
    package var json: String { "[\n" + stores.map(\.json).joined(separator: ",\n") + "\n]\n" }

    private var topLines: [(label: String, text: String, style: Style)] {
        let counts = [0, 1].map { rank in stores.count { $0.rank == rank } }
        let bad =
            counts[0] == 1 ? "1 is not as it should be" : "\(Figures.grouped(counts[0])) are not as they should be"
        let text =
            "\(Figures.grouped(stores.count)), of which \(bad), and \(Figures.grouped(counts[1])) "
            + (counts[1] == 1 ? "needs a look" : "need a look")
        let last = lastRun
        // A store of which a run was left out has a finding.
        let due = stores.compactMap(\.due).max { $0.due < $1.due }
        let trouble =
            stores.isEmpty
            ? "no file matches" : stores.contains(where: \.isLedgerUnreadable) ? Review.unreadableLedger : nil
        let every = policy.ledger == .none || trouble != nil ? nil : policy.expectedEvery?.written
        let next = every.map { Review.next(due, of: "run", every: $0, now: asOf) }
        return [
            ("Last run", last?.text ?? Review.noRun(policy, because: trouble), last?.style ?? .caution),
            (
                "Next", (next?.text ?? Review.nextIsNotKnown(policy, because: trouble)) + expected,
                next?.style ?? .caution
            ),
            ("Stores", text, stores.first?.findings.first?.style ?? .good),
        ]
    }

    /// The rows that are expired now, and those that will be, as a clause.
    private var expected: String {
        let sums = Store("all", Figures.count(stores.count, "store"), ArraySlice(stores))
        guard let now = sums.counts[1], !stores.isEmpty else { return "" }
        let later = sums.counts[2].map { ", \(Figures.grouped($0)) more within 24 hours" } ?? ""
        return " · \(Figures.count(now, "row")) expired now\(later)" + (sums.name == "all" ? "" : " in \(sums.name)")
    }

    /// What the last run did: the worst outcome of its stores, the sums, and how many stores it has not reached. Nil: none is known.
    private var lastRun: (text: String, style: Style)? {
        let all = stores.compactMap(\.lastRun)
        guard let last = all.max(by: { $0.report.started < $1.report.started }) else { return nil }
        let runs = all.filter { $0.firstOfCommand == last.firstOfCommand && $0.firstOfCommand != nil }
        return runs.isEmpty
            ? Self.words(of: [last], storeCount: 1, alone: policy.stores?.display(last.report.store))
            : Self.words(of: runs, storeCount: stores.count)
    }

    /// - Parameters:
    ///   - runs: the runs of one command, at least one.
    ///   - storeCount: how many stores there are.
    ///   - store: the only store that the run was for; nil: it was for all of them.
    private static func words(
        of runs: [LedgerRun], storeCount: Int, alone store: String? = nil
    ) -> (text: String, style: Style) {
        let worst = outcomes.first { outcome in runs.contains { $0.outcome == outcome } } ?? .completed
        let count = runs.count { $0.outcome == worst }
        let part = count == runs.count ? "" : " in \(Figures.grouped(count)) of \(Figures.count(runs.count, "store"))"
        let gone = runs.reduce(0) { $0 + $1.report.goneCount }
        let left = runs.reduce(0) { $0 + $1.report.residueCount }
        let (start, end) = (runs.map(\.report.started).min(), runs.map(\.report.finished).max())
        let isOver = runs.allSatisfy(\.isFinished)
        let time = isOver ? start.flatMap { start in end.map { " in " + Figures.duration($0.since(start)) } } : nil
        var done = "Deleted " + (gone == 0 ? "no rows" : Figures.count(gone, "row")) + (time ?? "")
        // An undo may have brought rows back since.
        if left > 0, runs.allSatisfy({ $0.undoneBy == nil }) {
            let isWhole = runs.allSatisfy { $0.isFinished && $0.report.isWhollyCounted }
            done += "; \(Figures.count(left, "expired row", "is", "are")) left"
            done += isWhole ? "" : " where they were counted"
        }
        let undone = runs.compactMap(\.undoneBy).filter { !$0.undos.isEmpty }
        let partly = undone.count { !$0.isWhole }
        let undo =
            "undone in \(Figures.grouped(undone.count)) of \(Figures.count(runs.count, "store"))"
            + (partly > 0 ? ", in \(Figures.grouped(partly)) of them in part" : "")
        let open = runs.count { !$0.isFinished }
        let missing = storeCount - runs.count
        let first = runs.map(\.report).min { $0.started < $1.started }
        let asOf = first?.asOfText.map { ", " + $0 } ?? ""
        let only = first?.onlyRules.map(SafeText.line).listed("and") ?? ""
        let parts = [
            Review.time(first?.started) + asOf, worst.rawValue + part,
            [only, store ?? ""].filter { !$0.isEmpty }.map { "\($0) only" }.joined(separator: ", "),
            gone == 0 && open > 0 ? "" : done, Review.rowsByRule(runs.flatMap(\.report.rules)),
            undone.isEmpty ? "" : undo, Self.undoText(of: runs),
            open > 0 ? "what it deleted and left in \(Figures.count(open, "store")) is not known" : "",
            missing > 0 ? "\(Figures.count(missing, "store", "was", "were")) not reached" : "",
        ]
        return (parts.filter { !$0.isEmpty }.joined(separator: " · "), worst.style)
    }

    /// Until when what the runs deleted can be restored: in the stores that can, up to the first date. Empty: nothing is left to restore.
    private static func undoText(of runs: [LedgerRun]) -> String {
        let left = runs.filter { $0.report.goneCount > 0 && $0.undoneBy?.isWhole != true }
        let possible = left.filter { $0.canBeUndone && $0.report.archive?.isComplete == true }
        guard !left.isEmpty else { return "" }
        let part =
            possible.count == left.count
            ? "" : " in \(Figures.grouped(possible.count)) of \(Figures.count(left.count, "store"))"
        let until = possible.compactMap { $0.report.archive?.until }.min().map {
            " until \(Figures.instant($0.toSecond))"
        }
        return possible.isEmpty ? "undo not possible" : "undo possible\(part)\(until ?? "")"
    }

    /// The outcomes of a run, the worst first.
    private static let outcomes: [LedgerRun.Outcome] = [
        .crashed, .failed, .interrupted, .refused, .running, .completed,
    ]

    private var sentences: [(text: String, style: Style)] {
        var found: [(text: String, style: Style)] = problems.map { ($0, .bad) }
        if let gone { found.append((gone, .caution)) }
        return found + (stores.first { !$0.ofAll.isEmpty }?.ofAll ?? [])
    }

    private var table: ReviewTable {
        let others = stores.dropFirst(Self.mostShown)
        let othersCount = Figures.count(others.count, "other store")
        let sums = [
            Store(othersCount, othersCount, others),
            Store("all", Figures.count(stores.count, "store"), ArraySlice(stores)),
        ]
        func count(_ index: Int, _ text: @escaping (Int) -> String) -> (Store) -> String {
            { $0.counts[index].map(text) ?? "?" }
        }
        return ReviewTable(
            "The stores, those that need attention first. ?: not known",
            Array(stores.prefix(Self.mostShown)) + sums.dropFirst(others.isEmpty ? 1 : 0), shortCount: 6,
            style: { $0.findings.first?.style ?? .plain },
            [
                ("Store", false, { $0.name }), ("Rows", true, count(0) { Figures.grouped($0) }),
                ("Expired", true, count(1) { Figures.grouped($0) }),
                ("Next 24 h", true, count(2) { Figures.grouped($0) }),
                ("Size", true, count(3) { Figures.bytes(Int64($0)) }),
                ("Last run (UTC)", false, { Review.time($0.lastRun?.report.started) }),
            ], texts: ("Attention", { $0.findings.map(\.text) }))
    }

    /// The text, for a terminal or a mail.
    package func text(_ layout: TextLayout) -> String {
        let lines =
            layout.heading("review", [title, "as of \(Figures.instant(asOf))"])
            + ReviewText.top(topLines, sentences, layout) + ReviewText.lines(of: table, layout)
        return lines.joined(separator: "\n") + "\n"
    }

    /// The page of one store, with a section for all of them.
    package var html: String {
        ReviewPage.html(
            "Retention review: " + title, "As of \(Review.time(asOf)) UTC",
            [
                ReviewPage.top(topLines, sentences),
                ReviewPage.section("Stores", HTMLText.table(table, style: "wide few")),
            ])
    }
}
