import PriceStore
import RetentionJob
import RetentionPolicy

extension ReviewPage {
    // MARK: What needs care

    /// Residue, refusals and everything else that needs attention.
    var care: String {
        var parts: [String] = []
        let left = (lastRun?.report.rules ?? []).filter { $0.left.expired > 0 }
        if !left.isEmpty {
            parts.append(
                HTMLText.table(
                    "What remained after the last run",
                    [("Rule", false), ("Residue", true), ("Oldest overdue row (UTC)", false), ("Overdue", false)],
                    left.map { rule in
                        (
                            [
                                HTMLText.escaped(rule.name), Figures.grouped(rule.left.expired),
                                rule.left.oldest.map(HTMLText.time) ?? "not known",
                                rule.overdue.map { HTMLText.escaped(Self.age($0)) } ?? "not known",
                            ], "caution"
                        )
                    }))
        } else if lastRun != nil {
            parts.append("<p>No expired row remained after the last run.</p>")
        }
        var items: [String] = []
        for rule in plan.rules where rule.outcome == .refused {
            items.append("<li class=\"bad\">\(sentence(rule, "would be refused now"))</li>")
        }
        items += pastProblems
        for run in runs.suffix(Self.mostRuns) {
            for rule in run.report.rules where !rule.accepted.isEmpty {
                let codes = rule.accepted.map(\.rawValue).joined(separator: ", ")
                items.append(
                    "<li>\(HTMLText.time(run.report.started)): <strong>\(HTMLText.escaped(rule.name))</strong> passed "
                        + "\(HTMLText.escaped(codes)) because it was accepted</li>")
            }
        }
        if items.isEmpty {
            parts.append("<p>No rule is refused, and none was in the runs shown.</p>")
        } else {
            parts.append("<h3>Refusals</h3>\n<ul>\n\(items.joined(separator: "\n"))\n</ul>")
        }
        if !plan.warnings.isEmpty {
            let items = plan.warnings.map { "<li class=\"caution\">\(HTMLText.escaped($0))</li>" }
            parts.append("<h3>Warnings</h3>\n<ul>\n\(items.joined(separator: "\n"))\n</ul>")
        }
        let advice = plan.rules.flatMap { rule in rule.advice.map { (rule.name, $0) } }
        if !advice.isEmpty {
            let items = advice.map { name, text in
                "<li><strong>\(HTMLText.escaped(name))</strong>: \(HTMLText.escaped(text))</li>"
            }
            parts.append("<h3>Advice</h3>\n<ul>\n\(items.joined(separator: "\n"))\n</ul>")
        }
        return "<section aria-labelledby=\"care\">\n<h2 id=\"care\">Residue and refusals</h2>\n"
            + parts.joined(separator: "\n") + "\n</section>"
    }

    /// What was refused or failed in the runs shown, once for each rule and reason, with its number of runs and the last message.
    private var pastProblems: [String] {
        var found: [(key: String, rule: RunReport.RuleReport, first: Instant, last: Instant, count: Int)] = []
        for run in runs.suffix(Self.mostRuns) {
            for rule in run.report.rules where rule.outcome == .refused || rule.outcome == .failed {
                let key =
                    "\(rule.name) \(rule.outcome.rawValue) \(rule.refusalCodes.map(\.rawValue).joined(separator: " "))"
                if let index = found.firstIndex(where: { $0.key == key }) {
                    found[index].rule = rule
                    found[index].last = run.report.started
                    found[index].count += 1
                } else {
                    found.append((key, rule, run.report.started, run.report.started, 1))
                }
            }
        }
        return found.map { trouble in
            let times =
                trouble.count == 1
                ? HTMLText.time(trouble.first)
                : "\(HTMLText.time(trouble.first)) to \(HTMLText.time(trouble.last)), "
                    + HTMLText.escaped(Figures.count(trouble.count, "run"))
            return "<li>\(times): \(sentence(trouble.rule, trouble.rule.outcome.rawValue))</li>"
        }
    }

    private func sentence(_ rule: RunReport.RuleReport, _ what: String) -> String {
        let code = rule.refusal.map { " (\(HTMLText.escaped($0.rawValue)))" } ?? ""
        let texts = [rule.message ?? "no reason was recorded"] + rule.otherRefusalTexts
        return "<strong>\(HTMLText.escaped(rule.name))</strong> \(HTMLText.escaped(what))\(code): "
            + HTMLText.escaped(texts.joined(separator: "; "))
    }

    // MARK: Past runs

