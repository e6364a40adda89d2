import PriceStore

/// All keys that `retention.yaml` can have. The reader, messages and the schema use these tables.
extension PolicyKey {
    /// Why a PostgreSQL database cannot be named; nil: this build has the engine.
    #if Postgres
        static let noPostgreSQL: String? = nil
    #else
        static let noPostgreSQL: String? =
            "this build has no PostgreSQL engine: install the package retention-postgresql, build with `swift build --traits Postgres`, or name the path of a SQLite file"
    #endif

    static let file: [PolicyKey] = [
        PolicyKey("version", .version, required: true, "The version of the file's format: 1"),
        PolicyKey(
            "store", .scalarOrGroup(.storeAddress, store), required: true, "The database that holds the price points"),
        PolicyKey("timezone", .zone, "The IANA zone of calendar units and zone-less dates; default UTC"),
        PolicyKey(
            "pending", .list(.group(pending), atLeast: 0), "Files to import before anything is deleted"),
        PolicyKey(
            "ledger", .scalarOrGroup(.wordOr(["none"], .path), ledger),
            "The ledger of past runs; default: beside the store; none: no ledger"),
        PolicyKey("archive", .group(archive), "Where rows are copied before they are deleted; default: nowhere"),
        PolicyKey("log", .group(log), "Where and how the log is written; default: text on standard error"),
        PolicyKey("metrics", .group(metrics), "Figures for a monitoring system"),
        PolicyKey("limits", .group(fileLimits), "Limits of a whole run"),
        PolicyKey("defaults", .group(inheritable), "Keys that all rules inherit"),
        PolicyKey("rules", .list(.group(rule), atLeast: 1), required: true, "What is deleted, in this order"),
        PolicyKey("holds", .list(.group(hold), atLeast: 0), "Rows that no rule deletes, directly or indirectly"),
        PolicyKey("expected_every", .age, "How often a run is expected; retention log --missed looks for gaps"),
        PolicyKey("on_failure", .command, "A command that gets the report of a run whose exit code is not 0"),
        PolicyKey("on_success", .command, "A command that gets the report of a run whose exit code is 0"),
    ]

    static let ledger: [PolicyKey] = [
        PolicyKey("path", .path, "The ledger's file; default: beside the store"),
        PolicyKey(
            "keep", .wordOr(["forever"], .age), "How long the ledger keeps its records of past runs; default 2y"),
    ]

    static let archive: [PolicyKey] = [
        PolicyKey("folder", .path, "An existing folder for the archives of a store that is a file"),
        PolicyKey(
            "schema", .text, unavailable: noPostgreSQL, "A schema for the archives of a PostgreSQL database"),
        PolicyKey("keep", .wordOr(["forever"], .age), "How long an archive is kept; default 30d"),
    ]

    static let store: [PolicyKey] = [
        PolicyKey("path", .storeAddress, "The SQLite file"),
        PolicyKey("files", .text, "A pattern of SQLite files, such as data/**/*.sqlite: each is a store of its own"),
        PolicyKey("except", .list(.text, atLeast: 0), "Patterns of files that are left out"),
        PolicyKey("url", .serverURL, unavailable: noPostgreSQL, "The URL of a PostgreSQL database"),
        PolicyKey("busy_timeout", .duration(milliseconds: true), "How long to wait for a locked store; default 5s"),
        PolicyKey("password_file", .path, unavailable: noPostgreSQL, "A file that holds the password for the server"),
        PolicyKey(
            "model", .modelPath,
            "The model of a Core Data store that does not contain it: a .mom file or a .momd folder"),
        PolicyKey(
            "max_replication_lag", .duration(milliseconds: true), unavailable: noPostgreSQL,
            "How far a standby may fall behind before batches wait for it; default: no limit"),
    ]

    static let pending: [PolicyKey] = [
        PolicyKey("files", .pattern, required: true, "A pattern of CSV or NDJSON files"),
        PolicyKey("entity", .text, required: true, "The entity of the rows"),
        PolicyKey("columns", .named(.text), "Columns of the file and their attributes; default: same names"),
        PolicyKey("constants", .named(.value), "Attributes that the file does not have, with their value"),
        PolicyKey(
            "on_conflict", .word(PolicyWord.of(ConflictPolicy.self)),
            "What happens when a primary or unique key already exists; default fail"),
    ]

    static let hold: [PolicyKey] = [
        PolicyKey("name", .ruleName, required: true, "The hold's name in reports and the ledger"),
        PolicyKey("entity", .text, required: true, "The entity whose rows are held"),
        PolicyKey("missing", .word(["skip"]), "skip: the hold is only for stores that have the entity"),
        PolicyKey("where", .named(.condition), "The rows that are held; default: all"),
        PolicyKey("from", .date, "The first date that is held, by the date attribute of the rules; default: no bound"),
        PolicyKey("until", .date, "The end of the dates that are held, exclusive; default: no bound"),
        PolicyKey("reason", .text, required: true, "Why the rows are held, and who asked for it"),
        PolicyKey("expires", .date, "When the hold ends; default: never"),
    ]

