import Foundation
import PriceStore
import RetentionPolicy
import SQLiteStore
import TestSupport
import Testing

@testable import RetentionJob
@testable import RetentionReports

struct ReviewPageTests {
    private typealias Sample = ReviewSample
    private let hostile = "<script>alert(1)</script>&\"'\u{202E}\n"

    private func review(rules: [RunReport.RuleReport] = [ReportSample.gold, ReportSample.refused]) -> Review {
        var runs = (0..<3).map { Sample.run(2 - $0, [Sample.rule(rules[0].name, .completed, expired: 1000)]) }
        for index in runs.indices { runs[index].report.storeSizeBytes = 1 << 20 }
        (runs[1].outcome, runs[1].report.rules) = (.crashed, [])
        var review = Sample.review(rules, runs)
        let bar = { (day: Int64, rows: Int64, before: Int64) in
            Series.Point(start: Sample.instant(day), end: Sample.instant(day + 10), values: [rows, before])
        }
        review.dates[rules[0].name] = Series(
            names: ["rows", "before_cutoff"],
            points: [bar(-50, 5, 5), bar(-40, 20, 20), bar(-30, 0, 0), bar(-20, 300, 0), bar(-10, 300, 0)])
        return review
    }

    private func page(rules: [RunReport.RuleReport] = [ReportSample.gold, ReportSample.refused]) -> String {
        ReviewPage(review(rules: rules)).html
    }

    @Test func whatWouldBeDeletedHasTheCascades() {
        var rule = ReportSample.gold
        rule.done.cascaded = 20
        rule.planned.forecast = .init(nextDay: 1, nextWeek: 2)
        let html = page(rules: [rule, ReportSample.refused])
        #expect(html.contains("500,020 rows (20 by cascades) would be deleted now, "))
        #expect(html.contains(", 1 more within 24 hours (without cascades); a run would refuse "))
    }

    @Test func showsRulesRunsAndRefusals() {
        let html = page()
        for text in [
            "<h1>Retention review: prices.sqlite</h1>", ">yahoo-gold</th>", "500,000", "would refuse it: ",
            "Is date_format right?", "store 1.0 MiB", "crashed", "cron on gold", "25 rows before the cutoff",
            "cutoff 2026-10-22", "2,000 deleted on 2 of 3 days with a run; deletes not known on 1 day",
        ] {
            #expect(html.contains(text), "\(text)")
        }
    }

    @Test func showsWhatTiersKeep() {
        var rule = ReportSample.gold
        rule.kept.byRuleCount = 1353
        rule.kept.byTier = [.init(unit: .day, rowCount: 1312), .init(unit: .month, rowCount: 41)]
        #expect(page(rules: [rule]).contains("1,353 by keep_last or thin (41 monthly, 1,312 daily)"))
    }

    @Test func hostileTextStaysText() {
        var rule = ReportSample.gold
        rule.entity = hostile
        rule.name = hostile
        rule.message = hostile
        rule.outcome = .refused
        rule.advice = [hostile]
        let html = page(rules: [rule])
        #expect(!html.contains("<script") && !html.contains("alert(1)</") && !html.contains("\u{202E}"))
        #expect(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;\\u{202E}\\n"))
        let text = ReviewText(review(rules: [rule])).text
        #expect(!text.contains("\u{202E}") && text.contains("\\u{202E}\\n"))
    }

    /// A path has no place to be broken at.
    @Test func aLongReasonIsNoWiderThanThePage() {
        var review = review()
        review.runs[2].report.failure = "no room in /data/" + String(repeating: "a", count: 200)
        review.runs[2].outcome = .failed
        let html = ReviewPage(review).html
        #expect(html.contains("<td class=\"long\" data-label=\"Outcome\">failed: "))
        #expect(html.contains("td.long { min-width: 6rem; overflow-wrap: anywhere; }"))
    }

    @Test func loadsNothing() {
        let html = page()
        #expect(html.contains("default-src 'none'") && !html.contains("http://") && !html.contains("https://"))
        #expect(!html.contains("src=") && !html.contains("url("))
    }