    /// The runs of the ledger: the deleted rows, the size of the store, and one line for each run.
    var past: String {
        guard !runs.isEmpty else {
            return
                "<section aria-labelledby=\"runs\">\n<h2 id=\"runs\">Runs</h2>\n<p>No run is recorded.</p>\n</section>"
        }
        let figures = [deletedPlot, sizePlot].filter { !$0.isEmpty }
        return "<section aria-labelledby=\"runs\">\n<h2 id=\"runs\">Runs</h2>\n<div class=\"figures\">\n"
            + figures.joined(separator: "\n") + "\n</div>\n\(runTable)\n</section>"
    }

    private var ended: [LedgerRun] { runs.filter { $0.outcome != .running && $0.outcome != .crashed } }

    private var deletedPlot: String {
        guard let first = ended.first?.report.started, let last = ended.last?.report.started else { return "" }
        let total = ended.reduce(0) { $0 + $1.report.deletedCount }
        // The width that bars would have if the runs were evenly spread.
        let width = max(60_000_000, last.since(first).wholeMicroseconds / Int64(max(ended.count, 12)) * 3 / 4)
        let plot = Plot(
            title: "Rows deleted by each run",
            summary: "\(Figures.count(total, "row")) deleted by \(Figures.count(ended.count, "run"))",
            bars: ended.map { run in
                Plot.Bar(
                    start: run.report.started, end: run.report.started.advanced(byMicroseconds: width),
                    value: Int64(run.report.deletedCount), style: "deleted")
            }, label: { Figures.grouped($0) }, identifier: "deleted")
        let table = HTMLText.table(
            plot.title, [("Run (UTC)", false), ("Deleted", true)],
            ended.map { ([HTMLText.time($0.report.started), Figures.grouped($0.report.deletedCount)], nil) })
        return Self.figure(plot, heading: "Deleted rows", caption: plot.summary, table: table)
    }

    private var sizePlot: String {
        let points = ended.compactMap { run in
            run.report.storeSizeBytes.map { (instant: run.report.finished, value: $0) }
        }
        guard let last = points.last else { return "" }
        let plot = Plot(
            title: "Size of the store after each run", summary: "\(Figures.bytes(last.value)) after the last run",
            points: points, label: Figures.bytes, unit: Self.unit(of: points.map(\.value).max() ?? 0),
            identifier: "size")
        let table = HTMLText.table(
            plot.title, [("Run ended (UTC)", false), ("Size", true)],
            points.map { ([HTMLText.time($0.instant), HTMLText.escaped(Figures.bytes($0.value))], nil) })
        return Self.figure(plot, heading: "Store size", caption: plot.summary, table: table)
    }

    /// The largest binary unit that is not more than a size.
    private static func unit(of sizeBytes: Int64) -> Int64 {
        var unit: Int64 = 1
        while unit <= sizeBytes / 1024 { unit *= 1024 }
        return unit
    }

    private var runTable: String {
        var rows: [(cells: [String], style: String?)] = []
        let hasArchives = runs.suffix(Self.mostRuns).contains { $0.report.archivedCount != nil }
        for run in runs.suffix(Self.mostRuns).reversed() {
            let report = run.report
            let isEnded = run.outcome != .running && run.outcome != .crashed
            let accountable = HTMLText.escaped("\(run.process.operatorText) on \(run.process.host)")
            rows.append(
                (
                    [
                        HTMLText.time(report.started),
                        run.outcome == .crashed
                            ? "<strong class=\"bad\">crashed</strong>" : HTMLText.escaped(run.outcome.rawValue),
                        isEnded ? String(report.exitCode) : "",
                        isEnded ? Figures.grouped(report.deletedCount) : "",
                    ]
                        + (hasArchives ? [report.archivedCount.map { Figures.grouped($0) } ?? ""] : [])
                        + [
                            isEnded ? Figures.grouped(report.residueCount) : "",
                            isEnded ? HTMLText.escaped(Figures.duration(report.finished.since(report.started))) : "",
                            "<code>\(HTMLText.escaped(String(report.configSHA256.prefix(8))))</code>", accountable,
                        ], ["bad", "caution"].contains(run.outcome.pageStyle) ? run.outcome.pageStyle : nil
                ))
        }
        var lines = [
            HTMLText.table(
                "The newest \(Figures.count(rows.count, "run")), the last one first",
                [
                    ("Started (UTC)", false), ("Outcome", false), ("Exit", true), ("Deleted", true),
                ] + (hasArchives ? [("Archived", true)] : []) + [
                    ("Residue", true), ("Time", true), ("Policy", false), ("By", false),
                ], rows)
        ]
        if let missed, !missed.gaps.isEmpty {
            let items = missed.gaps.suffix(Self.mostRuns).map { gap in
                "<li>\(gap.after.map { HTMLText.time($0) + ": " } ?? "")\(HTMLText.escaped(missed.sentence(gap)))</li>"
            }
            lines.append("<h3>Missed runs</h3>\n<ul>\n\(items.joined(separator: "\n"))\n</ul>")
        }
        return lines.joined(separator: "\n")
    }
}
