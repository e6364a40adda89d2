import Testing

@testable import RetentionPolicy

struct TextWidthTests {
    @Test(arguments: [
        ["to accept that for one run:", "retention run -c 'a, b; c' --rule x"],
        ["create it:", "mkdir -m 700 'it'\\''s; here/archive';", "nothing was deleted, in 30 min"],
        ["help:", "retention explain too_many_rows,", "man retention, man", "retention-run"],
    ])
    func aCommandIsNotBroken(lines: [String]) {
        #expect(TextWidth.wrap(lines.joined(separator: " "), width: 30) == lines)
    }
}
