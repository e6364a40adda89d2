import PriceStore

/// A plot over time as inline SVG: bars or a line, with one scale and a few labels. A table beside it has the numbers.
struct Plot {
    /// A bar from one instant to another.
    struct Bar {
        var start: Instant
        var end: Instant
        var value: Int64
        /// Its class: `kept`, `expired` or `deleted`.
        var style: String
    }

    /// A vertical line with a label.
    struct Mark {
        var instant: Instant
        var label: String
    }

    /// What the plot shows, as text.
    var title: String
    /// The plot in words, for those who do not see it.
    var summary: String
    var bars: [Bar] = []
    /// Points of a line; only if there are no bars.
    var points: [(instant: Instant, value: Int64)] = []
    var mark: Mark?
    /// Formats a value for the scale.
    var label: (Int64) -> String
    /// The scale ends at a round number of these units.
    var unit: Int64 = 1
    /// Distinguishes the plot from others on its page.
    var identifier: String

    private static let (width, height) = (400, 220)
    private static let (left, right, top, bottom) = (58, 12, 26, 34)

    /// The plot as an `svg` element; empty if there is nothing to show.
    var svg: String {
        let instants = bars.flatMap { [$0.start, $0.end] } + points.map(\.instant)
        guard let first = instants.min(), let last = instants.max() else { return "" }
        let most = scaleEnd((bars.map(\.value) + points.map(\.value)).max() ?? 1)
        let span = max(1, Int128(last.microseconds) - Int128(first.microseconds))
        func x(_ instant: Instant) -> Int {
            let part = (Int128(instant.microseconds) - Int128(first.microseconds)) * 1000 / span
            return Self.left * 10 + Int(part) * (Self.width - Self.left - Self.right) / 100
        }
        func y(_ value: Int64) -> Int {
            let part = Int(Int128(value) * 1000 / Int128(most))
            return (Self.height - Self.bottom) * 10 - part * (Self.height - Self.top - Self.bottom) / 100
        }
        var parts = [
            "<svg viewBox=\"0 0 \(Self.width) \(Self.height)\" role=\"img\" aria-labelledby=\"\(identifier)-t "
                + "\(identifier)-d\">",
            "<title id=\"\(identifier)-t\">\(HTMLText.escaped(title))</title>",
            "<desc id=\"\(identifier)-d\">\(HTMLText.escaped(summary))</desc>",
        ]
        for value in [0, most / 2, most] {
            let height = decimal(y(value))
            parts.append(
                "<line class=\"grid\" x1=\"\(Self.left)\" x2=\"\(Self.width - Self.right)\" y1=\"\(height)\" "
                    + "y2=\"\(height)\"/>")
            parts.append(
                "<text x=\"\(Self.left - 6)\" y=\"\(decimal(y(value) + 40))\" text-anchor=\"end\">"
                    + "\(HTMLText.escaped(label(value)))</text>")
        }
        for bar in bars where bar.value > 0 {
            let (from, to) = (x(bar.start), x(bar.end))
            // Even the smallest value is visible.
            let height = max(15, y(0) - y(bar.value))
            parts.append(
                "<rect class=\"\(bar.style)\" x=\"\(decimal(from + 5))\" y=\"\(decimal(y(0) - height))\" "
                    + "width=\"\(decimal(max(20, to - from - 10)))\" height=\"\(decimal(height))\"/>")
        }
        if !points.isEmpty {
            let path = points.map { "\(decimal(x($0.instant))),\(decimal(y($0.value)))" }.joined(separator: " ")
            parts.append("<polyline class=\"course\" points=\"\(path)\"/>")
            for point in points {
                parts.append(
                    "<circle class=\"point\" cx=\"\(decimal(x(point.instant)))\" cy=\"\(decimal(y(point.value)))\" "
                        + "r=\"2.5\"/>")
            }
        }
        if let mark {
            let place = min(max(x(mark.instant), Self.left * 10), (Self.width - Self.right) * 10)
            let isLeft = place > (Self.left + Self.width) * 5
            parts.append(
                "<line class=\"mark\" x1=\"\(decimal(place))\" x2=\"\(decimal(place))\" y1=\"\(Self.top - 14)\" "
                    + "y2=\"\(Self.height - Self.bottom)\"/>")
            parts.append(
                "<text class=\"strong\" x=\"\(decimal(place + (isLeft ? -50 : 50)))\" y=\"\(Self.top - 8)\" "
                    + "text-anchor=\"\(isLeft ? "end" : "start")\">\(HTMLText.escaped(mark.label))</text>")
        }
        let isShort = last.since(first) < .seconds(3 * 86_400)
        let ends = [(first, "start", Self.left), (last, "end", Self.width - Self.right)]
        for (instant, anchor, place) in ends {
            let text = isShort ? String(instant.plain.prefix(16)) : instant.civil.date.description
            parts.append("<text x=\"\(place)\" y=\"\(Self.height - 12)\" text-anchor=\"\(anchor)\">\(text)</text>")
        }
        parts.append("</svg>")
        return parts.joined(separator: "\n")
    }

    /// The next of 2, 4, 6, 8, 10, 20, 40 … units, so that half of it is also a whole number.
    private func scaleEnd(_ value: Int64) -> Int64 {
        let (quotient, rest) = max(1, value).quotientAndRemainder(dividingBy: unit)
        let count = rest > 0 ? quotient + 1 : quotient
        var power: Int64 = 1
        while power <= Int64.max / 100 / unit {
            for factor: Int64 in [2, 4, 6, 8, 10] where power * factor >= count { return power * factor * unit }
            power *= 10
        }
        return value
    }

    /// A number given in tenths.
    private func decimal(_ tenths: Int) -> String {
        tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}
