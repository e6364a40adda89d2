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

    /// The draft with each comment in one line.
    private func unwrapped(_ draft: String) -> String {
        draft.replacing("\n#     ", with: " ").replacing("\n  #   ", with: " ")
    }

    @Test func theDraftPassesOnceAnAgeIsGiven() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(50, daysAgo: 40)
                + """
                CREATE TABLE Event(id INTEGER PRIMARY KEY, title TEXT, created_at TEXT, Price_id INTEGER REFERENCES Price);
                INSERT INTO Event(title, created_at) VALUES ('a', '2025-01-02T03:04:05Z'), ('b', '2025-02-02');
                CREATE TABLE Setting(name TEXT, value TEXT);
                INSERT INTO Setting VALUES ('a', 'b');
                CREATE VIEW Newest AS SELECT max(at) AS at FROM Price;
                """, policy: "")
        let draft = try draft(job)
        let end = try check(draft, in: job.folder)
        #expect(end.status == 0, "\(draft)\n\(end)")
        let policy = try PolicyFile.read(path: job.path("retention.yaml"))
        #expect(policy.rules.map(\.name) == ["event", "price"], "what refers to others comes before them")
        #expect(policy.rules.map { $0.dateFormat?.rawValue } == ["iso8601", "unix_seconds"])
        #expect(
            draft.contains("#   Newest: a view\n") && draft.contains("#   Setting: no attribute looks like a date\n"))
        #expect(policy.archive?.folder == job.path("archive") && policy.archive?.keep?.written == "30d")
        #expect(policy.log?.file == job.path("retention.log") && policy.expectedEvery?.written == "1d")
        #expect(policy.rules.allSatisfy { $0.limits.maxFraction == 0.5 })
        #expect(draft.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(draft)")
        #expect(draft.contains("  # Event refers to it: a row that it refers to cannot be deleted."), "\(draft)")
    }

    /// The dates can be read, but SQLite cannot delete from a table with an index that it cannot change.
    @Test func anIndexWithoutItsCollationIsTheReason() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(50, daysAgo: 40)
                + "CREATE TABLE Quote AS SELECT * FROM Price; CREATE INDEX odd ON Price(at, symbol, price, id); PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = "
                + "'CREATE INDEX odd ON Price(at, symbol COLLATE nosuch, price, id)' WHERE name = 'odd'", policy: "")
        let draft = try draft(job)
        #expect(
            unwrapped(draft).contains(
                "#   Price: at: SQLite cannot delete from Price: no such collation sequence: nosuch"),
            "\(draft)")
        #expect(!draft.contains("a date that can be read"), "\(draft)")
        let inspected = try job.retention("inspect", "prices.sqlite").output
        #expect(inspected.contains("at: no rule is possible: SQLite cannot delete from Price"), "\(inspected)")
    }

    @Test func asItIsItDeletesNothing() throws {
        let job = try LaunchedJob(Sample.price + Sample.rows(5, daysAgo: 40), policy: "")
        let draft = try draft(job)
        try job.folder.write(draft.replacing("max_age:   ", with: "max_age: 30d"), to: "retention.yaml")
        #expect(try PolicyFile.read(path: job.path("retention.yaml")).rules.map(\.isEnabled) == [false])
        try job.folder.write(draft, to: "retention.yaml")
        let end = try job.retention("run")
        #expect(end.status == 78 && end.errors.contains("'max_age' needs a value; expected an age"), "\(end)")
        #expect(try job.number("SELECT count(*) FROM Price") == 5)
    }

    @Test func tiersAreCommentsThatPassOnceTheyAreNone() throws {
        let job = try LaunchedJob(
            """
            CREATE TABLE Tick(id INTEGER PRIMARY KEY, "pair: a" TEXT, at INTEGER, price REAL, volume INTEGER);
            INSERT INTO Tick(at, price) VALUES (unixepoch() - 5, 1), (unixepoch(), 2);
            CREATE TABLE Note(id INTEGER PRIMARY KEY, text TEXT, created_at TEXT);
            INSERT INTO Note(created_at) VALUES ('2025-01-02T03:04:05Z');
            """, policy: "")
        #expect(try !draft(job).contains("thin:"))
        let draft = try draft(job, "--tiers")
        #expect(draft.split(separator: "# thin: { ").count == 3 && draft.split(separator: "# rollup: { ").count == 2)
        #expect(draft.contains("per: [\"pair: a\"], price: price, volume: volume }"), "\(draft)")
        for example in ["thin", "rollup"] {
            let end = try check(draft.replacing("    # \(example): {", with: "    \(example): {"), in: job.folder)
            #expect(end.status == 0, "\(draft)\n\(end)")
        }
    }

    @Test func namesThatYAMLWouldTakeForSomethingElseAreQuoted() throws {
        let job = try LaunchedJob(
            """
            CREATE TABLE "true"("on" TEXT, "created: at" TEXT);
            INSERT INTO "true" VALUES ('x', '2025-01-02T03:04:05Z');
            CREATE TABLE "a'b ""c"" # {}"("12 date" INTEGER);
            INSERT INTO "a'b ""c"" # {}" VALUES (unixepoch());
            CREATE TABLE "A-B ""C"" # {}"(at INTEGER);
            INSERT INTO "A-B ""C"" # {}" VALUES (unixepoch());
            CREATE TABLE "bad\u{1B}[2J\u{202E}
            line"(at INTEGER);
            INSERT INTO "bad\u{1B}[2J\u{202E}
            line" VALUES (unixepoch());
            """, policy: "")
        let draft = try draft(job)
        #expect(!draft.unicodeScalars.contains("\u{1B}") && !draft.unicodeScalars.contains("\u{202E}"))
        let end = try check(draft, in: job.folder)
        #expect(end.status == 0, "\(draft)\n\(end)")
        let policy = try PolicyFile.read(path: job.path("retention.yaml"))
        #expect(policy.rules.map(\.name) == ["true", "a-b-c", "a-b-c-2", "bad-2-j-line"])
        #expect(
            policy.rules[3].entity == "bad\u{1B}[2J\u{202E}\nline" && policy.rules[0].dateAttribute == "created: at")
    }

    @Test func datesThatLieAheadGetNoRule() throws {
        let job = try LaunchedJob(
            """
            CREATE TABLE Licence(id INTEGER PRIMARY KEY, expires_at INTEGER);
            INSERT INTO Licence(expires_at) SELECT unixepoch() + 86400 * value FROM (SELECT 30 AS value UNION SELECT 90);
            CREATE TABLE Session(id INTEGER PRIMARY KEY, expires_at INTEGER, created_at INTEGER);
            INSERT INTO Session(expires_at, created_at) VALUES (unixepoch() + 8640000, unixepoch() - 100);
            CREATE TABLE Calendar(date TEXT PRIMARY KEY, is_open INTEGER);
            WITH RECURSIVE c(n) AS (SELECT -300 UNION ALL SELECT n + 1 FROM c WHERE n < 300)
            INSERT INTO Calendar SELECT date('now', n || ' days'), 1 FROM c;
            CREATE TABLE Login(at INTEGER);
            INSERT INTO Login VALUES (unixepoch() - 100);
            """, policy: "")
        let draft = try draft(job)
        #expect(
            unwrapped(draft).contains(
                "#   Licence: expires_at: all of its dates are in the future: it says when something ends"),
            "\(draft)")
        #expect(unwrapped(draft).contains("#   Calendar: date: many of its dates are in the future: "), "\(draft)")
        #expect(
            unwrapped(draft).contains(
                "#   Session: expires_at: all of its dates are in the future: it says when something ends, not how old a "
                    + "row is. created_at: expires_at says when it ends, and what has not ended must not expire"),
            "\(draft)")
        #expect(draft.split(separator: "date_attribute: ").count == 2, "\(draft)")
        let seen = try job.retention("inspect", "prices.sqlite")
        #expect(seen.output.contains("all of them are in the"), "\(seen.output)")
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

    /// Tables as others have them, and which of them get a rule.
    @Test func listsAndWhatGoesWithOthersGetNoRule() throws {
        let job = try LaunchedJob(
            """
            CREATE TABLE trade(id INTEGER PRIMARY KEY, open_date INTEGER NOT NULL, close_date INTEGER);
            CREATE TABLE fill(id INTEGER PRIMARY KEY, trade INTEGER NOT NULL REFERENCES trade, at INTEGER);
            CREATE TABLE fee(id INTEGER PRIMARY KEY, fill INTEGER NOT NULL REFERENCES fill ON DELETE CASCADE, at INTEGER);
            CREATE TABLE remark(id INTEGER PRIMARY KEY, fee INTEGER REFERENCES fee ON DELETE SET NULL, at INTEGER);
            CREATE TABLE tick(id INTEGER PRIMARY KEY, pair INTEGER NOT NULL REFERENCES pair, at INTEGER);
            CREATE TABLE pair(id INTEGER PRIMARY KEY, created_at INTEGER);
            CREATE TABLE KeyValueStore(id INTEGER PRIMARY KEY, key TEXT, at INTEGER);
            CREATE TABLE quote_now(symbol TEXT PRIMARY KEY, updated_at INTEGER);
            CREATE TABLE page(uuid TEXT PRIMARY KEY, updated_at INTEGER);
            CREATE TABLE order_book(symbol TEXT, side TEXT, level INTEGER, at INTEGER, PRIMARY KEY(symbol, side, level));
            CREATE TABLE schema_migrations(version TEXT PRIMARY KEY, applied_at INTEGER);
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 40)
            INSERT INTO trade SELECT n, unixepoch() - n * 86400 - 60, unixepoch() - n * 86400 FROM c;
            INSERT INTO fill SELECT id, id, open_date FROM trade;
            INSERT INTO fee SELECT id, id, open_date FROM trade;
            INSERT INTO remark SELECT id, id, open_date FROM trade;
            INSERT INTO pair SELECT n, unixepoch() - n * 8640000 FROM (SELECT 1 AS n UNION SELECT 2);
            INSERT INTO tick SELECT id, id % 2 + 1, open_date FROM trade;
            INSERT INTO KeyValueStore SELECT id, id, open_date FROM trade;
            INSERT INTO quote_now SELECT id, open_date FROM trade;
            INSERT INTO page SELECT id, open_date FROM trade;
            INSERT INTO order_book SELECT 'A' || id, 'bid', id % 5, unixepoch() - id FROM trade;
            INSERT INTO schema_migrations SELECT id, open_date FROM trade;
            CREATE TABLE flyway_schema_history(installed_rank INTEGER PRIMARY KEY, installed_on TEXT);
            INSERT INTO flyway_schema_history SELECT id, date(open_date, 'unixepoch') FROM trade;
            CREATE TABLE last_quote(symbol TEXT PRIMARY KEY, price REAL, ts INTEGER);
            INSERT INTO last_quote SELECT 'S' || id, 1.5, open_date FROM trade;
            CREATE TABLE positions(account TEXT PRIMARY KEY, as_of TEXT);
            INSERT INTO positions SELECT 'A' || id, date(open_date, 'unixepoch') FROM trade;
            CREATE TABLE device(id INTEGER PRIMARY KEY, serial TEXT UNIQUE, installed_at INTEGER, last_seen INTEGER);
            INSERT INTO device SELECT id, 'A' || id, open_date, close_date FROM trade;
            CREATE TABLE portfolio(id INTEGER PRIMARY KEY, name TEXT, created_at INTEGER);
            INSERT INTO portfolio SELECT id, 'A' || id, open_date FROM trade;
            CREATE TABLE action(id INTEGER PRIMARY KEY, name TEXT, created_at INTEGER);
            INSERT INTO action SELECT id, 'A' || id % 30, open_date FROM trade;
            CREATE TABLE news(id INTEGER PRIMARY KEY, url TEXT UNIQUE, published_at INTEGER);
            INSERT INTO news SELECT id, 'A' || id, open_date FROM trade;
            CREATE TABLE price(id INTEGER PRIMARY KEY, symbol TEXT, time INTEGER, UNIQUE(symbol, time));
            INSERT INTO price SELECT id, 'A' || id, open_date FROM trade;
            CREATE TABLE staff(id INTEGER PRIMARY KEY, name TEXT, hired_on TEXT, left_on TEXT);
            INSERT INTO staff SELECT id, 'A' || id, date(open_date, 'unixepoch'),
                iif(id < 9, date(close_date, 'unixepoch'), NULL) FROM trade;
            CREATE TABLE holidays(day TEXT PRIMARY KEY, name TEXT);
            INSERT INTO holidays SELECT date('now', ((id - 20) * 9) || ' days'), 'x' FROM trade;
            """, policy: "")
        let draft = try draft(job)
        let end = try check(draft, in: job.folder)
        #expect(end.status == 0, "\(draft)\n\(end)")
        let policy = try PolicyFile.read(path: job.path("retention.yaml"))
        #expect(
            policy.rules.map(\.entity) == ["trade", "remark", "tick", "page", "action", "news", "price", "staff"],
            "\(draft)")
        #expect(
            policy.rules.map(\.dateAttribute) == [
                "close_date", "at", "at", "updated_at", "created_at", "published_at", "time", "left_on",
            ])
        #expect(policy.rules.map(\.relationships) == [.cascade] + Array(repeating: .asDeclared, count: 7))
        for line in [
            "#   fill: its rows go with those of trade", "#   fee: its rows go with those of fill",
            "#   pair: it is a list to which tick refers", "#   KeyValueStore: its name says",
            "#   quote_now: it has one row for each symbol",
            "#   order_book: it has one row for each symbol, side, level: ", "#   schema_migrations: its name says",
            "#   flyway_schema_history: its name says", "#   last_quote: it has one row for each symbol",
            "#   positions: it has one row for each account: ", "#   device: it has one row for each serial: ",
            "#   portfolio: each of its rows has its own name: ",
            "#   holidays: day: many of its dates are in the future",
            "  # fill refers to it: its rows go with it.",
        ] { #expect(unwrapped(draft).contains(line), "\(line)\n\(draft)") }
        let dry = try job.report("--dry-run")
        #expect(dry.exitCode == 0 && dry.rules[0].cascaded == 2 * (dry.rules[0].expired ?? 0), "\(dry)")
    }

    @Test func anEndThatLiesAheadIsAccepted() throws {
        let job = try LaunchedJob(
            """
            CREATE TABLE lock(id INTEGER PRIMARY KEY, lock_time INTEGER, lock_end_time INTEGER);
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 40)
            INSERT INTO lock SELECT n, unixepoch() - n * 86400, unixepoch() - n * 86400 + 5 * 86400 FROM c;
            """, policy: "")
        let draft = try draft(job)
        #expect(draft.contains("    accept: [future_dates]"), "\(draft)")
        let end = try check(draft, in: job.folder)
        #expect(end.status == 0, "\(draft)\n\(end)")
    }

    @Test func aDateOfWhichSomeLieAheadIsAccepted() throws {
        let job = try LaunchedJob(
            """
            CREATE TABLE dividend(id INTEGER PRIMARY KEY, pay_date TEXT);
            WITH RECURSIVE c(n) AS (SELECT -9 UNION ALL SELECT n + 1 FROM c WHERE n < 200)
            INSERT INTO dividend(pay_date) SELECT date('now', -n || ' days') FROM c;
            """, policy: "")
        let draft = try draft(job)
        #expect(draft.contains("    accept: [future_dates]      # its dates go to 2"), "\(draft)")
        let end = try check(draft, in: job.folder)
        #expect(end.status == 0, "\(draft)\n\(end)")
    }

    @Test func rowsThatCannotBeArchivedHaveNoArchive() throws {
        let job = try LaunchedJob(
            "PRAGMA encoding = 'UTF-16';" + Sample.price + Sample.rows(50, daysAgo: 40), policy: "")
        let draft = try draft(job)
        #expect(draft.contains("    archive: none\n") && unwrapped(draft).contains("cannot be archived"), "\(draft)")
        let end = try check(draft, in: job.folder)
        #expect(end.status == 0, "\(draft)\n\(end)")
    }

    // MARK: Files

    @Test(arguments: ["retention.yaml", "conf/retention.yaml"])
    func aFileGetsAFolderForArchivesAndTheRightStore(name: String) throws {
        let job = try LaunchedJob(Sample.price + Sample.rows(50, daysAgo: 40) + Sample.rows(60, daysAgo: 0), policy: "")
        try FileManager.default.removeItem(atPath: job.path("retention.yaml"))
        try job.folder.write("", to: "conf/other.txt")
        let made = try job.perform(["init", "prices.sqlite", "--output", name])
        #expect(made.status == 0 && made.output.contains("retention check -c \(name)"), "\(made)")
        let facts = try FileManager.default.attributesOfItem(atPath: job.path("archive"))
        #expect(facts[.posixPermissions] as? Int == 0o700)
        let text = try job.text(name)
        #expect(!text.contains("mkdir"))
        // What is not below the folder of the policy has an absolute path.
        #expect(text.contains("log: { file: retention.log }") == !name.contains("/"), "\(text)")
        let filled = text.replacing("max_age:   ", with: "max_age: 30d").replacing(
            "enabled: false", with: "enabled: true")
        try job.folder.write(filled, to: name)
        let end = try job.perform(["run", "-c", name])
        #expect(end.status == 0 && end.output.contains("50"), "\(end)")
        #expect(try job.number("SELECT count(*) FROM Price") == 60)
        #expect(try job.perform(["undo", "last", "-c", name]).status == 0)
        #expect(try job.number("SELECT count(*) FROM Price") == 110)
        // No file is replaced, not even an empty one.
        for other in [name, "conf/other.txt"] {
            let before = try job.text(other)
            let again = try job.perform(["init", "prices.sqlite", "--output", other])
            #expect(again.status == 73 && again.errors.contains("exists"), "\(again)")
            #expect(try job.text(other) == before)
        }
    }

    @Test func aFolderThatOthersCanWriteIsRefused() throws {
        let job = try LaunchedJob(Sample.price + Sample.rows(50, daysAgo: 40), policy: "")
        try job.makeFolder("archive")
        chmod(job.path("archive"), 0o777)
        let end = try job.perform(["init", "prices.sqlite", "--output", "new.yaml"])
        #expect(end.status == 77 && end.errors.contains("chmod go-w"), "\(end)")
        let nowhere = try job.perform(["init", "prices.sqlite", "--output", "none/new.yaml"])
        #expect(nowhere.status == 73 && nowhere.errors.contains("existing folder"), "\(nowhere)")
        #expect(try !job.listing().contains("new.yaml"))
    }

    @Test func aStoreWithoutDatesIsReported() throws {
        let job = try LaunchedJob("CREATE TABLE Setting(name TEXT)", policy: "")
        let end = try job.retention("init", "prices.sqlite")
        #expect(
            end.status == 65 && end.output.isEmpty && end.errors.contains("retention inspect prices.sqlite"), "\(end)")
    }

    // MARK: Stores of others

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

    /// A store has a date, and what this program lacks keeps a rule from it.
    @Test func aMissingCollationIsNamedWhereNoRuleIsLeft() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5, daysAgo: 40) + """
                CREATE INDEX Price_symbol ON Price(symbol COLLATE NOCASE);
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = replace(sql, 'NOCASE', 'nosuch');
                PRAGMA writable_schema = RESET;
                """, policy: "")
        let end = try job.retention("init", "prices.sqlite")
        #expect(end.status == 65 && end.errors.contains("no such collation sequence: nosuch"), "\(end)")
        #expect(!end.errors.contains("has a date"), "\(end)")
    }
}
