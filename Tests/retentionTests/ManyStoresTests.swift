import Foundation
import GRDB
@preconcurrency import Glibc
import Testing

/// A policy with a pattern of files, beside a lock and a kill. What the commands print otherwise is in the cases `stores-*`.
struct ManyStoresTests {
    private static let policy = """
        version: 1
        store: { files: "data/**/*.sqlite", busy_timeout: 100ms }
        rules:
          - { name: prices, entity: Price, date_attribute: at, date_format: unix_seconds, max_age: 30d }

        """

    /// A folder with stores of ten expired rows and one other; each path is below `data`.
    private func job(_ stores: [String]) throws -> LaunchedJob {
        let job = try LaunchedJob("CREATE TABLE other(i)", policy: Self.policy)
        for store in stores { try add(store, to: job) }
        return job
    }

    private func add(_ store: String, to job: LaunchedJob) throws {
        let folder = URL(filePath: job.path("data/\(store)")).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try job.change(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(1, daysAgo: 0), in: "data/\(store)")
    }

    private func count(_ store: String, _ job: LaunchedJob) throws -> Int {
        try job.number("SELECT count(*) FROM Price", in: "data/\(store)")
    }

    /// The next run does the work of a locked store, but not that of a damaged one. Neither stops another store.
    @Test func aLockedStoreDoesNotHideADamagedOne() throws {
        let job = try job(["1.sqlite", "2.sqlite"])
        #expect(try job.retention("run").status == 0)
        try job.folder.write(String(repeating: "no database ", count: 100), to: "data/1.sqlite")
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: job.path("data/2.sqlite"), configuration: configuration)
        try other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        try add("3.sqlite", to: job)
        let (text, json) = try (job.launch(["run"]), job.launch(["run", "--format", "json"]))
        try other.close()
        #expect(
            text.status == 74 && text.output.contains("1 completed, 2 failed; deleted 10 rows (exit 74)."), "\(text)")
        // Each has the ID of its record.
        let reports = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]])
        #expect(try Set(job.log().suffix(3).map(\.run)) == Set(reports.compactMap { $0["run"] as? String }), "\(json)")
    }

    /// What was deleted before a kill is recorded, and the ledger is whole.
    @Test func aKillLosesNoRecordOfWhatWasDeleted() throws {
        let job = try job(["a.sqlite", "b.sqlite", "c.sqlite", "d.sqlite"])
        try job.folder.write(
            try job.text("retention.yaml").replacing("100ms", with: "60s"), to: "retention.yaml")
        try job.change("DELETE FROM Price WHERE at < strftime('%s', 'now', '-9 days')", in: "data/a.sqlite")
        try job.change("DELETE FROM Price WHERE at < strftime('%s', 'now', '-9 days')", in: "data/c.sqlite")
        let other = try DatabaseQueue(path: job.path("data/d.sqlite"), configuration: .init())
        let end = try other.inDatabase { db in
            try db.execute(sql: "BEGIN EXCLUSIVE")
            defer { try? db.execute(sql: "ROLLBACK") }
            return try LaunchedProgram.shell(
                "retention run & p=$!; until grep -qs $p data/d.sqlite.retention-lock; do sleep 0.1; done; sleep 0.5; kill -9 $p",
                in: job.folder.url)
        }
        #expect(end.status == 0, "\(end)")
        #expect(try count("b.sqlite", job) == 1)
        let runs = try job.log()
        #expect(runs.map { $0.store.suffix(8) } == ["a.sqlite", "b.sqlite"])
        #expect(runs.allSatisfy { $0.outcome == "completed" })
        #expect(try job.retention("log", "--verify").status == 0)
        let next = try job.retention("run")
        #expect(next.status == 0 && next.output.contains("4 completed; deleted 10 rows"), "\(next)")
        #expect(try job.retention("log", "--verify").output.contains("intact: 6 runs"))
    }
}
