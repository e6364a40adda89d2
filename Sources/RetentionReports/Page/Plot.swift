import PriceStore
import RetentionJob

/// A plot of figures over days as inline SVG, with one scale and a few labels. A table beside it has the numbers.
struct Plot {
    /// A bar over the time of a point, between two values, with its class.
    typealias Bar = (point: Series.Point, low: Int64, high: Int64, style: String)

    var heading: String
    var summary: String
    /// What the scale counts.
    var unit: String
    var series: Series
    /// Empty: the first two figures are lines.
    var bars: [Bar] = []
    /// Points of which it is not known how high their bar is.
    var unknown: [Series.Point] = []
    var span: (start: Instant, end: Instant)
    /// A vertical line with a label.
    var mark: (instant: Instant, label: String)?
    var format: (Int64) -> String = { Figures.grouped($0) }
    var day: (Instant) -> String

    /// The place of the plot in its picture.
    private static let (left, right, top, bottom) = (80, 394, 42, 204)
    /// The height of a row of numbers, in tenths.
    private static let row = 160

    var numbers: ReviewTable {
        let names = series.names.map { $0.prefix(1).uppercased() + $0.dropFirst().replacing("_", with: " ") }
        return ReviewTable(
            heading, series.points, shortCount: 0, style: { _ in .plain },
            [("From", false, { day($0.start) })]
                + names.enumerated().map { index, name in (name, true, { $0.text(index, format) }) })
    }

    /// The plot as an `svg` element.
    ///
    /// - Parameter identifier: distinguishes the plot from others on its page.
    func svg(_ identifier: String) -> String {
        let lines = bars.isEmpty ? [series.values(0), series.values(1)] : []
        let (up, down) = scale(ends.map(\.value) + lines.flatMap { $0.map(\.value) })
        let (above, below) = (ends.filter { $0.value > up }, ends.filter { $0.value < -down })
        let length = max(1, Int128(span.end.microseconds) - Int128(span.start.microseconds))
        // Places are tenths of a unit of the picture. The numbers of bars that are longer than the scale have rows of their own.
        let (left, right, top) = (Self.left * 10, Self.right * 10, Self.top * 10 + (above.isEmpty ? 0 : Self.row))
        let bottom = Self.bottom * 10 + (above.isEmpty ? 0 : Self.row)
        let axis = bottom + (below.isEmpty ? 0 : Self.row)
        func x(_ instant: Instant) -> Int {
            let part = min(max(0, Int128(instant.microseconds) - Int128(span.start.microseconds)), length)
            return left + Int(part * Int128(right - left) / length)
        }
        func y(_ value: Int64) -> Int {
            let part = Int128(up) - Int128(min(max(value, -down), up))
            return top + Int(part * Int128(bottom - top) / (Int128(up) + Int128(down)))
        }
        var parts = [
            "<svg viewBox=\"0 0 400 \(axis / 10 + 26)\" role=\"img\" aria-labelledby=\"\(identifier)-t \(identifier)-d\">",
            "<title id=\"\(identifier)-t\">\(HTMLText.escaped(heading))</title>",
            "<desc id=\"\(identifier)-d\">\(HTMLText.escaped(summary))</desc>",
        ]
        func text(_ words: String, _ x: Int, _ y: Int, _ anchor: String, _ style: String = "plain") {
            let place = "x=\"\(decimal(x))\" y=\"\(decimal(y))\" text-anchor=\"\(anchor)\""
            parts.append("<text class=\"\(style)\" \(place)>\(HTMLText.escaped(words))</text>")
        }
        func line(_ style: String, _ points: [(x: Int, y: Int)]) {
            let path = points.map { "\(decimal($0.x)),\(decimal($0.y))" }.joined(separator: " ")
            parts.append("<polyline class=\"\(style)\" points=\"\(path)\"/>")
        }
        text(unit, 20, 120, "start")
        var labelled: [Int] = []
        for value in [0, up, -down, up / 2] where !labelled.contains(where: { abs($0 - y(value)) < 150 }) {
            labelled.append(y(value))
            line("grid", [(left, y(value)), (right, y(value))])
            text(format(abs(value)), left - 60, y(value) + 40, "end")
        }
        for bar in bars where bar.low < bar.high {
            let (from, to) = (x(bar.point.start), x(bar.point.end))
            // Even the smallest value is visible.
            let height = max(15, y(bar.low) - y(bar.high))
            let (gap, start) = (min(5, (to - from) / 8), bar.high > 0 ? y(bar.low) - height : y(bar.high))
            parts.append(
                "<rect class=\"\(bar.style)\" x=\"\(decimal(from + gap))\" y=\"\(decimal(start))\" "
                    + "width=\"\(decimal(max(10, to - from - 2 * gap)))\" height=\"\(decimal(height))\"/>")
        }
        for (ends, level) in [(above, top - 50), (below, bottom + 130)] {
            let places = Self.spread(
                ends.map { (x($0.point.start) + x($0.point.end)) / 2 }, ends.map { width(format(abs($0.value))) },
                left...right)
            for (end, place) in zip(ends, places) { text(format(abs(end.value)), place, level, "middle", "strong") }
        }
        for point in unknown {
            text("?", (x(point.start) + x(point.end)) / 2, y(0) - 30, "middle", "strong")
        }
        for (points, style) in zip(lines, ["kept", "archives"]) where !points.isEmpty {
            line("course \(style)", points.map { (x($0.instant), y($0.value)) })
        }
        if let mark, mark.instant >= span.start, mark.instant <= span.end {
            let place = x(mark.instant)
            let (start, anchor) = place > (left + right) / 2 ? (place - 50, "end") : (place + 50, "start")
            line("mark", [(place, Self.top * 10 - 180), (place, bottom)])
            text(mark.label, start, Self.top * 10 - 80, anchor, "strong")
        }
        let half = span.start.advanced(byMicroseconds: span.end.since(span.start).wholeMicroseconds / 2)
        for (instant, anchor) in [(span.start, "start"), (half, "middle"), (span.end, "end")] {
            text(day(min(instant, span.end.advanced(byMicroseconds: -1))), x(instant), axis + 180, anchor)
        }
        return (parts + ["</svg>"]).joined(separator: "\n")
    }

