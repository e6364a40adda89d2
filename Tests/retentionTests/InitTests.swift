import CoreDataSamples
import Foundation
@preconcurrency import Glibc
import PriceStore
import RetentionPolicy
import TestSupport
import Testing

/// `retention init`, launched: what it writes passes `check` once ages are given.
@Suite(.tags(.clock)) struct InitTests {
    /// Writes the draft as the policy, with an age for each rule, enabled, and checks it.
    private func check(_ draft: String, in folder: TemporaryFolder) throws -> LaunchedProgram.Ending {
        let policy = draft.replacing("max_age:   ", with: "max_age: 30d").replacing(
            "enabled: false", with: "enabled: true")
        try folder.write(policy, to: "retention.yaml")
        mkdir(folder.url.appending(path: "archive").path, 0o700)
        return try LaunchedProgram.perform(["check"], in: folder.url)
    }

    private func draft(_ job: LaunchedJob, _ arguments: String...) throws -> String {
        let end = try job.perform(["init", "prices.sqlite"] + arguments)
        #expect(end.status == 0 && end.errors.isEmpty, "\(end)")
        return end.output
    }

    /// Tables as others have them, and the date by which a rule is proposed; nil: none is.
    @Test(arguments: [
        (
            "created_at INTEGER, modified_at INTEGER, expires_at INTEGER", "now - n * 9, now - n, now - n * 3",
            "expires_at"
        ),
        ("start_date TEXT, expiry_date TEXT", "day, date(day, '+40 days')", "expiry_date"),
        (
            "lock_time INTEGER, lock_end_time INTEGER, updated_at INTEGER", "now - n * 86400, now - n * 86399, now - n",
            "lock_end_time"
        ),
        (
            "created_at INTEGER, lock_time INTEGER, lock_end_time INTEGER", "now - n * 86400, now - n, now - n * 86399",
            "lock_end_time"
        ),
        ("created_at INTEGER, trial_until TEXT", "now - n * 86400, CASE WHEN n > 70 THEN day END", "created_at"),
        ("OrderDate TEXT, RequiredDate TEXT, ShippedDate TEXT", "day, day, day", "OrderDate"),
        ("birth_date TEXT, hire_date TEXT, registered_on TEXT", "day, day, day", "registered_on"),
        ("creation_utc INTEGER, last_access_utc INTEGER", "(now + 11644473600 - n) * 1000000, now", "creation_utc"),
        ("received_ts INTEGER, seen_ts INTEGER", "(now - n * 60) * 1000, now - n", "received_ts"),
        ("mtime INTEGER, ctime INTEGER", "now - n, now - n * 100", "ctime"),
        ("first_time INTEGER, indexed_time INTEGER", "now - n, now - n", "indexed_time"),
        ("created_at INTEGER, bar_time INTEGER, imported_at INTEGER", "now, now - n * 60, now", "bar_time"),
        ("imported_at INTEGER, settlement_date TEXT", "now - n, day", "settlement_date"),
        ("open_date TEXT, close_date TEXT", "day, CASE WHEN n > 2 THEN day END", "close_date"),
        ("open_date TEXT, close_date TEXT", "day, NULL", nil),
        ("open_date TEXT, close_date TEXT, load_time TEXT", "day, CASE WHEN n > 70 THEN day END, day", "close_date"),
        ("open_date TEXT, close_date TEXT, trade_date TEXT", "day, CASE WHEN n > 70 THEN day END, day", "close_date"),
        ("open_date TEXT, close_date TEXT, event_time TEXT", "day, CASE WHEN n > 2 THEN day END, day", "close_date"),
        (
            "open_date TEXT, close_date TEXT, settlement_date TEXT", "day, CASE WHEN n > 70 THEN day END, day",
            "close_date"
        ),
        ("open_date TEXT, close_date TEXT, download_time TEXT", "day, NULL, day", nil),
        ("created_at TEXT, closed_at TEXT, imported_at TEXT", "day, CASE WHEN n > 70 THEN day END, day", "closed_at"),
        ("opening_time INTEGER, closing_time INTEGER", "now - n * 60, now - n * 60", "closing_time"),
        ("begun_at INTEGER, ended_at INTEGER", "now - n * 60, now - n * 60", "ended_at"),
        ("lock_time INTEGER, unlock_time INTEGER", "now - n * 60, now - n * 60", "unlock_time"),
        ("valuation_time INTEGER, load_time INTEGER", "now - n * 60, now - n", "valuation_time"),
        ("trade_date TEXT, settlement_date TEXT, loaded_at TEXT", "day, day, day", "trade_date"),
        ("quote_date TEXT, expiration TEXT, created_at TEXT", "day, date(day, '+300 days'), day", "quote_date"),
        ("created_at TEXT, closed_at TEXT", "day, CASE WHEN n > 70 THEN day END", "closed_at"),
        ("lock_time INTEGER, lock_end_time INTEGER", "now - n * 86400, now - n * 86400 + 9 * 86400", "lock_end_time"),
        ("opentime INTEGER, closetime INTEGER", "now - n * 60, now - n * 60 + 59", "closetime"),
        ("date TEXT, open REAL, close REAL", "day, 20000 + n, 20001 + n", "date"),
        ("valid_from TEXT, valid_to TEXT", "day, CASE WHEN n > 9 THEN day END", "valid_to"),
        ("timestamp INTEGER, end_date TEXT, start_date TEXT", "now - n, day, day", "end_date"),
        ("deleted_at INTEGER, updated_at INTEGER", "NULL, now - n", "updated_at"),
        ("reported_at TEXT, closed_at TEXT", "day, CASE WHEN n > 70 THEN day END", "closed_at"),
        ("starts_at TEXT, ends_at TEXT", "day, date(day, '+40 days')", "ends_at"),
        ("check_in TEXT, check_out TEXT", "day, date(day, '+40 days')", "check_out"),
        ("created_at TEXT, checked_out_at TEXT", "day, CASE WHEN n > 20 THEN day END", "checked_out_at"),
        ("created_at TEXT, revoked_at TEXT", "day, CASE WHEN n > 70 THEN day END", "revoked_at"),
        ("rented_on TEXT, returned_on TEXT", "day, CASE WHEN n > 70 THEN day END", "returned_on"),
        ("created_at TEXT, cancelled_at TEXT", "day, CASE WHEN n > 70 THEN day END", "created_at"),
        ("buy_date TEXT, sell_date TEXT", "day, CASE WHEN n > 70 THEN day END", "sell_date"),
        ("signed_on TEXT, valid_from TEXT, valid_until TEXT", "day, day, date(day, '+40 days')", "valid_until"),
        ("start_date TEXT, end_date TEXT", "day, date(day, '+300 days')", nil),
        ("quote_date TEXT, expiration TEXT", "day, date(day, '+300 days')", "quote_date"),
        ("created_at INTEGER", "NULL", nil), ("session_id INTEGER", "1700000000 + n", nil),
        ("session_id INTEGER", "now - n * 77", nil),
        ("duration INTEGER, run_time INTEGER", "18000 + n * 7, 20000 + n", nil),
        ("insertts INTEGER, expirytime INTEGER", "now - n, now - n", nil),
        ("createtime INTEGER, updatetime INTEGER", "now - n, now - n", "createtime"),
        ("validto TEXT, duedate TEXT, enddate TEXT, birthdt TEXT, bestbefore TEXT", "day, day, day, day, day", nil),
        ("birth_date TEXT", "day", nil), ("expires_at INTEGER", "now - n", nil),
        ("at TEXT", "CASE n % 2 WHEN 0 THEN day ELSE 'x' || n END", nil),
    ])
    func proposesTheDateOnWhichARowWasMade(columns: String, values: String, date: String?) throws {
        let job = try LaunchedJob(
            """
            CREATE TABLE T(\(columns));
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 80),
                d AS (SELECT n, unixepoch() AS now, date('now', '-' || n || ' days') AS day FROM c)
            INSERT INTO T SELECT \(values) FROM d;
            \(columns.contains("indexed_time") ? "CREATE INDEX T_i ON T(indexed_time);" : "")
            CREATE TABLE Other(at INTEGER);
            INSERT INTO Other VALUES (unixepoch());
            """, policy: "")
        let draft = try draft(job)
        let proposed = draft.firstMatch(of: /entity: T\n +date_attribute: (\w+)/).map { String($0.1) }
        #expect(proposed == date, "\(draft)")
        if date == nil { #expect(draft.contains("\n#   T: "), "\(draft)") }
    }

    @Test func theDraftOfRealPricesPassesAndTellsWhichRowsWouldStay() throws {
        let job = try LaunchedJob.gold()
        let draft = try draft(job)
        #expect(draft.contains("  # Gold: 2,322 rows, ") && draft.contains("    date_format: iso8601\n"), "\(draft)")
        #expect(draft.contains("  # 1,656 rows whose date cannot be read would be kept.\n"), "\(draft)")
        let end = try check(draft, in: job.folder)
        #expect(end.status == 0, "\(draft)\n\(end)")
    }

    @Test(.needsRealData("coredata/plaso"), arguments: ["DataUsage.sqlite", "netusage.sqlite"])
    func theDraftOfARealCoreDataStorePasses(name: String) throws {
        let folder = try TemporaryFolder()
        let original = try #require(RealData.more("coredata/plaso/\(name)"))
        try Data(contentsOf: original).write(to: folder.url.appending(path: "prices.sqlite"))
        let made = try LaunchedProgram.perform(["init", "prices.sqlite"], in: folder.url)
        #expect(made.status == 0, "\(made)")
        let end = try check(made.output, in: folder)
        #expect(end.status == 0, "\(made.output)\n\(end)")
        // The model says the formats: none is written down.
        #expect(!made.output.contains("date_format:") && made.output.contains("The store declares the format"))
    }

    @Test func theDraftOfTheProjectsOwnStoresPasses() throws {
        for isCoreData in [false, true] {
            let folder = try TemporaryFolder()
            if isCoreData {
                try GoldObjects(rows: 200).write(to: folder.url.appending(path: "prices.sqlite").path)
            } else {
                #expect(
                    try LaunchedProgram.run("goldprices", ["prices.sqlite", "--rows", "200"], in: folder.url).status
                        == 0)
            }
            let made = try LaunchedProgram.perform(["init", "prices.sqlite"], in: folder.url)
            #expect(made.status == 0, "\(made)")
            let end = try check(made.output, in: folder)
            #expect(end.status == 0, "\(made.output)\n\(end)")
        }
    }
}