    static let log: [PolicyKey] = [
        PolicyKey("file", .path, "The log file; default: standard error"),
        PolicyKey(
            "format", .word(PolicyWord.of(Policy.LogSettings.Format.self)), "The format of a record; default text"),
        PolicyKey(
            "level", .word(PolicyWord.of(Policy.LogSettings.Level.self)),
            "The minimum log level; default info (terminal: warning)"),
    ]

    static let metrics: [PolicyKey] = [
        PolicyKey("textfile", .path, required: true, "A file for the textfile collector of a node exporter")
    ]

    static let fileLimits: [PolicyKey] = [
        PolicyKey("max_runtime", .duration(milliseconds: false), "The time budget of a whole run; default: none")
    ]

    static let rule: [PolicyKey] =
        [
            PolicyKey("name", .ruleName, required: true, "The rule's name in reports, logs and the ledger"),
            PolicyKey("entity", .text, required: true, "The entity whose rows expire, or a pattern such as ohlcv_*"),
            PolicyKey("date_attribute", .text, required: true, "The attribute that says how old a row is"),
            PolicyKey("max_age", .ages, required: true, "How long a row is kept, or that by the value of an attribute"),
            PolicyKey("newest_rows", .integer(1...Int.max), "Rows before the newest ones expire sooner than max_age"),
            PolicyKey("max_size", .size, "The oldest rows expire sooner if all take more space"),
            PolicyKey("never_younger_than", .age, "The age of rows that no bound deletes"),
            PolicyKey("except", .list(.text, atLeast: 0), "Entities that the pattern does not match; patterns too"),
            PolicyKey("missing", .word(["skip"]), "skip: leave out entities that are missing, or lack an attribute"),
            PolicyKey("rollup", .group(rollup), "The rows become candles in the transaction that deletes them"),
        ] + inheritable

    /// The keys of ages by the value of an attribute; all others are values.
    static let ages: [PolicyKey] = [
        PolicyKey("by", .text, required: true, "The attribute on whose value the age depends"),
        PolicyKey("default", .age, "The age of all other rows, those without a value too"),
        PolicyKey("from", .group(ageSource), "A table with the age of each value"),
    ]

    static let ageSource: [PolicyKey] = [
        PolicyKey("entity", .text, required: true, "The table"),
        PolicyKey("key", .text, required: true, "The attribute with the value"),
        PolicyKey("age", .text, required: true, "The attribute with the age: a number of days, or a text such as 90d"),
    ]

    /// The keys of a rule for a Core Data store's history.
    static let ofHistory: Set = [
        "name", "entity", "max_age", "missing", "align", "limits", "accept", "batch", "reclaim", "enabled", "archive",
    ]

    /// The keys of a rule that `defaults` may also have.
    static let inheritable: [PolicyKey] = [
        PolicyKey(
            "date_format", .scalarOrGroup(.word(dateFormats), dateFormat), "The format of the date attribute"),
        PolicyKey("where", .named(.condition), "The rows that the rule considers; default: all"),
        PolicyKey("keep_last", .group(keepLast), "The newest rows of each group are never deleted"),
        PolicyKey("thin", .group(thin), "One row of each bucket of the calendar is kept beyond max_age"),
        PolicyKey("earliest", .date, "Earlier dates are invalid; default 1971-01-01"),
        PolicyKey("latest", .date, "Later dates are invalid; default: no bound"),
        PolicyKey(
            "align", .word(["hour", "day", "week", "month"]),
            "Moves the cutoff back to the start of its hour, day, week or month"),
        PolicyKey(
            "relationships",
            .word([
                "as_declared", "deny", "cascade", PolicyWord(name: "nullify", otherNames: ["set_null", "set null"]),
            ]),
            "What happens to related rows; default as_declared"),
        PolicyKey("allow_empty", .flag, "Whether the rule may delete every row of the entity; default false"),
        PolicyKey("limits", .group(ruleLimits), "Limits above which a rule is refused and deletes nothing"),
        PolicyKey(
            "accept", .list(.word(PolicyWord.refusals), atLeast: 0), "Refusals that the rule accepts"),
        PolicyKey("batch", .group(batch), "How much is deleted in one transaction"),
        PolicyKey(
            "reclaim", .word(PolicyWord.of(ReclaimMode.self)), "How free space in the file is reclaimed; default auto"),
        PolicyKey("enabled", .flag, "Whether the rule runs; default true"),
        PolicyKey("column", .text, "The column of the date attribute in a Core Data store, by its SQL name"),
        PolicyKey("archive", .word(["none"]), "none: rows of the rule are deleted without an archive"),
    ]

    static let dateFormat: [PolicyKey] = [
        PolicyKey("pattern", .text, required: true, "How the text is written, with letters of strptime: %d.%m.%Y %H:%M")
    ]

    static let keepLast: [PolicyKey] = [
        PolicyKey("count", .integer(1...Int.max), required: true, "How many rows of each group are kept"),
        per,
    ]

    private static let per = PolicyKey(
        "per", .list(.text, atLeast: 0), "The attributes that make a group; default: all rows are one group")

