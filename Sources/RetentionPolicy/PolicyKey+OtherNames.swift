import PriceStore

/// What people write who know other programs, and what to write instead. Nothing here is accepted.
extension PolicyKey {
    /// The key to write instead of an unknown one, perhaps with its value; nil: the word is not known.
    ///
    /// - Parameter keys: the keys of the mapping. One of them is meant, or the word belongs elsewhere.
    static func advice(on word: String, among keys: [PolicyKey]) -> (key: String?, text: String)? {
        let squeezed = word.lowercased().filter { $0 != "_" && $0 != "-" }
        for (write, words) in otherNames where words.split(separator: " ").contains(Substring(squeezed)) {
            let key = String(write.prefix { $0 != ":" })
            if keys.contains(where: { $0.name == key }) { return (key, "write \(write)") }
        }
        return elsewhere[squeezed].map { (nil, $0) }
    }

    private static let otherNames = [
        ("entity", "table tablename collection class"), ("date_format", "format timestampformat unit"),
        ("date_attribute", "datecolumn timecolumn timestampcolumn timestamp date datefield timestampfield field"),
        (
            "max_age: 30d",
            "ttl deleteafter retention retain keep keepfor age olderthan expireafter expires days maxdays"
        ),
        ("batch: { rows: 1000 }", "batchsize batchrows"), ("timezone", "tz zone"),
        ("where: { symbol: XAUUSD }", "filter condition conditions"), ("store", "database db dsn"),
        ("limits: { max_rows: 1000 }", "maxdelete limit"), ("archive: { folder: archive }", "backup"),
        ("reclaim", "vacuum"), ("enabled: false", "disabled"), ("rules", "tables policies"),
    ]

    private static let schedule =
        "a timer or cron starts the runs; to hear of a missed one write expected_every: 1d at the top of the file"
    private static let elsewhere = [
        "dryrun": "it is an option: retention run --dry-run", "schedule": schedule, "cron": schedule,
    ]

    /// Words for how often something happens, and the age to write.
    static let frequencies = [
        "hourly": "1h", "daily": "1d", "nightly": "1d", "weekly": "1w", "monthly": "1mo", "quarterly": "3mo",
        "yearly": "1y",
    ]

    /// An equation of SQL as a mapping; nil: the text is none, or more than one.
    static func condition(ofSQL text: String) -> String? {
        text.wholeMatch(of: #/(\w+)\s*=+\s*(['"]?)([^'"\s]+)(['"]?)/#).map { match in
            // Digits in quotes are text.
            let value = match.3.contains(where: \.isNumber) ? "\(match.2)\(match.3)\(match.4)" : String(match.3)
            return "{ \(match.1): \(value) }"
        }
    }
}
