import Foundation
import PriceStore
import TestSupport
import Testing

struct DatePatternTests {
    /// A text, and the instants that a pattern reads; nil: it does not fit.
    struct Reading: Sendable, CustomTestStringConvertible {
        var pattern: String
        var text: String
        var start: String?
        var end: String?
        var zone: String
        var testDescription: String { "\(pattern) \(text) \(zone)" }

        init(_ pattern: String, _ text: String, _ start: String?, to end: String? = nil, in zone: String = "UTC") {
            (self.pattern, self.text, self.start, self.end, self.zone) = (pattern, text, start, end, zone)
        }
    }

    @Test func isAnEncoding() {
        let encoding = DatePattern("%d.%m.%Y %H:%M").map(DateEncoding.pattern)
        #expect(encoding?.rawValue == "%d.%m.%Y %H:%M")
    }

    @Test(arguments: [
        Reading("%d.%m.%Y %H:%M", "01.01.2009 0:00", "2009-01-01T00:00:00Z"),
        Reading("%d.%m.%Y %H:%M", "1.1.2009 00:00", "2009-01-01T00:00:00Z"),
        Reading("%d.%m.%Y %H:%M", "01.01.2009 0:00 ", nil),
        Reading("%d.%m.%Y %H:%M", " 01.01.2009 0:00", nil),
        Reading("%d.%m.%Y %H:%M", "01.01.2009  0:00", nil),
        Reading("%d.%m.%Y %H:%M", "01.01.2009", nil), Reading("%d.%m.%Y %H:%M", "", nil),
        Reading("%d.%m.%Y %H:%M", "31.02.2009 0:00", nil), Reading("%d.%m.%Y %H:%M", "00.01.2009 0:00", nil),
        Reading("%d.%m.%Y %H:%M", "01.13.2009 0:00", nil), Reading("%d.%m.%Y %H:%M", "01.01.2009 25:00", nil),
        Reading("%d.%m.%Y %H:%M", "01.01.2009 24:00", nil), Reading("%d.%m.%Y %H:%M", "01.01.2009 23:60", nil),
        Reading("%d.%m.%Y %H:%M", "01.01.09 0:00", nil), Reading("%d.%m.%Y %H:%M", "001.01.2009 0:00", nil),
        Reading("%d.%m.%Y %H:%M", "٠1.01.2009 0:00", nil),
        Reading("%d.%m.%Y %H:%M", "25.10.2026 02:30", "2026-10-25T01:30:00Z", in: "Europe/Berlin"),
        Reading("%d.%m.%Y %H:%M", "29.03.2026 02:30", "2026-03-29T01:30:00Z", in: "Europe/Berlin"),
        Reading("%Y/%m/%d", "2023/05/15", "2023-05-15T00:00:00Z", to: "2023-05-16T00:00:00Z"),
        Reading("%Y/%m/%d", "2026/03/29", "2026-03-28T23:00:00Z", to: "2026-03-29T22:00:00Z", in: "Europe/Berlin"),
        Reading("%d/%m/%Y", "15/05/2023", "2023-05-15T00:00:00Z", to: "2023-05-16T00:00:00Z"),
        Reading("%m/%d/%Y", "15/05/2023", nil), Reading("%d/%m/%Y", "29/02/2023", nil),
        Reading(
            "%Y-%m-%d %H:%M:%S %z %Z", "2025-12-04 23:00:00 +0000 UTC", "2025-12-04T23:00:00Z", in: "Europe/Berlin"),
        Reading("%Y-%m-%d %H:%M:%S %z %Z", "2025-12-04 23:00:00 +0100 UTC", nil),
        Reading("%Y-%m-%d %H:%M:%S %Z %z", "2025-12-04 23:00:00 UTC +0100", nil),
        Reading("%Y-%m-%d %H:%M:%S %z %Z", "2025-12-04 23:00:00 +0000 CET", nil),
        Reading(
            "%Y-%m-%dT%H:%M:%S.%f%z", "2024-01-02T03:04:05.123456789Z", "2024-01-02T03:04:05.123456Z",
            in: "Europe/Berlin"),
        Reading("%Y-%m-%dT%H:%M:%S.%f%z", "2024-01-02T03:04:05.5-05:30", "2024-01-02T08:34:05.5Z"),
        Reading("%Y-%m-%dT%H:%M:%S.%f%z", "2024-01-02T03:04:05.-05:30", nil),
        Reading("%Y-%m-%dT%H:%M:%S.%f%z", "2024-01-02T03:04:05.5-05:60", nil),
        Reading("%Y-%m-%dT%H:%M:%S.%f%z", "2024-01-02T03:04:05.5-24:00", nil),
        Reading("%Y-%m-%dT%H:%M:%S.%f%z", "2024-01-02T03:04:05.5-05:3", nil),
        Reading("%a, %d %b %Y %H:%M:%S %z", "Tue, 02 Jan 2024 03:04:05 +0000", "2024-01-02T03:04:05Z"),
        Reading("%a, %d %b %Y %H:%M:%S %z", "tue, 2 JAN 2024 3:04:05 +0200", "2024-01-02T01:04:05Z"),
        // A weekday is a name, not a proof.
        Reading("%a, %d %b %Y %H:%M:%S %z", "Fri, 02 Jan 2024 03:04:05 +0000", "2024-01-02T03:04:05Z"),
        Reading("%a, %d %b %Y %H:%M:%S %z", "Die, 02 Jan 2024 03:04:05 +0000", nil),
        Reading("%a, %d %b %Y %H:%M:%S %z", "Tue, 02 Mai 2024 03:04:05 +0000", nil),
        Reading("%a, %d %b %Y %H:%M:%S %Z", "Tue, 02 Jan 2024 03:04:05 GMT", "2024-01-02T03:04:05Z"),
        Reading("%b %d, %Y %H:%M", "Dec 9, 2024 7:05", "2024-12-09T07:05:00Z"),
        Reading("%Y%m%d%H%M%S", "20240102030405", "2024-01-02T03:04:05Z"),
        Reading("%Y%m%d%H%M%S", "2024010203045", nil),
        Reading("%Y%m%d%H%M%S", "20161231235960", "2017-01-01T00:00:00Z"),
        Reading("%Y%m%d%H%M%S", "20161231235961", nil),
        Reading("%Y年%m月%d日", "2024年1月2日", "2024-01-02T00:00:00Z", to: "2024-01-03T00:00:00Z"),
        Reading("100%% %d.%m.%Y", "100% 02.01.2024", "2024-01-02T00:00:00Z", to: "2024-01-03T00:00:00Z"),
        Reading("%d-%m-%Y T%H-%M Uhr", "02-01-2024 T3-04 Uhr", "2024-01-02T03:04:00Z"),
        Reading("%d.%m.%Y", "29.02.0000", "0000-02-29T00:00:00Z", to: "0000-03-01T00:00:00Z"),
    ])
    func reads(row: Reading) throws {
        let zone = try CalendarZoneTests.zone(row.zone)
        let encoding = DateEncoding.pattern(try #require(DatePattern(row.pattern)))
        let found = encoding.read(.text(row.text), zone: zone)
        guard let start = row.start else { return #expect(found == .unreadable(.notADate)) }
        let first = try #require(Instant(iso8601: start))
        let end = try row.end.map { try #require(Instant(iso8601: $0)) }
        #expect(found == .span(start: first, end: end ?? first.advanced(byMicroseconds: 1)))
    }

    @Test(arguments: [StoreValue.integer(20_240_102), .real(20_240_102), .blob([50])])
    func readsTextOnly(_ value: StoreValue) throws {
        let pattern = try #require(DatePattern("%Y%m%d"))
        #expect(DateEncoding.pattern(pattern).read(value, zone: .utc) == .unreadable(.wrongType))
    }

    @Test(arguments: [
        ("%d.%m.%y", "'%y' is a year without its century, which nobody knows; a pattern needs %Y"),
        ("%d.%m", "a pattern needs %Y, %d, and either %m or %b"), ("", "a pattern needs %Y, %d, and either %m or %b"),
        ("%d %m %b %Y", "a pattern needs %Y, %d, and either %m or %b"),
        (
            "%d.%m.%Y %I:%M %p",
            "'%I' is not one of the letters %Y %m %b %d %a %H %M %S %f %z %Z, or is in the pattern twice"
        ),
        ("%d.%d.%m.%Y", "'%d' is not one of the letters %Y %m %b %d %a %H %M %S %f %z %Z, or is in the pattern twice"),
        ("%d.%m.%Y %M", "a time needs %H, then %M, then %S, then %f; %z and %Z need %H"),
        ("%d.%m.%Y %H:%S", "a time needs %H, then %M, then %S, then %f; %z and %Z need %H"),
        ("%d.%m.%Y %H:%M.%f", "a time needs %H, then %M, then %S, then %f; %z and %Z need %H"),
        ("%d.%m.%Y %z", "a time needs %H, then %M, then %S, then %f; %z and %Z need %H"),
        ("%d.%m.%Y %H%", "'% ' is not one of the letters %Y %m %b %d %a %H %M %S %f %z %Z, or is in the pattern twice"),
        ("%H:%M:%S.%f%d.%m.%Y", "a digit or colon follows '%f', so nobody knows where it ends"),
        ("%Y-%m-%dT%H:%M:%SZ", "'Z' would be plain text, and the date one of 'timezone'; write %z for it"),
        ("%Y-%m-%d %H:%M UTC", "'UTC' would be plain text, and the date one of 'timezone'; write %Z for it"),
        ("%Y-%m-%d %H:%Mz", "'Z' would be plain text, and the date one of 'timezone'; write %z for it"),
        ("%Y-%m-%d +0200", "'+0200' would be plain text, and the date one of 'timezone'; write %z for it"),
        ("%Y-%m-%d %H:%M:%S-05", "'-05' would be plain text, and the date one of 'timezone'; write %z for it"),
        ("%Y-%m-%d %H:%M:%S -5", "'-5' would be plain text, and the date one of 'timezone'; write %z for it"),
        ("%H:%M -05 %d.%m.%Y", "'-05' would be plain text, and the date one of 'timezone'; write %z for it"),
        ("%d.%m.%Y %H:%M + 5:30", "'+ 5:30' would be plain text, and the date one of 'timezone'; write %z for it"),
        (
            "%d.%m.%Y %H:%M PM",
            "'PM' would be plain text, and hours from 1 to 12 cannot be read; %H has hours from 0 to 23"
        ),
        (
            "%d.%m.%Y %H:%Mam",
            "'AM' would be plain text, and hours from 1 to 12 cannot be read; %H has hours from 0 to 23"
        ),
        (
            "%d.%m.%Y %H:%M p.m.",
            "'PM' would be plain text, and hours from 1 to 12 cannot be read; %H has hours from 0 to 23"
        ),
        (
            "%d.%m.%Y %H:%M EST",
            "'EST' would be plain text, and of the names of zones only UTC and GMT can be read, with %Z"
        ),
        (
            "CET %d.%m.%Y",
            "'CET' would be plain text, and of the names of zones only UTC and GMT can be read, with %Z"
        ),
        ("%d.%m.'%Y", "a pattern has at most 100 bytes, without quotes, backslashes, carets and control characters"),
    ])
    func saysWhatIsWrong(_ text: String, _ message: String) throws {
        #expect(DatePattern(text) == nil)
        do throws(DatePattern.Mistake) {
            _ = try DatePattern(checking: text)
        } catch {
            #expect(error.message == message)
        }
    }

    static let patterns = [
        "%d.%m.%Y %H:%M", "%Y/%m/%d", "%d/%m/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f %z %Z", "%a, %d %b %Y %H:%M:%S %z",
        "%Y%m%d%H%M%S", "%b %d, %Y", "%d-%b-%Y %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S%z",
    ]

    @Test(arguments: patterns, ["UTC", "Europe/Berlin"])
    func readsWhatItWrites(_ pattern: String, _ name: String) throws {
        let zone = try CalendarZoneTests.zone(name)
        let encoding = DateEncoding.pattern(try #require(DatePattern(pattern)))
        #expect(DateEncoding(rawValue: pattern) == encoding && encoding.rawValue == pattern)
        var random = SeededRandom(7)
        for _ in 0..<500 {
            let instant = Instant(unixSeconds: Int64.random(in: -2_000_000_000...4_000_000_000, using: &random))
            let text = encoding.value(of: instant, zone: zone)
            let first = try #require(encoding.instant(of: text, zone: zone), "\(text)")
            #expect(first <= instant && encoding.value(of: first, zone: zone) == text, "\(text)")
        }
    }

    private static let hasPython = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")

    /// Texts and damaged ones, beside strptime of Python. It reads digits next to digits in several ways, names and literals in any case, and
    /// knows neither leap seconds nor fractions of more than six digits.
    @Test(.enabled(if: hasPython, "python3 is not installed"), arguments: patterns.filter { $0 != "%Y%m%d%H%M%S" })
    func readsWhatPythonReads(_ pattern: String) throws {
        let encoding = DateEncoding.pattern(try #require(DatePattern(pattern)))
        var random = SeededRandom(11)
        var texts: [String] = []
        for _ in 0..<400 {
            let instant = Instant(microseconds: Int64.random(in: 0...4_000_000_000_000_000, using: &random))
            guard case .text(var text) = encoding.value(of: instant) else { continue }
            if Bool.random(using: &random) {
                var characters = Array(text)
                let place = Int.random(in: characters.indices, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: characters.remove(at: place)
                case 1: characters.insert("0", at: place)
                case 2: characters[place] = "3"
                default: characters.swapAt(place, 0)
                }
                text = String(characters)
            }
            texts.append(text)
        }
        let script = """
            import datetime, sys
            for line in sys.stdin.read().split("\\n")[:-1]:
                try:
                    found = datetime.datetime.strptime(line, sys.argv[1])
                    found = found if found.tzinfo else found.replace(tzinfo=datetime.timezone.utc)
                    print((found - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1))
                except (ValueError, OverflowError):
                    print("-")
            """
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", script, pattern]
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(texts.map { $0 + "\n" }.joined().utf8))
        try input.fileHandleForWriting.close()
        let judged = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).split(
            separator: "\n")
        process.waitUntilExit()
        try #require(judged.count == texts.count)
        for (text, judge) in zip(texts, judged) {
            let own = encoding.instant(of: .text(text)).map { "\($0.microseconds)" } ?? "-"
            // A leap second; another offset beside UTC; a year before 1.
            if own != "-", judge == "-", text.contains(":60") || text.contains("0000") { continue }
            if own == "-", pattern.contains("%Z") { continue }
            if own != "-", judge == "-", text.contains(/\.\d{7}/) { continue }
            #expect(own == judge, "\(text)")
        }
        #expect(judged.contains("-") && judged.contains { $0 != "-" })
    }
}