    @Test func everyPlotHasATextAndATable() {
        let html = page()
        let plots = html.components(separatedBy: "<figure>").count - 1
        #expect(plots == 4)
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
        for match in page().matches(of: /<(\/?)([a-z][a-z0-9]*)[^>]*?(\/?)>/)
        where !empty.contains(String(match.2)) {
            if match.1.isEmpty { open.append(String(match.2)) } else { #expect(open.popLast() == String(match.2)) }
        }
        #expect(open.isEmpty)
    }

    /// The text of a row with a mark begins where that of the others does.
    @Test func theFirstCellsAreInLine() {
        let rooms = PageStyle.css.matches(of: /(tr\S*) > :first-child \{[^}]*padding-left: ([^;]+);/)
        #expect(rooms.map { String($0.1) } == ["tr", "tr.bad", "tr.caution"])
        #expect(Set(rooms.map { String($0.2) }).count == 1)
        // On a phone the whole row has the mark.
        let heading = ".wide tr > th:first-child { flex: 1 0 100%; padding-left: 0; box-shadow: none; }"
        #expect(PageStyle.css.contains(heading))
    }

    @Test func aStoreWithoutRunsHasAPage() {
        let html = ReviewPage(Sample.review([Sample.rule()], [])).html
        #expect(html.contains("none is recorded") && !html.contains("<figure>"))
    }

    /// They are above the scale, in the order of their bars.
    @Test func numbersOfNeighbouringBarsDoNotOverlap() throws {
        let points = (Int64(0)..<14).map { day in
            let rows: Int64 = day == 12 ? 50_000 : day == 13 ? 40_000 : 10
            return Series.Point(start: Sample.instant(day), end: Sample.instant(day + 1), values: [rows])
        }
        let plot = Plot(
            heading: "Rows", summary: "", unit: "rows", series: Series(names: ["rows"], points: points),
            bars: points.map { ($0, 0, $0.values[0] ?? 0, "kept") }, span: (Sample.instant(0), Sample.instant(14)),
            day: { _ in "" })
        let svg = plot.svg("p")
        let numbers = svg.matches(of: #/<text class="strong" x="([^"]+)" y="([^"]+)" text-anchor="middle">([^<]+)</#)
        #expect(numbers.map { String($0.3) } == ["50,000", "40,000"])
        let places = try numbers.map { try #require(Double($0.1)) }
        // A number of six signs has 54 units.
        #expect(places.count == 2 && places[1] - places[0] >= 54 && places[1] <= 394 - 27)
        #expect(Set(numbers.map { String($0.2) }) == ["53"] && svg.contains("viewBox=\"0 0 400 246\""))
    }

    // MARK: Rows by date

    @Test(arguments: [
        (-100, -30, 30, 26, 4), (-29, -30, 30, 31, 1), (0, -30, 30, 31, 1), (0, -4000, 30, 1, 1), (5, 0, 30, 1, 1),
        (-365, -30, 8, 9, 46),
    ])
    func barsAreCalendarDaysUpToToday(oldest: Int64, cutoff: Int64, most: Int, count: Int, days: Int64) {
        let now = Sample.instant(0, hour: 3)
        let starts = Series.starts(
            oldest: Sample.instant(oldest, hour: 1), cutoff: Sample.instant(cutoff, hour: 3), now: now, most: most,
            zone: .utc)
        #expect(starts.count == count + 1, "\(starts)")
        #expect(starts.allSatisfy { $0.microseconds % Sample.day == 0 })
        // Today is a bar of its own, so that a day of which a part is missing does not look like a fall.
        #expect(starts.suffix(2) == [Sample.instant(0), Sample.instant(1)])
        let others = starts.dropLast()
        #expect(zip(others, others.dropFirst()).allSatisfy { $1 == $0.advanced(byMicroseconds: days * Sample.day) })
        #expect(starts[0] <= max(Sample.instant(oldest), Sample.instant(0)))
    }

    @Test func theBarsCountEveryReadableRowOnceAndShowWhereNoneArrived() throws {
        let file = try PriceFile()
        try file.execute(
            """
            WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 999)
            INSERT INTO price(at) SELECT 1795219200 - 10 * 86400 - n * 3600 FROM c;
            INSERT INTO price(at) VALUES (NULL), ('text');
            """)
        let reader = try SQLiteReader(path: file.path)
        var rule = ReviewSample.policy(["gold"]).rules[0]
        (rule.entity, rule.dateFormat) = ("price", .unixSeconds)
        var report = Sample.rule()
        report.method.index = "ix"
        report.planned.oldest = Sample.instant(-10, hour: -999)
        report.planned.newest = Sample.instant(-10)
        let now = Sample.instant(0, hour: 3)
        report.cutoff = Sample.instant(-30, hour: 3)
        var series = try Series.dates(rule, report, now: now, zone: .utc, reader)
        #expect(series.sum(0) == 1000)
        // 480 hours are kept, and the row exactly at the cutoff: 3 hours later than midnight.
        #expect(series.sum(1) == 1000 - 478)
        let zeros = series.points.filter { $0.start > Sample.instant(-9) }
        #expect(zeros.count > 3 && zeros.allSatisfy { $0.values[0] == 0 } && zeros.last?.end == Sample.instant(1))
        var review = Sample.review([report], [])
        review.dates["gold"] = series
        #expect(
            review.plots(of: report)[0].summary.contains("the newest row is dated 2026-11-11 00:00, 10 days ago"),
            "\(review.plots(of: report)[0].summary)")
        // Rows of tomorrow are not those of today.
        try file.execute("INSERT INTO price(at) VALUES (1795219200 + 7200), (1795219200 + 90000)")
        report.planned.newest = Sample.instant(1, hour: 1)
        series = try Series.dates(rule, report, now: now, zone: .utc, reader)
        #expect(series.sum(0) == 1001 && series.points.last?.values[0] == 1)
        review.dates["gold"] = series
        #expect(review.plots(of: report)[0].summary.contains("rows that are dated after today are not drawn"))
    }

    // MARK: Plots

    private func plot(_ values: [Int64], days: Int64 = 1) -> Plot {
        let points = values.enumerated().map { index, value in
            Series.Point(
                start: Sample.instant(Int64(index) * days), end: Sample.instant(Int64(index) * days + 1),
                values: [value, 0])
        }
        return Plot(
            heading: "", summary: "", unit: "rows per day", series: Series(names: ["a", "b"], points: points),
            bars: points.map { ($0, 0, $0.values[0] ?? 0, "kept") },
            span: (Sample.instant(0), Sample.instant(14)), day: { $0.civil.date.description })
    }

    @Test func theScaleEndsAtARoundNumber() {
        for (value, end) in [(1, "2"), (3, "4"), (11, "20"), (150, "200"), (399_999, "400,000"), (400_001, "600,000")] {
            #expect(plot([Int64(value)]).svg("a").contains(">\(end)</text>"), "\(value)")
        }
        #expect(plot([.max]).svg("a").contains("<rect") && plot([0]).svg("a").contains("</svg>"))
    }

    /// A first run deletes a thousand times as much as a night. The nights are visible beside it, and its number is.
    @Test func aBarThatWouldHideTheOthersIsCut() {
        let svg = plot([500_000, 90, 100, 95]).svg("a")
        #expect(svg.contains(">100</text>") && svg.contains(">500,000</text>") && !svg.contains(">600,000</text>"))
        #expect(!plot([500, 90, 100, 95]).svg("a").contains(">500</text>"))
        // Also if a day is between them: the one after an undo.
        let month = plot([12_020, 2_020] + [Int64](repeating: 480, count: 12)).svg("a")
        #expect(month.contains(">4,000</text>") && month.contains(">12,020</text>"), "\(month)")
    }

    /// Nothing arrives, or few rows do, beside many that are deleted; or the reverse.
    @Test(
        arguments: [
            (0, -1442, ["0", "400", "2,000"]), (480, -4320, ["0", "800", "6,000"]),
            (4320, -10, ["0", "6,000", "800", "3,000"]),
        ] as [(Int64, Int64, [String])])
    func bothEndsOfTheScaleHaveANumber(arrived: Int64, deleted: Int64, numbers: [String]) {
        var picture = plot([arrived])
        picture.bars.append((picture.series.points[0], deleted, 0, "expired"))
        let found = picture.svg("a").matches(of: #/y="([0-9.]+)" text-anchor="end">([0-9,]+)<\/text>/#)
        #expect(found.map { String($0.2) } == numbers)
        // As far from each other as a line is high.
        let places = found.compactMap { Double($0.1) }.sorted()
        #expect(zip(places, places.dropFirst()).allSatisfy { $1 - $0 >= 15 }, "\(places)")
    }

    @Test func oneRunIsABarOfADay() throws {
        let review = Sample.review([Sample.rule()], [Sample.run(0)])
        let svg = review.plots(of: Sample.rule())[0].svg("a")
        let widths = svg.matches(of: /<rect[^>]* width="([0-9.]+)"/).compactMap { Double($0.1) }
        // 314 units are 14 days at least.
        #expect(widths.count == 1 && widths[0] > 15 && widths[0] < 25, "\(svg)")
        #expect(svg.contains("rows per day: arrived up, deleted down") && svg.contains(">2026-11-21</text>"))
    }

    /// A day of which it is not known how much arrived is not one on which nothing did.
    @Test func unknownArrivalsAreMarked() {
        let runs = [2, 1, 0].map { Sample.run($0) }
        let review = Sample.review([Sample.rule()], runs)
        #expect(review.days(of: "gold").points.map { $0.values[0] } == [nil, 10, 10])
        let plot = review.plots(of: Sample.rule())[0]
        #expect(plot.svg("a").matches(of: #/>\?<\/text>/#).count == 1, "\(plot.svg("a"))")
        #expect(plot.summary.contains("arrivals not known on 1 day"))
        #expect(ReviewPage(review).html.contains(" · arrived: less what other programs deleted; ?: not known</p>"))
    }

    @Test func barsDifferInLightnessAndFromTheGround() throws {
        for scheme in PageStyle.css.components(separatedBy: "--ground: ").dropFirst() {
            let colours = try ["kept", "expired", "edge"].map { name in
                try #require(scheme.firstMatch(of: try Regex("--\(name): #([0-9a-f]{6})"))?[1].substring)
            }
            let light = ([scheme.dropFirst().prefix(6)] + colours).map { Self.luminance($0) }
            func contrast(_ a: Int, _ b: Int) -> Double {
                (max(light[a], light[b]) + 0.05) / (min(light[a], light[b]) + 0.05)
            }
            for (a, b) in [(1, 2), (0, 1), (0, 3), (2, 3)] {
                #expect(contrast(a, b) >= 3, "\(scheme.prefix(200)) \(a) \(b)")
            }
        }
    }

    private static func luminance(_ hex: Substring) -> Double {
        let number = Int(hex, radix: 16) ?? 0
        let parts = [16, 8, 0].map { shift -> Double in
            let part = Double(number >> shift & 255) / 255
            return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    }
}
