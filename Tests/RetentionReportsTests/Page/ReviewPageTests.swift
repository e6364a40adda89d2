import Foundation
import PriceStore
import RetentionJob
import RetentionPolicy
import SQLiteStore
import TestSupport
import Testing

@testable import RetentionReports

struct ReviewPageTests {
    private static let day: Int64 = 86_400_000_000
    private let hostile = "<script>alert(1)</script>&\"'\u{202E}\n"

    private func page(rules: [RunReport.RuleReport] = [ReportSample.gold, ReportSample.refused]) -> ReviewPage {
        var plan = ReportSample.report(.dryRun, rules: rules)
        plan.rules[0].left.oldest = ReportSample.asOf.advanced(byMicroseconds: -40 * Self.day)
        var runs: [LedgerRun] = []
        for index in 0..<3 {
            var report = LedgerFile.report("01\(index)", hour: Int64(index) * 24, rules: rules)
            report.rules[0].done.deleted = 1000 * (index + 1)
            report.rules[0].left.expired = index == 2 ? 7 : 0
            report.storeSizeBytes = 1 << 20
            let process = LedgerProcess(pid: 1, host: "gold", user: "cron", version: "0.1.0")
            runs.append(
                LedgerRun(
                    number: index + 1, report: report, outcome: index == 1 ? .crashed : .completed, process: process))
        }
        let bucket = { (day: Int64, count: Int) in
            AgeHistogram.Bucket(
                start: ReportSample.asOf.advanced(byMicroseconds: day * Self.day),
                end: ReportSample.asOf.advanced(byMicroseconds: (day + 10) * Self.day), rowCount: count)
        }
        let age = AgeHistogram(
            rule: rules[0].name, cutoff: ReportSample.asOf.advanced(byMicroseconds: -30 * Self.day),
            buckets: [bucket(-50, 5), bucket(-40, 20), bucket(-30, 0), bucket(-20, 300)])
        return ReviewPage(plan: plan, runs: runs, ages: [age], storeSizeBytes: 3 << 20)
    }

