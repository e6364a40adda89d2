import Foundation
import PriceStore
import Testing

@testable import RetentionPolicy

struct PolicyFileTests {
    private func everything() throws -> Policy {
        try PolicyFile.read(path: PolicyFixtures.folder.appendingPathComponent("everything.good.yaml").path)
    }

    @Test(arguments: PolicyFixtures.names(".good.yaml"))
    func readsGoodFiles(name: String) throws {
        let policy = try PolicyFile.read(path: PolicyFixtures.folder.appendingPathComponent(name).path)
        #expect(!policy.rules.isEmpty)
        #expect(policy.file.sha256.count == 64)
    }

    @Test func readsTheKeysOfTheFile() throws {
        let policy = try everything()
        #expect(policy.store.kind == .file("/var/lib/prices/prices.sqlite"))
        #expect(policy.store.busyTimeout == .milliseconds(250))
        #expect(policy.store.model == PolicyFixtures.folder.path + "/Prices.momd")
        #expect(policy.timezone.identifier == "Europe/Berlin")
        #expect(policy.ledger == .path(PolicyFixtures.folder.path + "/ledger/ledger.sqlite"))
        #expect(
            policy.log
                == Policy.LogSettings(
                    file: PolicyFixtures.folder.path + "/retention.log", format: .json, level: .warning))
        #expect(policy.maxRuntime == .seconds(5400))
        #expect(policy.ledgerKeep?.months == 60 && policy.expectedEvery?.days == 1)
        #expect(policy.metricsFile == PolicyFixtures.folder.path + "/retention.prom")
        #expect(policy.onFailure == ["mail", "-s", "it's retention", "5", "5"])
        #expect(policy.onSuccess == [PolicyFixtures.folder.path + "/bin/told"])
    }

    @Test func readsHolds() throws {
        let holds = try everything().holds
        try #require(holds.count == 2)
        #expect(holds[0].name == "tax-audit-2024" && holds[0].entity == "YahooGoldPricePoint")
        #expect(
            holds[0].filter
                == .and([
                    .compare("symbol", .equal, .text("XAUUSD")), .compare("volume", .greaterOrEqual, .integer(1)),
                    .compare("volume", .less, .integer(5)), .isNotNull("note"),
                ]))
        #expect(holds[0].from?.rfc3339 == "2023-12-31T23:00:00Z" && holds[0].until?.rfc3339 == "2025-01-01T06:00:00Z")
        #expect(holds[0].expires?.rfc3339 == "2026-12-31T23:00:00Z")
        #expect(holds[0].reason == "tax audit, requested by the accountant")
        #expect(holds[1].filter == .all && holds[1].from == nil && holds[1].until == nil && holds[1].expires == nil)
    }

    /// The ledger keeps what a hold covers as a line, of which the next run makes the hold again.
    @Test func aHoldIsMadeAgainOfItsLine() throws {
        for hold in try everything().holds {
            let again = try #require(Hold(record: hold.record), "\(hold.record)")
            #expect(
                again.canonical == hold.canonical && again.expires == hold.expires && again.from == hold.from
                    && again.until == hold.until)
            #expect(again.name == hold.name && again.entity == hold.entity && again.reason.isEmpty)
        }
        var odd = Hold(
            name: "a", entity: "b \"c\\\n\u{85}\u{2028}ü", reason: "", marks: Marks(whole: Mark(line: 1, column: 1)))
        odd.filter = .and([
            .isIn("x: [1]", [.text("5"), .integer(5), .real(2.5), .text("no")]), .isNull("#"),
            .compare("y", .notEqual, .real(-0.125)),
        ])
        let again = try #require(Hold(record: odd.record), "\(odd.record)")
        #expect(again.canonical == odd.canonical && again.entity == odd.entity)
        #expect(!odd.canonical.contains("\n") && Hold(record: "") == nil && Hold(record: "{}") == nil)
    }

    @Test func theLedgerKeepsTwoYearsByDefault() throws {
        func keep(_ ledger: String) throws -> MaxAge? {
            let text =
                "version: 1\nstore: a.sqlite\n\(ledger)\nrules: [{ name: a, entity: A, date_attribute: b, max_age: 1d }]\n"
            return try PolicyFile.policy(bytes: Array(text.utf8), path: "retention.yaml", baseFolder: "/").ledgerKeep
        }
        #expect(try keep("")?.written == "2y" && keep("ledger: h.sqlite")?.months == 24)
        #expect(try keep("ledger: { keep: forever }") == nil && keep("ledger: { keep: 90d }")?.days == 90)
    }

    @Test func readsTheArchive() throws {
        let policy = try everything()
        #expect(policy.archive?.folder == PolicyFixtures.folder.path + "/archive" && policy.archive?.keep?.days == 90)
        #expect(policy.rules.map(\.isArchived) == [false, true, false, false])
        func archive(_ text: String) throws -> ArchiveSettings? {
            try PolicyFixtures.read(PolicyFixtures.text(top: text)).archive
        }
        #expect(try archive("archive: { folder: a }")?.keep?.written == "30d")
        #expect(
            try archive("archive: { folder: /a, keep: forever }").map { $0.folder == "/a" && $0.keep == nil } == true)
        #expect(try archive("") == nil)
    }

    @Test func aRuleIsArchivedOnlyIfThereIsAnArchive() throws {
        #expect(
            try !PolicyFixtures.rule("enabled: true").isArchived && !PolicyFixtures.rule("archive: none").isArchived)
        let text = PolicyFixtures.text(top: "archive: { folder: a }\ndefaults: { archive: none }")
        #expect(try PolicyFixtures.read(text).rules.map(\.isArchived) == [false])
    }

    @Test(.enabled(if: PolicyKey.noPostgreSQL == nil, "built without the trait Postgres"))
    func eachKindOfStoreHasItsPlaceForArchives() throws {
        func mistakes(_ store: String, _ archive: String) -> [String] {
            let text = PolicyFixtures.text(top: "archive: \(archive)").replacing("prices.sqlite", with: store)
            return PolicyFixtures.mistakes(text).map(\.message)
        }
        let server = "postgresql:///prices"
        #expect(mistakes(server, "{ schema: retention_archive }") == [])
        #expect(mistakes(server, "{ folder: a }").first?.contains("'folder' is for SQLite files") == true)
        #expect(mistakes("a.sqlite", "{ schema: a }").first?.contains("'schema' is for PostgreSQL databases") == true)
        #expect(mistakes(server, "{ keep: 1d }").first?.contains("required key 'schema' is missing") == true)
        #expect(mistakes("a.sqlite", "{ folder: a, schema: b }").first?.contains("name two places") == true)
    }

    @Test func readsPendingFiles() throws {
        let pending = try everything().pending
        try #require(pending.count == 2)
        #expect(pending[0].files == "pending/*.csv")
        #expect(pending[0].baseFolder == PolicyFixtures.folder.path)
        #expect(pending[0].columns == ["Date": "updateTime", "Price": "price"])
        #expect(
            pending[0].constants == [
                "symbol": .text("XAUUSD"), "source": .integer(7), "scale": .real(0.5), "checked": .integer(1),
            ])
        #expect(pending[0].onConflict == .ignore)
        #expect(pending[0].marks.value("columns.Date") == Mark(line: 10, column: 22, length: 10))
        #expect(pending[0].marks.key("constants.source") == Mark(line: 11, column: 34, length: 6))
        #expect(pending[0].marks.value("entity") == Mark(line: 9, column: 13, length: 19))
        #expect(pending[1].columns.isEmpty && pending[1].constants.isEmpty)
        #expect(pending[1].onConflict == .fail)
    }

    @Test func readsTheKeysOfARule() throws {
        let rule = try everything().rules[0]
        #expect(try rule.column == nil && everything().rules[1].column == "ZAT1")
        #expect(rule.name == "yahoo-gold" && rule.entity == "YahooGoldPricePoint")
        #expect(rule.dateAttribute == "updateTime" && rule.dateFormat == .unixSeconds)
        #expect(rule.maxAge.months == 18 && rule.maxAge.written == "1y6mo")
        #expect(
            rule.filter
                == .and([
                    .isIn("symbol", [.text("XAUUSD"), .text("XAUEUR"), .integer(5), .real(1.5)]),
                    .compare("volume", .greaterOrEqual, .integer(1)), .compare("volume", .less, .integer(5)),
                    .isNull("note"), .compare("source", .notEqual, .text("7")), .isNotNull("source"),
                    .compare("kind", .equal, .integer(1)),
                ]))
        #expect(rule.keepLast == Rule.KeepLastSetting(count: 3, per: ["symbol"]))
        let thin = try #require(rule.thin)
        #expect(thin.per == ["symbol"] && thin.pick == .first)
        #expect(thin.tiers.map(\.unit) == [.hour, .day, .week, .month, .quarter, .year])
        #expect(thin.tiers.map { $0.age?.written } == ["2y", "3y", "5y", "4y", "10y", nil])
        // 1833 is before standard time: Berlin's local mean time, 53 min 28 s east.
        #expect(rule.earliest == Instant(iso8601: "1832-12-31T23:06:32Z"))
        #expect(rule.latest == Instant(iso8601: "2100-01-01T00:00:00Z"))
        #expect(rule.align == .day && rule.relationships == .deny && rule.allowEmpty)
        #expect(rule.limits == Rule.Limits(maxRows: 10, maxFraction: 1))
        #expect(rule.accept == [.wouldEmptyEntity, .wrongUnit])
        #expect(rule.batch.rows == 5000 && rule.reclaim == .incremental)
        #expect(!rule.isEnabled)
    }

    @Test func readsWhatRowsBecome() throws {
        let rules = try everything().rules
        let newYork = try #require(CalendarZone(identifier: "America/New_York"))
        func buckets(_ length: CandleBuckets.Length) -> CandleBuckets {
            CandleBuckets(length, zone: newYork, sessionStart: 61_200)
        }
        var quotes = Rule.RollupSetting(target: "bar", buckets: buckets(.minutes(15)), per: ["symbol"])
        (quotes.price, quotes.volume, quotes.allowsNonPositive) = ("bid", "size", true)
        quotes.names = CandleNames(["open": "o", "symbol": "instrument"])
        #expect(rules[2].rollup == quotes && !quotes.isFromCandles && rules[1].rollup == nil)
        // Groups and names are those of the candles.
        var bars = Rule.RollupSetting(target: "bar_1d", buckets: buckets(.unit(.day)), per: ["instrument"])
        bars.sourceNames = quotes.names
        #expect(rules[3].rollup == bars && bars.isFromCandles)
    }

    @Test func theSessionOfCandlesIsADayOfThePolicyByDefault() throws {
        let text = PolicyFixtures.text(
            top: "timezone: Europe/Berlin", rule: ["rollup: { into: a, every: 1w, price: b }"])
        let rollup = try #require(try PolicyFixtures.read(text).rules[0].rollup)
        #expect(
            rollup.buckets.zone.identifier == "Europe/Berlin" && rollup.buckets.sessionStart == 0 && rollup.per.isEmpty)
        #expect(rollup.volume == nil && !rollup.allowsNonPositive && rollup.names == CandleNames())
    }

    static let lengths: [(String, CandleBuckets.Length)] = [
        ("1min", .minutes(1)), ("90min", .minutes(90)), ("4h", .minutes(240)), ("24h", .unit(.day)),
        ("7d", .unit(.week)), ("1w", .unit(.week)), ("1mo", .unit(.month)), ("3mo", .unit(.quarter)),
        ("12mo", .unit(.year)),
    ]

    @Test(arguments: lengths)
    func candlesAreOfTheseLengths(_ written: String, _ length: CandleBuckets.Length) throws {
        let rule = try PolicyFixtures.rule("rollup: { into: a, every: \(written), price: b }")
        #expect(rule.rollup?.buckets.length == length)
        let again = try PolicyFixtures.rule("rollup: { into: a, every: \(length.written), price: b }")
        #expect(again.rollup?.buckets.length == length)
    }

    @Test(arguments: ["1s", "59s", "7min", "25h", "2d", "2w", "2mo", "2y", "1d1h", "1mo1d"])
    func otherLengthsAreRefused(_ written: String) {
        let text = PolicyFixtures.text(rule: ["rollup: { into: a, every: \(written), price: b }"])
        #expect(PolicyFixtures.mistakes(text).map { $0.message.contains("'every' must be") } == [true])
    }

    /// Two lengths with their sessions, and whether candles of the second can be made of those of the first.
    struct Pair: Sendable, CustomTestStringConvertible {
        typealias Candles = (every: String, zone: String, start: String)
        let short, long: Candles
        let fits: Bool
        var testDescription: String { "\(short) \(long)" }

        init(_ short: Candles, _ long: Candles, _ fits: Bool) {
            (self.short, self.long, self.fits) = (short, long, fits)
        }
    }

    static let pairs: [Pair] = [
        Pair(("1min", "Europe/Berlin", "00:00"), ("1d", "America/New_York", "17:00"), true),
        Pair(("1h", "UTC", "00:00"), ("1d", "America/New_York", "17:00"), true),
        Pair(("1h", "UTC", "00:00"), ("1d", "Asia/Kathmandu", "00:00"), false),
        Pair(("15min", "UTC", "00:00"), ("1d", "Asia/Kathmandu", "00:00"), true),
        Pair(("30min", "UTC", "00:00"), ("4h", "Asia/Kathmandu", "00:00"), false),
        Pair(("1h", "UTC", "00:00"), ("1d", "Australia/Lord_Howe", "00:00"), false),
        // Clocks there were at half hours from 2007 to 2016.
        Pair(("1h", "UTC", "00:00"), ("1d", "America/Caracas", "00:00"), false),
        Pair(("4h", "UTC", "00:00"), ("1d", "UTC", "17:00"), false),
        Pair(("1d", "UTC", "00:00"), ("1w", "UTC", "17:00"), false),
        Pair(("1d", "UTC", "00:00"), ("1y", "UTC", "00:00"), true),
        Pair(("3mo", "UTC", "00:00"), ("1y", "UTC", "00:00"), true),
        Pair(("1w", "UTC", "00:00"), ("1y", "UTC", "00:00"), false),
        Pair(("1d", "UTC", "00:00"), ("4h", "UTC", "00:00"), false),
        Pair(("1h", "UTC", "00:00"), ("90min", "UTC", "00:00"), false),
        Pair(("1h", "UTC", "00:00"), ("1h", "UTC", "00:00"), false),
    ]

    @Test(arguments: pairs) func sessionsMayDifferIfTheyFit(_ pair: Pair) {
        func rule(_ name: String, _ entity: String, _ source: String, _ candles: Pair.Candles) -> String {
            let session = "session: { zone: \(candles.zone), start: \"\(candles.start)\" }"
            return
                "  - { name: \(name), entity: \(entity), date_attribute: time, date_format: unix_seconds, max_age: 1d, "
                + "rollup: { into: \(name), every: \(candles.every), \(source), \(session) } }\n"
        }
        let head = "version: 1\nstore: a.sqlite\nrules:\n"
        let mistakes = PolicyFixtures.mistakes(
            head + rule("short", "tick", "price: p", pair.short) + rule("long", "short", "from: candles", pair.long))
        #expect(mistakes.isEmpty == pair.fits, "\(mistakes)")
    }

    @Test func aRuleInheritsWhatItDoesNotSay() throws {
        let rule = try everything().rules[1]
        #expect(
            rule.filter == .and([.compare("symbol", .equal, .text("XAUUSD")), .compare("kind", .equal, .integer(1))]))
        #expect(rule.keepLast == Rule.KeepLastSetting(count: 1, per: ["symbol"]))
        #expect(rule.limits == Rule.Limits(maxRows: 10, maxFraction: 0.5))
        #expect(rule.batch == .fixed(rows: 1000) && rule.reclaim == .none && rule.align == .month)
        #expect(rule.accept == [.futureDates])
        #expect(rule.maxAge.written == "1y6mo" && rule.isEnabled && rule.dateFormat == nil)
        #expect(rule.marks.value("batch.rows").line == 20)
    }

    /// It has one date and loses only its oldest transactions; an app that nobody uses is no stopped feed.
    @Test func aRuleForTheHistoryOfCoreDataIsCompleteWithAnAge() throws {
        let path = PolicyFixtures.folder.appendingPathComponent("history.good.yaml").path
        let rule = try PolicyFile.read(path: path).rules[0]
        #expect(rule.dateAttribute == "timestamp" && rule.dateFormat == nil && rule.filter == .all)
        #expect(rule.keepLast == Rule.KeepLastSetting(count: 1, per: []))
        #expect(rule.accept == [.feedStopped, .tooManyRows])
        #expect(rule.limits.maxFraction == 0.5)
    }

    @Test func marksSayWhereTheKeysOfARuleStand() throws {
        let marks = try everything().rules[0].marks
        #expect(marks.whole.line == 28 && marks.whole.column == 5)
        #expect(marks.value("entity") == Mark(line: 29, column: 13, length: 19))
        #expect(marks.key("date_attribute") == Mark(line: 30, column: 5, length: 14))
        #expect(marks.value("max_age") == Mark(line: 32, column: 19, length: 5))
        #expect(marks.key("where.symbol") == Mark(line: 34, column: 7, length: 6))
        #expect(marks.value("where.symbol[1]") == Mark(line: 34, column: 24, length: 8))
        #expect(marks.value("where.volume.lt") == Mark(line: 35, column: 28, length: 1))
        #expect(marks.value("keep_last.per[0]") == Mark(line: 23, column: 32, length: 6))
        #expect(marks.value("reclaim") == Mark(line: 48, column: 14, length: 11))
        #expect(marks.value("no such key") == marks.whole)
    }

    @Test func theDefaultsAreTheDocumentedOnes() throws {
        let policy = try PolicyFixtures.read(PolicyFixtures.text())
        #expect(policy.store.kind == .file("/etc/prices/prices.sqlite"))
        #expect(policy.store.written == "prices.sqlite" && policy.store.busyTimeout == .seconds(5))
        #expect(policy.store.model == nil && policy.rules[0].column == nil)
        #expect(policy.timezone == .utc && policy.pending.isEmpty && policy.ledger == .besideStore)
        #expect(policy.log == nil && policy.maxRuntime == nil)
        let rule = policy.rules[0]
        #expect(rule.filter == .all && rule.keepLast == nil && rule.earliest == nil && rule.latest == nil)
        #expect(rule.align == nil && rule.relationships == .asDeclared && !rule.allowEmpty)
        #expect(rule.limits == Rule.Limits() && rule.accept.isEmpty && rule.batch == Rule.BatchSetting())
        #expect(rule.reclaim == .auto && rule.isEnabled && rule.dateFormat == nil)
    }

    @Test func allMistakesAreReportedTogetherSortedByPosition() {
        let text = """
            version: 1
            stroe: prices.sqlite
            timezone: Moon/Crater
            rules:
              - name: A
                max_agee: 30m
                entity:
                date_attribute: at
                batch: { rows: many, size: 8ms }
              - name: b
                name: c
                entity: B
                date_attribute: at
                max_age: 1h30m
            """
        let mistakes = PolicyFixtures.mistakes(text)
        #expect(
            mistakes.map { "\($0.mark.line):\($0.mark.column)" }
                == ["2:1", "3:11", "5:11", "6:5", "7:5", "9:20", "9:26", "11:5", "14:14"])
        #expect(mistakes.last?.message == "'1h30m' is ambiguous: write 1h30min (minutes) or 30mo1h (months)")
    }

    @Test func aMistakeThatAnAliasRepeatsIsReportedOnce() {
        let text = PolicyFixtures.text(
            top: "defaults: { limits: { max_rows: 0 } }\npending: [&p { files: a.txt, entity: A }, *p]")
        #expect(PolicyFixtures.mistakes(text).count == 2)
    }

    @Test func pathsAreRelativeToTheFolderOfTheFile() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("retention.yaml").path
        try Data(PolicyFixtures.text(top: "log: { file: ../retention.log }").utf8).write(
            to: URL(fileURLWithPath: file))
        let policy = try PolicyFile.read(path: file)
        #expect(policy.store.kind == .file(folder.path + "/prices.sqlite"))
        #expect(policy.log?.file == folder.path + "/../retention.log")
        #expect(policy.file.path == file)
    }

    /// Where everything is does not depend on which rows go. What is not certain is not guessed.
    @Test(arguments: [
        ("max_agee: 30d", true), ("keep_last: 5", true), ("name: silver", false), ("ledger: none", true),
    ]) func aPolicyWithAMistakeInARuleIsReadForPastRuns(_ line: String, _ isRead: Bool) throws {
        let text = PolicyFixtures.text(top: "ledger: past.sqlite\narchive: { folder: old }", rule: [line])
        func read(_ text: String) throws(PolicyError) -> Policy {
            try PolicyFile.policy(bytes: Array(text.utf8), path: "r.yaml", baseFolder: "/etc/prices", forPastRuns: true)
        }
        #expect(throws: PolicyError.self) { try PolicyFixtures.read(text) }
        guard isRead else {
            #expect(throws: PolicyError.self) { try read(text) }
            return
        }
        let policy = try read(text + "holds: 5\ndefaults: { limits: 3 }\n")
        #expect(policy.mistakes != nil && policy.ledger == .path("/etc/prices/past.sqlite"))
        #expect(policy.archive?.folder == "/etc/prices/old" && policy.holds.isEmpty)
        #expect(policy.rules.map(\.name) == ["gold"] && policy.rules[0].entity == "Gold")
        // Nothing could be that old.
        #expect(policy.rules[0].maxAge.months == 9999 * 12)
        for other in ["leger: a.sqlite\n", "expected_every: daily\n", "- {\n", "ledger: b.sqlite\n"] {
            #expect(throws: PolicyError.self, "\(other)") { try read(text + other) }
        }
        #expect(try read(PolicyFixtures.text()).mistakes == nil)
    }

    @Test func theHashIsOfTheBytes() throws {
        let policy = try PolicyFixtures.read(PolicyFixtures.text())
        let other = try PolicyFixtures.read(PolicyFixtures.text() + "# \n")
        #expect(policy.file.sha256 != other.file.sha256)
        do throws(PolicyError) {
            _ = try PolicyFixtures.read("abc")
        } catch {
            guard case .invalid(_, let source) = error else { return }
            #expect(source.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        }
    }
}