    static let thin: [PolicyKey] =
        [
            per,
            PolicyKey(
                "pick", .word(["last", "first", "ohlc"]),
                "Which row of a bucket is kept; ohlc: the rows with the first, highest, lowest and last price; default last"
            ),
            PolicyKey("price", .text, "The attribute of the price, for ohlc"),
        ]
        + CalendarUnit.allCases.map { unit in
            PolicyKey(unit.tierName, .wordOr(["forever"], .age), "How long one row of each \(unit.rawValue) is kept")
        }

    static let rollup: [PolicyKey] = [
        PolicyKey("into", .text, required: true, "The entity of the candles; a run creates a missing one"),
        PolicyKey(
            "every", .age, required: true,
            "How long a candle is: minutes or hours that divide a day, a day, a week, a month, 3mo or a year"),
        PolicyKey(
            "per", .list(.text, atLeast: 0),
            "The attributes that make a group; default: all rows are one group, or the groups of the candles"),
        PolicyKey("price", .text, "The attribute that is the price"),
        PolicyKey("volume", .text, "The attribute that is the volume; default: every volume is 0"),
        PolicyKey("from", .word(["candles"]), "candles: the rows are candles of shorter buckets"),
        PolicyKey("session", .group(session), "When a day begins; default: at 00:00 in timezone"),
        PolicyKey(
            "allow_non_positive", .flag,
            "Whether a price may be 0 or less, such as a spread or a yield; default false"),
        PolicyKey(
            "columns", .named(.text),
            "Columns of the candle's fields and of per, where their names differ; default: same names"),
    ]

    static let session: [PolicyKey] = [
        PolicyKey("zone", .zone, "The IANA zone of the session's start; default: timezone"),
        PolicyKey("start", .timeOfDay, "When a session starts, such as 17:00; default 00:00"),
    ]

    static let ruleLimits: [PolicyKey] = [
        PolicyKey("max_rows", .integer(1...Int.max), "The largest number of rows that a run may delete"),
        PolicyKey("max_fraction", .fraction, "The largest part of the readable rows that a run may delete"),
        PolicyKey(
            "max_late_rows", .integer(0...Int.max),
            "The largest number of expired rows that may come back after a run that left none; default: 1000, or 1 % of the rows"
        ),
        PolicyKey(
            "max_silence", .age,
            "How long the newest row may stay the same; default: 7d, or three times the longest time between two runs"),
    ]

    static let batch: [PolicyKey] = [
        PolicyKey("rows", .integer(1...1_000_000), "Rows of the first transaction; default 100"),
        PolicyKey(
            "target", .duration(milliseconds: true), "How long one transaction should take; default 8ms without rows"),
        PolicyKey(
            "pause", .wordOr(["auto", "none"], .duration(milliseconds: true)),
            "How long to wait between transactions; default auto"),
    ]

    static let operators: [PolicyKey] = [
        PolicyKey("lt", .value, "Less than"),
        PolicyKey("le", .value, "Less than or equal to"),
        PolicyKey("gt", .value, "Greater than"),
        PolicyKey("ge", .value, "Greater than or equal to"),
        PolicyKey("ne", .value, "Not equal to; never matches NULL"),
        PolicyKey("null", .flag, "Whether the attribute has no value"),
    ]

    private static let dateFormats = DateEncoding.allCases.map { format in
        PolicyWord(
            name: format.rawValue,
            unavailable: format == .native && noPostgreSQL != nil
                ? "'native' is for the date types of PostgreSQL; a SQLite file has none: name the format of its values"
                : nil,
            otherNames: otherNames[format] ?? [])
    }

    private static let otherNames: [DateEncoding: [String]] = [
        .iso8601: ["iso", "iso_8601", "iso-8601", "rfc3339", "rfc_3339", "datetime", "text"],
        .unixSeconds: [
            "unix", "unix_s", "unix_sec", "unixtime", "unix_time", "unixepoch", "epoch", "epoch_s", "epoch_seconds",
            "timestamp", "unix_timestamp", "seconds", "sec",
        ],
        .unixMilliseconds: [
            "unix_ms", "unix_millis", "epoch_ms", "epoch_millis", "epoch_milliseconds", "ms", "millis",
            "milliseconds",
        ],
        .unixMicroseconds: [
            "unix_us", "unix_micros", "epoch_us", "epoch_micros", "epoch_microseconds", "us", "micros",
            "microseconds",
        ],
        .unixNanoseconds: [
            "unix_ns", "unix_nanos", "epoch_ns", "epoch_nanos", "epoch_nanoseconds", "ns", "nanos", "nanoseconds",
        ],
        .appleSeconds: ["apple", "apple_s", "cocoa", "coredata", "core_data", "nsdate"],
        .appleNanoseconds: ["apple_ns"],
        .webkitMicroseconds: ["webkit", "webkit_us", "chrome", "chromium"],
        .windowsFiletime: ["filetime", "ldap"],
        .dotnetTicks: ["ticks", "dotnet", ".net"],
        .julianDay: ["julian", "jd"],
        .unixDays: ["days", "epoch_days"],
    ]
}