    /// The outer ends of the bars, in order of time.
    private var ends: [(point: Series.Point, value: Int64)] {
        let shown = bars.filter { $0.low < $0.high }
        let inner = Set(shown.map { [$0.point.start.microseconds, $0.low] })
        return shown.filter { $0.high <= 0 || !inner.contains([$0.point.start.microseconds, $0.high]) }
            .map { ($0.point, $0.high > 0 ? $0.high : $0.low) }
    }

    /// How wide a number is at most, in tenths.
    private func width(_ number: String) -> Int { number.count * 90 }

    /// Moves texts that are in one row apart, in their order, as little as possible.
    ///
    /// - Parameter places: the middles of the texts, ascending.
    private static func spread(_ places: [Int], _ widths: [Int], _ room: ClosedRange<Int>) -> [Int] {
        var places = places
        for index in places.indices.dropFirst() {
            let missing = (widths[index - 1] + widths[index]) / 2 + 60 - (places[index] - places[index - 1])
            guard missing > 0 else { continue }
            places[index - 1] -= missing / 2
            places[index] += missing - missing / 2
        }
        guard let first = places.first, let last = places.last, let start = widths.first, let end = widths.last else {
            return places
        }
        // The first or the last one may be at the edge.
        let shift = max(0, room.lowerBound + start / 2 - first) + min(0, room.upperBound - end / 2 - last)
        return places.map { $0 + shift }
    }

    /// The ends of the scale above and below zero. Each side has room for the number at its end.
    private func scale(_ values: [Int64]) -> (up: Int64, down: Int64) {
        let (above, below) = (scaleEnd(values.filter { $0 > 0 }), scaleEnd(values.filter { $0 < 0 }.map(-)))
        let down = values.contains { $0 < 0 } ? max(below, scaleEnd([above / 8])) : 0
        return (max(above, scaleEnd([below / 8])), down)
    }

    /// The next of 2, 4, 6, 8, 10, 20, 40 … after the largest value, without the largest one, or two of many, that would hide the others. Bytes
    /// are counted in their unit.
    private func scaleEnd(_ values: [Int64]) -> Int64 {
        let sorted = values.sorted(by: >)
        var value = max(1, sorted.first ?? 1)
        if !bars.isEmpty, sorted.count > 2 {
            let usual = sorted[sorted.count < 12 ? 1 : 2]
            value = sorted.first { $0 / 8 <= usual } ?? usual
        }
        var step: Int64 = 1
        while bars.isEmpty, step <= value / 1024 { step *= 1024 }
        let (quotient, rest) = value.quotientAndRemainder(dividingBy: step)
        let count = rest > 0 ? quotient + 1 : quotient
        var power: Int64 = 1
        while power <= Int64.max / 100 / step {
            for factor: Int64 in [2, 4, 6, 8, 10] where power * factor >= count { return power * factor * step }
            power *= 10
        }
        return value
    }

    /// A number given in tenths.
    private func decimal(_ tenths: Int) -> String {
        tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}
