import Foundation
import PriceStore
import RetentionPolicy
import Testing

/// Files that nobody would write are refused quickly and with a position.
struct HostileFileTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var line = 1
        var column = 1
        var message: String
        var testDescription: String { name }

        init(_ name: String, _ bytes: [UInt8], line: Int = 1, column: Int = 1, _ message: String) {
            (self.name, self.bytes, self.line, self.column, self.message) = (name, bytes, line, column, message)
        }

        init(_ name: String, _ text: String, line: Int = 1, column: Int = 1, _ message: String) {
            self.init(name, Array(text.utf8), line: line, column: column, message)
        }
    }

    private static let bomb =
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + zip("abcdefgh", "bcdefghi").map { from, to in
            "\(to): &\(to) [" + Array(repeating: "*\(from)", count: 10).joined(separator: ", ") + "]\n"
        }.joined()

    static let rows = [
        Row("nothing", "", "the file is empty"),
        Row("line ends", "\n\r\n\n", "the file is empty"),
        Row("comment", "# nothing\n", "the file is empty"),
        Row("mark only", [0xEF, 0xBB, 0xBF], "the file is empty"),
        Row("NUL", "version: 1\nst\0re: a\n", line: 2, column: 3, "NUL byte"),
        Row("database", "SQLite format 3\0....", column: 16, "NUL byte"),
        Row("not UTF-8", Array("version: 1\nöl: ".utf8) + [0xFF], line: 2, column: 5, "not UTF-8"),
        Row("UTF-16", [0xFF, 0xFE, 0x76, 0x00], "not UTF-8"),
        Row("surrogate", Array("a: ".utf8) + [0xED, 0xA0, 0x80], column: 4, "not UTF-8"),
        Row("escape", "a: \u{1B}[31m", column: 4, "control character (U+001B)"),
        Row("alias bomb", bomb, line: 5, column: 36, "more than 100,000 values"),
        Row("deep", String(repeating: "[", count: 100_000), column: 65, "more than 64 levels"),
        Row("deep blocks", String(repeating: "- ", count: 50_000), column: 129, "more than 64 levels"),
        Row(
            "deep alias",
            "a: &a \(String(repeating: "[", count: 40))\(String(repeating: "]", count: 40))\n"
                + "b: \(String(repeating: "[", count: 40))*a\(String(repeating: "]", count: 40))\n",
            line: 2, column: 44, "nests values more than 64 levels"),
        Row("wide", "[" + String(repeating: "1,", count: 120_000) + "1]", column: 200_000, "more than 100,000 values"),
        Row("wide keys", (0..<60_000).map { "\($0):\n" }.joined(), line: 50_000, column: 7, "more than 100,000 values"),
        Row("directive", "%YAML 3.0\n---\na: 1\n", "not YAML"),
        Row("anchor alone", "*a", "no anchor"),
    ]

    @Test(arguments: rows)
    func isAnsweredAtItsPlace(row: Row) throws {
        let clock = ContinuousClock()
        var mistakes: [Diagnostic] = []
        let time = clock.measure { mistakes = PolicyFixtures.mistakes(row.bytes) }
        let first = try #require(mistakes.first)
        #expect(first.message.contains(row.message), "\(first)")
        #expect(first.mark.line == row.line && first.mark.column == row.column, "\(first)")
        #expect(mistakes.count == 1)
        #expect(time < .seconds(5), "debug build; the bound only tells work that grows with the square")
    }

    /// Bytes of a good file changed at random, from a fixed seed: no crash, and every place is one of the file.
    @Test func damagedFilesGivePlacesInsideThem() throws {
        let good = [UInt8](try Data(contentsOf: PolicyFixtures.folder.appendingPathComponent("everything.good.yaml")))
        let spices = Array("\n\t :,-[]{}&*!|>'\"%@`#?0~\0\u{FF}".utf8)
        var state: UInt64 = 2026
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for _ in 0..<400 {
            var bytes = good
            for _ in 0...random(3) {
                let place = random(bytes.count)
                switch random(3) {
                case 0: bytes[place] = spices[random(spices.count)]
                case 1: bytes.insert(spices[random(spices.count)], at: place)
                default: bytes.removeSubrange(place..<min(bytes.count, place + 1 + random(12)))
                }
            }
            do throws(PolicyError) {
                _ = try PolicyFixtures.read(bytes)
            } catch {
                guard case .invalid(let diagnostics, let source) = error else {
                    Issue.record("\(error)")
                    continue
                }
                #expect(!diagnostics.isEmpty)
                #expect(diagnostics.map(\.mark) == diagnostics.map(\.mark).sorted())
                for mark in diagnostics.map(\.mark) {
                    #expect(
                        mark.line >= 1 && mark.line <= source.lines.count + 1 && mark.column >= 1 && mark.length >= 1)
                }
                #expect(!error.description.isEmpty)
            }
        }
    }

    @Test func thousandsOfMistakesAreBounded() {
        let text = "version: 1\n" + (0..<20_000).map { "key_number_\($0): 1\n" }.joined()
        #expect(PolicyFixtures.mistakes(text).count == 1000)
    }

    @Test func lineEndsAndMarkOfOtherSystemsAreRead() throws {
        let text = PolicyFixtures.text(rule: ["align: dya"])
        let plain = PolicyFixtures.mistakes(text)
        try #require(plain.count == 1)
        #expect(plain[0].mark == Mark(line: 9, column: 12, length: 3))
        #expect(PolicyFixtures.mistakes(text.replacingOccurrences(of: "\n", with: "\r\n")) == plain)
        #expect(PolicyFixtures.mistakes(text.replacingOccurrences(of: "\n", with: "\r")) == plain)
        #expect(PolicyFixtures.mistakes([0xEF, 0xBB, 0xBF] + Array(text.utf8)) == plain)
    }

    @Test func columnsAreUnicodeScalars() throws {
        let mistakes = PolicyFixtures.mistakes(PolicyFixtures.text(rule: ["where: { 金é😀: { foo: 1 } }"]))
        try #require(mistakes.count == 1)
        #expect(mistakes[0].mark == Mark(line: 9, column: 21, length: 3))
    }

    @Test func aTabBetweenKeyAndValueIsRead() throws {
        #expect(try PolicyFixtures.rule("align:\tday").align == .day)
    }

    @Test func filesThatCannotBeReadHaveDifferentErrors() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func problem(_ path: String) -> PolicyError? {
            do throws(PolicyError) {
                _ = try PolicyFile.read(path: path)
                return nil
            } catch { return error }
        }
        func firstMistake(_ path: String) -> String {
            guard case .invalid(let diagnostics, _) = problem(path) else { return "" }
            return diagnostics.first?.message ?? ""
        }
        let empty = "the file is empty; expected version, store and rules"
        if case .missing = problem(folder.path + "/none.yaml") {} else { Issue.record("not missing") }
        if case .unreadable(_, EISDIR, _) = problem(folder.path) {} else { Issue.record("not a folder") }
        #expect(firstMistake("/dev/null") == empty)
        #expect(firstMistake("/dev/zero").contains("larger than 1 MiB"))
        let large = folder.appendingPathComponent("large.yaml")
        try Data(repeating: 0x23, count: PolicyFile.largestSizeBytes + 1).write(to: large)
        #expect(firstMistake(large.path).contains("larger than 1 MiB"))
        try Data(repeating: 0x23, count: PolicyFile.largestSizeBytes).write(to: large)
        #expect(firstMistake(large.path) == empty)
        let pipe = folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(firstMistake(pipe) == empty, "a FIFO that nobody writes to is not waited for")
    }
}
