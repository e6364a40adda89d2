import PriceStore
import RetentionJob
import RetentionPolicy

/// The review as a page: one file without references to others.
package struct ReviewPage {
    private let review: Review

    package init(_ review: Review) { self.review = review }

    /// The beginning of every page.
    static let firstLines = "<!DOCTYPE html>\n<!-- retention report -->\n"

    /// The page, ending with a line end. It loads nothing and has no script.
    package var html: String {
        let plan = review.plan
        return Self.html(
            "Retention review: " + plan.store,
            "As of \(Review.time(plan.asOf)) UTC · policy \(HTMLText.escaped(plan.config)) "
                + "<code>\(HTMLText.escaped(String(plan.configSHA256.prefix(8))))</code>",
            [
                Self.top(review.topLines, review.sentences), Self.section("Rules", HTMLText.table(review.ruleTable)),
                Self.section("Holds", HTMLText.table(review.holdTable)), plots,
                Self.section("Runs", HTMLText.table(review.runTable)),
            ])
    }

    /// A page of sections, with a line below the title.
    static func html(_ title: String, _ line: String, _ sections: [String]) -> String {
        firstLines + """
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
            <p class="soft">\(line)</p>
            </header>
            <main>
            \(sections.filter { !$0.isEmpty }.joined(separator: "\n"))
            </main>
            </body>
            </html>

            """
    }

    /// A part of the page; empty if it has no content.
    static func section(_ title: String, _ content: String) -> String {
        guard !content.isEmpty else { return "" }
        let name = title.lowercased().replacing(" ", with: "-")
        return "<section aria-labelledby=\"\(name)\">\n<h2 id=\"\(name)\">\(title)</h2>\n\(content)\n</section>"
    }

    /// What happened, what comes, and what needs attention.
    static func top(
        _ lines: [(label: String, text: String, style: Style)], _ sentences: [(text: String, style: Style)]
    ) -> String {
        let lines = lines.map { line in
            "<div><dt>\(line.label)</dt><dd class=\"\(line.style)\">\(HTMLText.escaped(line.text))</dd></div>"
        }
        let items = sentences.map { "<li class=\"\($0.style)\">\(HTMLText.escaped($0.text))</li>\n" }
        return "<section aria-label=\"At a glance\">\n<dl>\n\(lines.joined(separator: "\n"))\n</dl>\n"
            + (items.isEmpty ? "" : "<ul>\n\(items.joined())</ul>\n") + "</section>"
    }

    private var plots: String {
        var groups = review.shownRules.map { (heading: $0.name, plots: review.plots(of: $0)) }
        groups.append(("Size", [review.sizePlot].compactMap(\.self)))
        let parts = groups.filter { !$0.plots.isEmpty }.enumerated().map { number, group in
            let figures = group.plots.enumerated().map { index, plot in
                """
                <figure>
                <h4>\(HTMLText.escaped(plot.heading))</h4>
                \(plot.svg("plot\(number)-\(index)"))
                <figcaption>\(HTMLText.escaped(plot.summary))</figcaption>
                <details><summary>Numbers</summary>
                \(HTMLText.table(plot.numbers, style: "narrow"))
                </details>
                </figure>
                """
            }
            return "<h3>\(HTMLText.escaped(group.heading))</h3>\n<div class=\"figures\">\n"
                + figures.joined(separator: "\n") + "\n</div>"
        }
        guard !parts.isEmpty else { return "" }
        let keys = [("kept", "kept or arrived"), ("expired", "past the cutoff or deleted"), ("today", "today so far")]
        let legend = keys.map { style, words in
            "<svg class=\"key\" viewBox=\"0 0 9 9\"><rect class=\"\(style)\" width=\"9\" height=\"9\"/></svg> \(words)"
        }
        let note = " · arrived: less what other programs deleted; ?: not known"
        let lines = ["<p class=\"soft\">\(legend.joined(separator: " "))\(note)</p>"] + parts
        return Self.section("Rows and sizes", lines.joined(separator: "\n"))
    }
}
