import Foundation
import PriceObjects
import PriceStore
import SQLiteStore
import TestSupport
import Testing

/// The program and a store that keeps its history.
@Suite(.tags(.clock)) struct HistoryTests {
    private static let day: Int64 = 86_400

    /// A store of 40 expired prices and 3 fresh ones, each with a quote, that keeps its history.
    private func job(_ rules: String...) throws -> (job: LaunchedJob, writer: SQLiteWriter) {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(40, daysAgo: 100) + Sample.rows(3, daysAgo: 0)
                + """
                CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price ON DELETE CASCADE);
                CREATE INDEX Quote_price ON Quote(price);
                INSERT INTO Quote SELECT id + 1000, id FROM Price;
                """,
            policy: Sample.policy(rules.isEmpty ? Sample.rule() : rules.joined(separator: "\n  - ")))
        let writer = try SQLiteWriter(path: job.path("prices.sqlite"))
        try writer.keepHistory()
        return (job, writer)
    }

    private static let historyRule = Sample.rule(
        "allow_empty: true", name: "history", entity: "retention_transaction", format: "unix_microseconds", age: "90d")

    @Test func aContextLearnsFromTheHistoryWhatTheJobDeleted() throws {
        let (job, writer) = try job()
        let context = StoreContext(writer)
        let token = try context.currentHistoryToken()
        let prices = try context.fetch(StoreFetchRequest(entity: "Price"))
        let quotes = try context.fetch(StoreFetchRequest(entity: "Quote"))
        let before = Int64(Date().timeIntervalSince1970)
        #expect(try job.report().totals.deleted == 40)
        let after = Int64(Date().timeIntervalSince1970)
        #expect(prices.allSatisfy { !$0.isDeleted })

        let history = try context.history(after: token)
        try StoreContext.merge(history: history, into: [context])

        #expect(prices.map(\.isDeleted) == Array(repeating: true, count: 40) + [false, false, false])
        #expect(quotes.map(\.isDeleted) == Array(repeating: true, count: 40) + [false, false, false])
        #expect(Set(history.map(\.author)) == ["retention"])
        for transaction in history {
            #expect((before...after).contains(transaction.instant.microseconds / 1_000_000))
            #expect(transaction.changes.allSatisfy { $0.kind == .delete })
        }
        #expect(try prices[41].value(for: "symbol", as: String.self) == "XAUUSD")
    }

    @Test func aRuleDeletesOldHistoryWithItsChanges() throws {
        let (job, writer) = try job(Sample.rule(), Self.historyRule)
        let now = Int64(Date().timeIntervalSince1970)
        for daysAgo in [200, 100, 89] as [Int64] {
            writer.clock = { Instant(unixSeconds: now - daysAgo * Self.day) }
            _ = try writer.execute(
                BatchInsertRequest(entity: "Quote", objects: [["price": .null], ["price": .null]]))
        }
        let (early, late) = (
            try writer.history(after: nil, limit: 1)[0].token, try writer.history(after: nil, limit: 2)[1].token
        )
        let dryRun = try job.report("--dry-run")
        #expect(dryRun.rules.map(\.deleted) == [0, 0] && dryRun.rules.map(\.expired) == [40, 2])
        #expect(dryRun.rules.map(\.cascaded) == [40, 4])

        let report = try job.report()

        #expect(report.exitCode == 0, "\(report)")
        #expect(report.rules.map(\.deleted) == [40, 2])
        #expect(report.rules.map(\.cascaded) == [40, 4])
        #expect(try job.rows("SELECT DISTINCT author FROM retention_transaction WHERE number > 3") == ["retention"])
        // The deletes of history are not in the history.
        #expect(try job.rows("SELECT DISTINCT entity FROM retention_change ORDER BY 1") == ["Price", "Quote"])
        #expect(try job.number("SELECT min(number) FROM retention_transaction") == 3)
        #expect(try job.number("SELECT count(*) FROM retention_change WHERE number < 3") == 0)
        #expect(try writer.history(after: late, limit: 1).map(\.token.transactionNumber) == [3])
        #expect { try writer.history(after: early, limit: 1) } throws: {
            ($0 as? StoreError)?.kind == .historyMissing
        }
    }

    @Test(arguments: ["DELETE", "WAL"]) func aDryRunWritesNoHistory(journal: String) throws {
        let (job, writer) = try job(Sample.rule(), Self.historyRule)
        writer.clock = { Instant(unixSeconds: 1_700_000_000) }
        _ = try writer.insertObject(entity: "Quote", values: [:])
        try job.change("PRAGMA journal_mode = \(journal)")
        try job.folder.write("symbol,at\nXAUUSD,\(Sample.date(1))\n", to: "new/a.csv")
        try job.folder.write(
            Sample.policy(
                Sample.rule(), Self.historyRule, head: "pending: [ { files: 'new/*.csv', entity: Price } ]"),
            to: "retention.yaml")
        let store = URL(filePath: job.path("prices.sqlite"))
        let wal = URL(filePath: job.path("prices.sqlite-wal"))
        let before = (try Data(contentsOf: store), try? Data(contentsOf: wal))
        let report = try job.report("--dry-run")
        #expect(report.exitCode == 0 && report.pending.saved == 1, "\(report)")
        #expect(report.rules.map(\.expired) == [40, 1], "\(report)")
        #expect(try Data(contentsOf: store) == before.0)
        #expect((try? Data(contentsOf: wal)) ?? Data() == before.1 ?? Data())
    }

    @Test func pendingRowsAreInTheHistory() throws {
        let (job, writer) = try job(Sample.rule())
        try job.folder.write("symbol,at\nXAUUSD,\(Sample.date(1))\n", to: "new/a.csv")
        try job.folder.write(
            Sample.policy(Sample.rule(), head: "pending: [ { files: 'new/*.csv', entity: Price } ]"),
            to: "retention.yaml")
        #expect(try job.report().pending.saved == 1)
        let changes = try writer.history(after: nil, limit: 100).flatMap(\.changes)
        #expect(changes.count { $0.objectID.entity == "Price" && $0.kind == .insert } == 1)
        #expect(changes.count { $0.objectID.entity == "Price" && $0.kind == .delete } == 40)
    }
}
