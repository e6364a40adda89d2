import RetentionPolicy
import Testing

struct DiagnosticTextTests {
    private func render(_ line: String, _ mark: Mark, _ message: String = "wrong", path: String = "r.yaml") -> String {
        DiagnosticText.render(
            [Diagnostic(at: mark, message)], source: PolicySource(path: path, sha256: "", lines: [line]))
    }

    /// The sample of `retention check`.
    @Test func looksLikeTheSample() {
        let text = """
            version: 1
            store: prices.sqlite

            # Two mistakes below.
            rules:
              - name: yahoo-gold
                entity: YahooGoldPricePoint
                date_attribute: updateTime
                max_age: 30m
              - { name: ticks, entity: Tick, date_attribute: at, max_age: 7d }
              - name: fx
                max_agee: 3d
                entity: FxRate
                date_attribute: day
            """
        do throws(PolicyError) {
            _ = try PolicyFixtures.read(text)
            Issue.record("the file was read")
        } catch {
            #expect(
                error.description == """
                    retention.yaml:9:14: error: '30m' is ambiguous: write 30min (minutes) or 30mo (months)
                      9 |     max_age: 30m
                        |              ^~~
                    retention.yaml:12:5: error: unknown key 'max_agee'; did you mean 'max_age'?
                     12 |     max_agee: 3d
                        |     ^~~~~~~~
                    2 errors
                    """)
        }
    }

    @Test func oneErrorIsCountedAsOne() {
        #expect(
            render("a: b", Mark(line: 1, column: 4)) == """
                r.yaml:1:4: error: wrong
                  1 | a: b
                    |    ^
                1 error
                """)
    }

    @Test func warningsAreCountedToo() {
        let mark = Mark(line: 1, column: 1)
        let text = DiagnosticText.render(
            [
                Diagnostic(at: mark, "a"), Diagnostic(.warning, at: mark, "b"), Diagnostic(.warning, at: mark, "c"),
                Diagnostic(.advice, at: mark, "d"),
            ], source: PolicySource(path: "r.yaml", sha256: "", lines: []))
        #expect(text.hasSuffix("r.yaml:1:1: advice: d\n1 error, 2 warnings, 1 piece of advice"))
        #expect(text.contains("r.yaml:1:1: warning: b\n"))
    }

    @Test func nothingIsShownWithoutDiagnostics() {
        #expect(DiagnosticText.render([], source: PolicySource(path: "", sha256: "", lines: [])) == "")
    }

    @Test func largeLineNumbersWidenTheMargin() {
        let lines = Array(repeating: "x", count: 1234)
        let text = DiagnosticText.render(
            [Diagnostic(at: Mark(line: 9, column: 1), "a"), Diagnostic(at: Mark(line: 1234, column: 1), "b")],
            source: PolicySource(path: "r", sha256: "", lines: lines))
        #expect(text.contains("    9 | x\n      | ^\n"))
        #expect(text.contains(" 1234 | x\n      | ^\n"))
    }

    @Test func controlCharactersAreEscaped() {
        let text = render(
            "a: \u{1B}[31mred\u{202E}", Mark(line: 1, column: 4, length: 2), "bad \u{1B}[0m\n", path: "\u{7}")
        #expect(!text.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" || $0 == "\u{7}" })
        #expect(text.contains("\\u{7}:1:4: error: bad \\u{1b}[0m\\u{a}\n"))
        #expect(text.contains("  1 | a: \\u{1b}[31mred\\u{202e}\n    |    ^~~~~~~\n"))
    }

    @Test func theCaretFindsItsPlaceBehindTabsAndWideCharacters() {
        #expect(render("\ta: b", Mark(line: 1, column: 5)).contains("  1 |     a: b\n    |        ^\n"))
        #expect(render("金: bc", Mark(line: 1, column: 4, length: 2)).contains("  1 | 金: bc\n    |     ^~\n"))
        #expect(render("e\u{301}: b", Mark(line: 1, column: 5)).contains("\n    |    ^\n"))
    }

    @Test func longLinesAreCutAroundTheCaret() {
        let line = String(repeating: "a", count: 5000) + "HERE" + String(repeating: "b", count: 5000)
        let lines = render(line, Mark(line: 1, column: 5001, length: 4)).split(separator: "\n")
        #expect(lines[1].count < 125)
        let caret = lines[2].prefix { $0 != "^" }.count
        #expect(lines[1].dropFirst(caret).hasPrefix("HERE") && lines[2].hasSuffix(" ^~~~"))
        #expect(lines[1].contains("| …a") && lines[1].hasSuffix("b…"))
    }

    @Test func aLongMarkIsCutWithItsLine() {
        let line = "key: " + String(repeating: "v", count: 2000)
        let lines = render(line, Mark(line: 1, column: 6, length: 2000)).split(separator: "\n")
        #expect(lines[1].count < 125 && lines[2].count <= lines[1].count)
    }

    @Test func aCaretBehindTheEndOfTheLineStandsThere() {
        #expect(render("a:", Mark(line: 1, column: 3)).contains("  1 | a:\n    |   ^\n"))
        #expect(render("a:", Mark(line: 1, column: 300)).contains("\n    | "))
        #expect(render("a:", Mark(line: 7, column: 1)) == "r.yaml:7:1: error: wrong\n1 error")
    }

    @Test func aTerminalGetsWrappedMessagesAndShorterLines() {
        let message = "'max_agee' is unknown here; " + String(repeating: "and more words ", count: 12)
        let text = DiagnosticText.render(
            [Diagnostic(at: Mark(line: 1, column: 50, length: 3), message)],
            source: PolicySource(path: "r.yaml", sha256: "", lines: [String(repeating: "word ", count: 40)]), width: 60
        ) { "<\($1)>" + $0 }
        let lines = text.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 60 + "<error>".count } && lines.count > 5, "\(text)")
        #expect(lines[0].hasPrefix("r.yaml:1:50: <error>error: 'max_agee'") && lines[1].hasPrefix("    "), "\(text)")
        #expect(text.contains("<error>") && !text.contains("<error>~"))
    }
}
