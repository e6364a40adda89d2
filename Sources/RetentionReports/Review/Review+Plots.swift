import PriceStore
import RetentionJob
import RetentionPolicy

extension Review {
    /// The plots of a rule: its rows by their dates, and what came and went.
    func plots(of rule: RunReport.RuleReport) -> [Plot] { [datePlot(rule), dayPlot(rule)].compactMap(\.self) }

    func day(_ instant: Instant) -> String { policy.timezone.civil(of: instant).date.description }

    private func datePlot(_ rule: RunReport.RuleReport) -> Plot? {
        guard let series = dates[rule.name], let first = series.points.first, let today = series.points.last else {
            return nil
        }
        let before = Int(series.sum(1))
        let stays = stays(rule)
        var parts = [
            "\(before == 0 ? "no row" : Figures.count(before, "row")) before the cutoff \(Self.time(rule.cutoff))"
        ]
        if rule.planned.isCounted, before > 0 {
            let others = before - rule.planned.expired - stays.count
            parts += ["\(Figures.grouped(rule.planned.expired)) expired"] + (stays.count > 0 ? [stays.text] : [])
            if others > 0 { parts.append("\(Figures.grouped(others)) go with another rule or have arrived meanwhile") }
        }
        if let newest = rule.planned.newest, newest < today.start || newest >= today.end {
            parts.append(
                newest < today.start
                    ? "the newest row is dated \(Self.time(newest)), \(Self.age(plan.asOf.since(newest))) ago"
                    : "rows that are dated after today are not drawn")
        }
        let bars = series.points.flatMap { point -> [Plot.Bar] in
            let (rows, before) = (point.values[0] ?? 0, point.values[1] ?? 0)
            return [
                (point, 0, before, "expired"), (point, before, rows, point.start == today.start ? "today" : "kept"),
            ]
        }
        let days = Figures.days(first.end.since(first.start))
        return Plot(
            heading: "Rows by their date", summary: parts.joined(separator: "; ") + ".",
            unit: days == 1 ? "rows per day" : "rows per \(days) days", series: series, bars: bars,
            span: (first.start, today.end), mark: (rule.cutoff, "cutoff " + day(rule.cutoff)), day: day)
    }

    /// The days that plots of runs span: those that are shown and have runs, but two weeks at least.
    private var runSpan: (start: Instant, end: Instant) {
        let first = recentRuns.first.map { policy.timezone.start(of: .day, at: $0.report.started) }
        return (min(first ?? plan.asOf, start(daysAgo: 13)), start(daysAgo: -1))
    }

    private func dayPlot(_ rule: RunReport.RuleReport) -> Plot? {
        let series = days(of: rule.name)
        let (count, known) = (series.points.count, series.values(0).count)
        guard count > 0 else { return nil }
        let counted = series.values(1)
        var parts: [String] = []
        if !counted.isEmpty {
            let days = "\(counted.count { $0.value > 0 }) of \(Figures.count(count, "day")) with a run"
            parts.append("\(Figures.grouped(series.sum(1))) deleted on \(days)")
        }
        if let undated = undatedDeleted[rule.name], undated > 0 {
            parts.append("\(Figures.grouped(undated)) deleted on a day that is not known: the clock was wrong")
        }
        if counted.count < count { parts.append("deletes not known on \(Figures.count(count - counted.count, "day"))") }
        if known > 0 { parts.append("\(Figures.grouped(series.sum(0))) arrived") }
        if known < count { parts.append("arrivals not known on \(Figures.count(count - known, "day"))") }
        if let growth = growth(of: rule) { parts.append("rows " + growth.text) }
        return Plot(
            heading: "Arrived and deleted", summary: parts.joined(separator: "; ") + ".",
            unit: "rows per day: arrived up, deleted down", series: series,
            bars: series.points.flatMap { point -> [Plot.Bar] in
                // What has arrived in several days is a wide bar of rows per day.
                let days = Int64(point.arrivedDays)
                var arrived = point
                arrived.start = start(point.arrivedDays - 1, before: point.start)
                let height = ((point.values[0] ?? 0) + days - 1) / days
                return [(arrived, 0, height, "kept"), (point, -(point.values[1] ?? 0), 0, "expired")]
            }, unknown: series.points.filter { $0.values[0] == nil }, span: runSpan, day: day)
    }

    /// The sizes of the store and of the archives after each run; nil: no run measured them.
    var sizePlot: Plot? {
        let series = sizes
        guard !series.values(0).isEmpty else { return nil }
        let words = ["store", "archives"].enumerated().compactMap { index, name in
            series.values(index).last.map { last in
                let kept = index == 1 ? policy.archive?.keep.map { "each kept for \($0.written)" } : nil
                let growth = kept ?? series.growth(index, now: plan.asOf, Figures.bytes)?.text
                return "\(name) \(Figures.bytes(last.value)), \(growth ?? "growth not known before a week of runs")"
            }
        }
        return Plot(
            heading: "Store and archives (dashed)", summary: words.joined(separator: "; ") + ".",
            unit: "size after each run", series: series, span: runSpan, format: Figures.bytes, day: day)
    }
}