    @Test func whatWouldBeDeletedHasTheCascades() {
        var rule = ReportSample.gold
        rule.done.cascaded = 20
        let html = page(rules: [rule, ReportSample.refused]).html
        #expect(
            html.contains(
                "Expired now</dt><dd class=\"plain\">500,020<small>rows that a run would delete, 20 of them by cascades<"
            ))
    }

    @Test func showsRulesRunsResidueAndRefusals() {
        let html = page().html
        for text in [
            "<h1>Retention review: prices.sqlite</h1>", ">yahoo-gold</th>", "500,000", "refused: wrong_unit",
            "Is date_format right?", "3.0 MiB", "crashed", "What remained after the last run",
            "<td class=\"number\">7</td>",
            "10 days", "cron on gold", "before the cutoff", "cutoff 2026-10-22", "4,000 rows deleted by 2 runs",
        ] {
            #expect(html.contains(text), "\(text)")
        }
    }

    @Test func showsWhatTiersKeep() {
        var rule = ReportSample.gold
        rule.outcome = .planned
        rule.kept.byTier = [.init(unit: .day, rowCount: 1312), .init(unit: .month, rowCount: 41)]
        #expect(page(rules: [rule]).html.contains("ready; keeps 41 monthly, 1,312 daily"))
    }

    @Test func hostileTextStaysText() {
        var rule = ReportSample.gold
        rule.entity = hostile
        rule.name = hostile
        rule.message = hostile
        rule.outcome = .refused
        rule.advice = [hostile]
        let html = page(rules: [rule]).html
        #expect(!html.contains("<script") && !html.contains("alert(1)</") && !html.contains("\u{202E}"))
        #expect(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;\\u{202E}\\n"))
    }

    @Test func loadsNothing() {
        let html = page().html
        #expect(html.contains("default-src 'none'") && !html.contains("http://") && !html.contains("https://"))
        #expect(!html.contains("src=") && !html.contains("url("))
    }

    @Test func everyPlotHasATextAndATable() {
        let html = page().html
        let plots = html.components(separatedBy: "<svg ").count - 1
        #expect(plots == 3)
        #expect(html.components(separatedBy: "role=\"img\"").count - 1 == plots)
        #expect(html.components(separatedBy: "<details><summary>Numbers</summary>").count - 1 == plots)
        let identifiers = html.matches(of: #/ id="([^"]+)"/#).map { String($0.1) }
        #expect(Set(identifiers).count == identifiers.count)
        for name in html.matches(of: /aria-labelledby="([^"]+)"/).flatMap({ $0.1.split(separator: " ") }) {
            #expect(identifiers.contains(String(name)), "\(name)")
        }
        // One heading of the first level, and none is left out between levels.
        #expect(html.components(separatedBy: "<h1>").count == 2)
    }

    @Test func everyElementIsClosed() {
        var open: [String] = []
        let empty: Set<String> = ["meta", "link", "wbr", "line", "rect", "circle", "polyline", "br"]
        for match in page().html.matches(of: /<(\/?)([a-z][a-z0-9]*)[^>]*?(\/?)>/)
        where !empty.contains(String(match.2)) {
            if match.1.isEmpty { open.append(String(match.2)) } else { #expect(open.popLast() == String(match.2)) }
        }
        #expect(open.isEmpty)
    }

    @Test func aStoreWithoutRunsHasAPage() {
        var page = page()
        page.runs = []
        page.ages = []
        #expect(page.html.contains("No run is recorded.") && page.html.contains("no run is recorded"))
    }

    // MARK: Rows by age

    @Test(arguments: [
        (-100, -1, -30, true, 31), (-100, -50, -30, true, 31), (-20, -1, -30, true, 31), (-100, -1, -4000, false, 31),
        (-1, -1, -1, true, 1),
        (-10, 5, -10, true, 31),
    ])
    func theCutoffIsAnEdgeAndAllRowsLieInside(
        oldest: Int64, newest: Int64, cutoff: Int64, isEdge: Bool, edgeCount: Int
    ) {
        let instant = { (day: Int64) in ReportSample.asOf.advanced(byMicroseconds: day * Self.day + 12345) }
        let edges = AgeHistogram.edges(
            oldest: instant(oldest), newest: instant(newest), cutoff: instant(cutoff), count: 30)
        #expect(edges.count == edgeCount)
        #expect(
            edges.first.map { $0.0 <= instant(oldest) } == true && edges.last.map { $0.1 > instant(newest) } == true)
        #expect(zip(edges, edges.dropFirst()).allSatisfy { $0.1 == $1.0 })
        #expect(edges.contains { $0.0 == instant(cutoff) || $0.1 == instant(cutoff) } == isEdge)
    }

    @Test func theBucketsCountEveryReadableRowOnce() throws {
        let file = try PriceFile()
        try file.execute(
            """
            WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 999)
            INSERT INTO price(at) SELECT 1795219200 - n * 3600 FROM c;
            INSERT INTO price(at) VALUES (NULL), ('text');
            """)
        let reader = try SQLiteReader(path: file.path)
        var age = MaxAge(written: "30d")
        age.days = 30
        var rule = Rule(
            name: "gold", entity: "price", dateAttribute: "at", maxAge: age,
            marks: Marks(whole: Mark(line: 1, column: 1)))
        rule.dateFormat = .unixSeconds
        var report = ReportSample.gold
        report.planned.oldest = Instant(unixSeconds: 1_795_219_200 - 999 * 3600)
        report.planned.newest = ReportSample.asOf
        let histogram = try AgeHistogram.read(rule, report, zone: .utc, reader)
        #expect(histogram.buckets.reduce(0) { $0 + $1.rowCount } == 1000)
        // 720 hours are kept, and the row exactly at the cutoff.
        #expect(histogram.buckets.reduce(0) { $0 + ($1.end <= histogram.cutoff ? $1.rowCount : 0) } == 279)
    }

    // MARK: Plots

    @Test func theScaleEndsAtARoundNumber() {
        func svg(_ value: Int64) -> String {
            Plot(
                title: "", summary: "",
                bars: [
                    .init(
                        start: ReportSample.asOf, end: ReportSample.asOf.advanced(byMicroseconds: 1), value: value,
                        style: "kept")
                ],
                label: { Figures.grouped($0) }, identifier: "a"
            ).svg
        }
        for (value, end) in [(1, "2"), (3, "4"), (11, "20"), (150, "200"), (399_999, "400,000"), (400_001, "600,000")] {
            #expect(svg(Int64(value)).contains(">\(end)</text>"), "\(value)")
        }
        #expect(svg(.max).contains("<rect") && svg(0).contains("</svg>"))
        #expect(Plot(title: "", summary: "", label: { _ in "" }, identifier: "a").svg.isEmpty)
    }
}
