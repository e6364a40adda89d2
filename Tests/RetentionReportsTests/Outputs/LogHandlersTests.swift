import Foundation
import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports
import Testing

struct LogHandlersTests {
    private final class Lines: Sendable {
        private let records = LockedValue<[String]>([])
        var all: [String] { records.withLock { $0 } }
        var sink: LogSink {
            LogSink { bytes in
                self.records.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
                return true
            }
        }
    }

    private let clock: @Sendable () -> Instant = { Instant(microseconds: 1_795_244_155_123_456) }

    private func text(_ lines: Lines, level: Logger.Level = .info) -> Logger {
        Logger(label: "retention") { _ in LineLogHandler(.text, sink: lines.sink, level: level, clock: clock) }
    }

    private func json(_ lines: Lines) -> Logger {
        Logger(label: "retention") { _ in LineLogHandler(.json, sink: lines.sink, level: .info, clock: clock) }
    }

    private static let hostile: Logger.Metadata = [
        "rule": "a b=\"c\"\nsecond line", "entity": "\u{1B}[2J\u{202E}\u{2028}", "e\nvil": "", "deleted": .init(12),
    ]

    @Test func textRecordReadsAsTheManualSays() {
        let lines = Lines()
        text(lines).info(
            "rule finished",
            metadata: ["deleted": "12", "rule": "yahoo-gold", "seconds": "0.5", "entity": "Price Point", "zz": "1"])
        #expect(
            lines.all == [
                "2026-11-21T06:55:55Z info rule finished rule=yahoo-gold entity=\"Price Point\" deleted=12 seconds=0.5 zz=1\n"
            ])
    }

    @Test func everyTextRecordIsOneLine() throws {
        let lines = Lines()
        text(lines).warning("bad\r\nmessage \u{85}", metadata: Self.hostile)
        let record = try #require(lines.all.first)
        #expect(lines.all.count == 1)
        let controls = record.unicodeScalars.filter {
            [.control, .format, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
        }
        #expect(controls.map(\.value) == [10])
        #expect(record.hasSuffix("\n") && record.contains(#"rule="a b=\"c\"\nsecond line""#))
    }

    @Test func everyJSONRecordIsOneObjectOnOneLine() throws {
        let lines = Lines()
        json(lines).error("bad\nmessage", metadata: Self.hostile.merging(["time": "x"]) { $1 })
        let record = try #require(lines.all.first)
        #expect(record.filter { $0.isNewline }.count == 1 && record.hasSuffix("\n"))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(record.utf8)) as? [String: Any])
        #expect(object["time"] as? String == "2026-11-21T06:55:55.123Z" && object["time_"] as? String == "x")
        #expect(object["level"] as? String == "error" && object["message"] as? String == "bad\nmessage")
        #expect(object["deleted"] as? Int == 12)
        #expect(object["rule"] as? String == "a b=\"c\"\nsecond line")
        #expect(record.hasPrefix(#"{"time":"#))
    }

    /// What is a number decides who logs it, not its name or its text.
    @Test func aNumberIsANumberAndATextATextInJSON() throws {
        let lines = Lines()
        json(lines).info(
            "m",
            metadata: ["late": .init(7), "seconds": .init(Duration.milliseconds(1500)), "deleted": "012", "file": "12"])
        let record = try #require(lines.all.first)
        #expect(record.contains(#""late":7"#) && record.contains(#""seconds":1.5"#), "\(record)")
        #expect(record.contains(#""deleted":"012""#) && record.contains(#""file":"12""#), "\(record)")
    }

    @Test func recordsBelowTheLevelAreNotWritten() {
        let lines = Lines()
        text(lines, level: .warning).info("quiet")
        #expect(lines.all.isEmpty)
    }

    @Test func fileIsAppendedToAndPrivateToOwnerAndGroup() throws {
        let folder = try FileManager.default.url(
            for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: URL(fileURLWithPath: "/tmp/x"),
            create: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("retention.log").path
        let line = "2026-11-27T00:00:00Z one\n"
        for _ in 1...2 { try LogSink.file(path: path).record(line) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == line + line)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(try #require(mode) & 0o037 == 0)
        #expect(throws: StoreError.self) { try LogSink.file(path: folder.path + "/no/such/folder/log") }
        #expect { try LogSink.file(path: folder.path) } throws: { ($0 as? StoreError)?.kind == .cannotCreate }
    }
}
