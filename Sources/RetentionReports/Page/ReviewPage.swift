import PriceStore
package import RetentionJob
import RetentionPolicy

/// The page for reviewers: what the rules would do now, what past runs did, what remains and what was refused. It is one file without
/// references to others.
package struct ReviewPage {
    /// What a run would do now.
    package var plan: RunReport
    /// Past runs of the store, the newest last.
    package var runs: [LedgerRun]
    /// A histogram for each enabled rule.
    package var ages: [AgeHistogram]
    /// The size of the store now.
    package var storeSizeBytes: Int64
    /// The gaps between runs; nil: the policy does not say how often a run is expected.
    package var missed: MissedRuns?

    package init(
        plan: RunReport, runs: [LedgerRun], ages: [AgeHistogram], storeSizeBytes: Int64, missed: MissedRuns? = nil
    ) {
        self.plan = plan
        self.runs = runs
        self.ages = ages
        self.storeSizeBytes = storeSizeBytes
        self.missed = missed
    }

    /// The maximum number of runs in a table, the newest ones.
    static let mostRuns = 30

    /// The beginning of every page.
    static let firstLines = "<!DOCTYPE html>\n<!-- retention report -->\n"

    /// The page, ending with a line end. It loads nothing and has no script.
    package var html: String {
        let title = "Retention review: " + plan.store
        return Self.firstLines + """
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
            <link rel="icon" href="data:,">
            <title>\(HTMLText.escaped(title))</title>
            <style>
            \(PageStyle.css)
            </style>
            </head>
            <body>
            <header>
            <h1>\(HTMLText.escaped(title))</h1>
            <p class="soft">As of \(HTMLText.time(plan.asOf)) UTC · policy \(HTMLText.escaped(plan.config)) \
            <code>\(HTMLText.escaped(String(plan.configSHA256.prefix(8))))</code></p>
            </header>
            <main>
            \([facts, rules, holds, agePlots, care, past].filter { !$0.isEmpty }.joined(separator: "\n"))
            </main>
            </body>
            </html>

            """
    }

    // MARK: Facts

    /// The newest run that has ended.
    var lastRun: LedgerRun? { runs.last { $0.outcome != .running } }

    private var facts: String {
        var facts: [(name: String, value: String, more: String, style: String)] = []
        if let missed, missed.isOverdue, let gap = missed.gaps.last {
            facts.append(("Schedule", "missed", HTMLText.escaped(missed.sentence(gap)), "bad"))
        }
        if let lastRun {
            facts.append(
                (
                    "Last run", HTMLText.escaped(lastRun.outcome.rawValue),
                    HTMLText.time(lastRun.report.started) + " UTC", lastRun.outcome.pageStyle
                ))
        } else {
            facts.append(("Last run", "none", "no run is recorded", "caution"))
        }
        let rules = plan.rules.filter { $0.outcome == .planned }
        let cascaded = rules.reduce(0) { $0 + $1.done.cascaded }
        facts.append(
            (
                "Expired now", Figures.grouped(rules.reduce(cascaded) { $0 + $1.planned.expired }),
                "rows that a run would delete"
                    + (cascaded > 0 ? ", \(Figures.grouped(cascaded)) of them by cascades" : ""),
                "plain"
            ))
        let overdue = plan.rules.filter { $0.outcome != .disabled }.compactMap(\.overdue).max()
        facts.append(
            (
                "Oldest overdue row", overdue.map { HTMLText.escaped(Self.age($0)) } ?? "none",
                overdue == nil ? "no row is past its age" : "past its age", "plain"
            ))
        let refused = plan.rules.count { $0.outcome == .refused }
        facts.append(
            (
                "Refused rules", Figures.grouped(refused),
                refused == 0 ? "every rule would run" : "they delete nothing",
                refused == 0 ? "plain" : "bad"
            ))
        facts.append(("Store", HTMLText.escaped(Figures.bytes(storeSizeBytes)), "its size now", "plain"))
        let items = facts.map { fact in
            "<div><dt>\(fact.name)</dt><dd class=\"\(fact.style)\">\(fact.value)<small>\(fact.more)</small></dd></div>"
        }
        return
            "<section aria-label=\"At a glance\">\n<dl class=\"facts\">\n\(items.joined(separator: "\n"))\n</dl>\n</section>"
    }

    /// A length of time in its largest unit: `3 days`, `5 h 02 min`.
    static func age(_ duration: Duration) -> String {
        let days = duration.wholeMicroseconds / 86_400_000_000
        return days > 1 ? Figures.grouped(days) + " days" : Figures.duration(duration)
    }

    // MARK: Rules

    private var rules: String {
        let shown = RunReport.RuleReport.values.filter { $0.heading != nil }
        let table = HTMLText.table(
            "What a run would do now",
            [
                ("Rule", false), ("State", false), ("Entity", false), ("Max age", false), ("Cutoff (UTC)", false),
            ] + shown.map { ($0.heading ?? "", true) } + [
                ("Next 24 h", true), ("Then 7 days", true), ("Oldest (UTC)", false), ("Newest (UTC)", false),
            ],
            plan.rules.map { rule in
                let figures =
                    rule.outcome == .disabled
                    ? Array(repeating: "", count: shown.count + 2)
                    : shown.map { Figures.text($0.json(rule)) } + [
                        rule.planned.forecast.map { Figures.grouped($0.nextDay) } ?? "",
                        rule.planned.forecast.map { Figures.grouped($0.nextWeek) } ?? "",
                    ]
                let state =
                    rule.outcome == .refused
                    ? "<span class=\"bad\">refused: \(HTMLText.escaped(rule.refusalCodes.map(\.rawValue).joined(separator: ", ")))</span>"
                    : HTMLText.escaped(rule.outcome == .planned ? "ready" : rule.outcome.rawValue)
                        + (rule.remembered.late.map { $0 > 0 ? "; \(Figures.grouped($0)) came back" : "" } ?? "")
                        + Self.candles(of: rule)
                        + (rule.kept.byTier.isEmpty ? "" : "; keeps \(Figures.tiers(rule.kept.byTier))")
                return (
                    [
                        HTMLText.escaped(rule.name), state,
                        HTMLText.escaped(rule.entity) + "<wbr>." + HTMLText.escaped(rule.dateAttribute),
                        HTMLText.escaped(rule.maxAge),
                        rule.outcome == .disabled ? "" : HTMLText.time(rule.cutoff),
                    ] + figures + [
                        rule.planned.oldest.map(HTMLText.time) ?? "", rule.planned.newest.map(HTMLText.time) ?? "",
                    ], rule.outcome == .refused ? "bad" : nil
                )
            })
        return "<section aria-labelledby=\"rules\">\n<h2 id=\"rules\">Rules</h2>\n\(table)\n</section>"
    }

    /// The candles that the rows of a rule become, as clauses; empty: there are none.
    private static func candles(of rule: RunReport.RuleReport) -> String {
        guard let created = rule.candles.created, let changed = rule.candles.changed else { return "" }
        var text = "; \(Figures.count(created, "new candle"))"
        if changed > 0 { text += ", \(Figures.grouped(changed)) changed" }
        if let unpriced = rule.candles.unpriced, unpriced > 0 {
            text += "; \(Figures.grouped(unpriced)) without a price"
        }
        return text
    }

    /// The holds of the policy; empty: it has none.
    private var holds: String {
        guard !plan.holds.isEmpty else { return "" }
        let table = HTMLText.table(
            "Rows that no rule deletes",
            [
                ("Hold", false), ("State", false), ("Entity", false), ("Expired rows kept", true),
                ("Ends (UTC)", false),
                ("Reason", false),
            ],
            plan.holds.map { hold in
                let isBad = hold.state != .inForce
                let state = hold.state == .inForce ? "in force" : hold.state.rawValue
                return (
                    [
                        HTMLText.escaped(hold.name), isBad ? "<span class=\"bad\">\(state)</span>" : state,
                        HTMLText.escaped(hold.entity), Figures.grouped(plan.keptCount(of: hold.name)),
                        hold.expires.map(HTMLText.time) ?? "", HTMLText.escaped(hold.reason),
                    ], isBad ? "bad" : nil
                )
            })
        return "<section aria-labelledby=\"holds\">\n<h2 id=\"holds\">Holds</h2>\n\(table)\n</section>"
    }

    private var agePlots: String {
        let shown = ages.filter { !$0.buckets.isEmpty }
        guard !shown.isEmpty else { return "" }
        let figures = shown.enumerated().map { index, age in
            let expired = age.buckets.reduce(0) { $0 + ($1.end <= age.cutoff ? $1.rowCount : 0) }
            let total = age.buckets.reduce(0) { $0 + $1.rowCount }
            let plot = Plot(
                title: "Rows of \(age.rule) by their date",
                summary: "\(Figures.count(total, "row")), \(Figures.grouped(expired)) of them before the cutoff "
                    + Figures.instant(age.cutoff.toSecond),
                bars: age.buckets.map {
                    Plot.Bar(
                        start: $0.start, end: $0.end, value: Int64($0.rowCount),
                        style: $0.end <= age.cutoff ? "expired" : "kept")
                },
                mark: Plot.Mark(instant: age.cutoff, label: "cutoff \(age.cutoff.civil.date)"),
                label: { Figures.grouped($0) }, identifier: "age\(index)")
            let table = HTMLText.table(
                "Rows of \(age.rule) by their date",
                [("From (UTC)", false), ("Before (UTC)", false), ("Rows", true), ("", false)],
                age.buckets.map { bucket in
                    (
                        [
                            HTMLText.time(bucket.start), HTMLText.time(bucket.end), Figures.grouped(bucket.rowCount),
                            bucket.end <= age.cutoff ? "before the cutoff" : "kept",
                        ], nil
                    )
                })
            return Self.figure(plot, heading: age.rule, caption: plot.summary, table: table)
        }
        let key =
            "<p class=\"soft\"><span class=\"key expired\"></span> before the cutoff "
            + "<span class=\"key kept\"></span> kept. Rows that keep_last and thin keep count as before the cutoff.</p>"
        return "<section aria-labelledby=\"ages\">\n<h2 id=\"ages\">Rows by age</h2>\n\(key)\n<div class=\"figures\">\n"
            + figures.joined(separator: "\n") + "\n</div>\n</section>"
    }

    /// A plot with its heading, a sentence, and a table of its numbers.
    static func figure(_ plot: Plot, heading: String, caption: String, table: String) -> String {
        """
        <figure>
        <h3>\(HTMLText.escaped(heading))</h3>
        \(plot.svg)
        <figcaption>\(HTMLText.escaped(caption))</figcaption>
        <details><summary>Numbers</summary>
        \(table)
        </details>
        </figure>
        """
    }
}

extension LedgerRun.Outcome {
    /// The CSS class of the outcome.
    var pageStyle: String {
        switch self {
        case .completed: "good"
        case .interrupted, .running: "caution"
        case .refused, .failed, .crashed: "bad"
        }
    }
}
