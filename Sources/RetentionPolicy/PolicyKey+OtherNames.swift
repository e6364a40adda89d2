import PriceStore

/// What people write who know other programs, and what to write instead. Nothing here is accepted.
extension PolicyKey {
    /// The key to write instead of an unknown one, perhaps with its value; nil: the word is not known.
    ///
    /// - Parameters:
    ///   - keys: the keys of the mapping. One of them is meant, or the word belongs elsewhere.
    ///   - given: the value of the unknown key, if a shape takes it.
    static func advice(
        on word: String, among keys: [PolicyKey], given: (PolicyShape) -> String?
    ) -> (key: String?, text: String)? {
        let squeezed = word.lowercased().filter { $0 != "_" && $0 != "-" }
        for (write, words) in otherNames + tierNames where words.split(separator: " ").contains(Substring(squeezed)) {
            let names = write.matches(of: #/(\w+):/#).map { String($0.1) }
            guard let key = keys.first(where: { $0.name == names.first ?? write }) else { continue }
            let shape = names.count > 1 ? key.shape.keys.first { $0.name == names[1] }?.shape : key.shape
            let line = shape.flatMap(given).map { write.replacing(#/: \w+(?=(?: })?$)/#, with: ": \($0)") }
            return (key.name, "write " + (names.isEmpty ? write : line ?? "\(key.name), such as \(write)"))
        }
        return elsewhere[squeezed].map { (nil, $0) }
    }

    private static let otherNames = [
        ("entity", "table tables tablename collection class"), ("date_format", "format timestampformat unit"),
        ("date_attribute", "datecolumn timecolumn timestampcolumn timestamp date datefield timestampfield field"),
        (
            "max_age: 30d",
            "ttl deleteafter retention retain keep keepfor keepwithin age minage mtime olderthan deleteolderthan expireafter expires"
        ),
        ("max_age: 30d", "days maxdays maxagedays keepdays retentiondays retentionperiod rotate"),
        ("batch: { rows: 1000 }", "batchsize batchrows"), ("timezone", "tz zone"),
        ("where: { symbol: XAUUSD }", "filter condition conditions"), ("store", "database db dsn file path"),
        // Of a mapping for one file. 'files', which looks more like it, is a pattern of many.
        ("path", "file filename filepath database db"),
        ("limits: { max_rows: 1000 }", "maxdelete limit"), ("log: { level: debug }", "loglevel"),
        ("archive: { folder: archive }", "backup"), ("folder: archive", "path dir directory"),
        ("reclaim: vacuum", "vacuum"), ("rules", "tables policies"), ("except", "exclude ignore"),
        ("on_failure: [mail, -s, retention, root]", "notify notifications alert alerts mail mailto email onerror"),
        ("max_rows: 1000", "maxdelete maxdeletes maxdeletions"), ("count: 5", "n number rows last"),
        ("per: [symbol]", "groupby group by"),
        ("daily: forever, which keeps a row of each day", "every interval bucket"),
        ("every: 1h", "interval bucket"), ("rows: 1000", "batchsize batchrows size"),
        ("lt: 5", "<"), ("le: 5", "<= lte"), ("gt: 5", ">"), ("ge: 5", ">= gte"), ("ne: 5", "!= <> not neq"),
    ]

    /// Tiers as backup programs name them, with a number of copies.
    private static let tierNames = CalendarUnit.allCases.map {
        ("thin: { \($0.tierName): forever } beside max_age", "keep" + $0.tierName)
    }

    private static let schedule =
        "a timer or cron starts the runs; to hear of a missed one write expected_every: 1d at the top of the file"
    private static let elsewhere = [
        "dryrun": "it is an option: retention run --dry-run", "schedule": schedule, "cron": schedule,
        "interval": schedule, "batchsize": "for all rules write defaults: { batch: { rows: 1000 } }",
        "groupby": "write per under keep_last, thin or rollup, such as keep_last: { count: 5, per: [symbol] }",
        "maxruntime": "it is for the whole run: at the top of the file write limits: { max_runtime: 10min }",
        "disabled": "write enabled: false", "cascade": "write relationships: cascade",
        "eq": "write the value itself, as in { symbol: XAUUSD }",
        "in": "write the list itself, as in { symbol: [XAUUSD, XAGUSD] }",
    ]

    /// Values of keys whose mapping or list cannot be guessed from what was written.
    static let samples = [
        "archive": "{ folder: archive }", "thin": "{ daily: forever }",
        "rollup": "{ into: candles, every: 1h, price: price }",
        "pending": "[{ files: \"pending/*.csv\", entity: prices }]",
        "accept": "[CODE], with the codes that the refusals show",
    ]

    /// Words for how often something happens, and the age to write.
    static let frequencies = [
        "hourly": "1h", "daily": "1d", "nightly": "1d", "weekly": "1w", "monthly": "1mo", "quarterly": "3mo",
        "yearly": "1y",
    ]

    /// The age for such a word, or for a duration of ISO 8601 with one unit; nil: the text is none.
    static func age(for text: String) -> String? {
        frequencies[text.lowercased()]
            ?? text.wholeMatch(of: #/P(\d+)([YMWD])/#).map { "\($0.1)\($0.2 == "M" ? "mo" : $0.2.lowercased())" }
    }

    /// The pattern for a format of other libraries, such as `yyyy-MM-dd HH:mm:ss`; nil: the text is none, or has no separators.
    static func pattern(for text: String) -> String? {
        guard text.wholeMatch(of: #/(?:yyyy|YYYY|MM|dd|DD|HH|mm|ss|[-.\/:, T])+/#) != nil,
            text.lowercased().contains("yyyy"), text.contains(where: { "-./".contains($0) })
        else { return nil }
        // Of two the first is the month, which SQL writes small.
        let format = text.contains("MM") ? text : text.replacing("mm", with: "MM", maxReplacements: 1)
        let letters = [
            ("yyyy", "%Y"), ("YYYY", "%Y"), ("MM", "%m"), ("dd", "%d"), ("DD", "%d"), ("HH", "%H"), ("mm", "%M"),
            ("ss", "%S"),
        ]
        return letters.reduce(format) { $0.replacing($1.0, with: $1.1) }
    }

    /// Conditions of SQL, joined by AND, as a mapping; nil: the text is something else, or has an attribute twice.
    static func condition(ofSQL text: String) -> String? {
        let parts = text.split(separator: #/\s+and\s+/#.ignoresCase())
        let entries = parts.compactMap { entry(ofSQL: String($0)) }
        guard let first = entries.first, entries.count == parts.count,
            Set(entries.map { $0.name }).count == parts.count
        else { return nil }
        return entries.dropFirst().reduce("{ \(first.name): \(first.condition)") {
            "\($0), \($1.name): \($1.condition)"
        } + " }"
    }

    /// One condition of SQL; nil: the text is none. What is in quotes stays in them, because digits and words such as null are text there.
    private static func entry(ofSQL text: String) -> (name: Substring, condition: String)? {
        if let match = text.wholeMatch(of: #/(\w+)(?:\s+is\s+(not\s+)?|\s*==?\s*)null/#.ignoresCase()) {
            return (match.1, "{ null: \(match.2 == nil) }")
        }
        func isValue(_ text: some StringProtocol) -> Bool {
            text.lowercased() != "null"
                && String(text).wholeMatch(of: #/'[^']*'|"[^"\\]*"|[^'"\s,(){}\[\]]+/#) != nil
        }
        if let match = text.wholeMatch(of: #/(\w+)\s+in\s*\(\s*(.+?)\s*\)/#.ignoresCase()) {
            let values = match.2.split(separator: #/\s*,\s*/#, omittingEmptySubsequences: false)
            return values.allSatisfy(isValue) ? (match.1, "[\(values.joined(separator: ", "))]") : nil
        }
        guard let match = text.wholeMatch(of: #/(\w+)\s*([=<>!]+)\s*(.+)/#), isValue(match.3) else { return nil }
        if ["=", "=="].contains(match.2) { return (match.1, String(match.3)) }
        return sqlOperators[String(match.2)].map { (match.1, "{ \($0): \(match.3) }") }
    }

    /// What to write for a comparison in quotes, such as `> 5`; nil: the text is none. Only a number or a date can be meant, because
    /// `<none>` may be a value.
    static func condition(ofComparison text: String) -> String? {
        guard text.contains(where: "=<>!".contains) else { return nil }
        return text.wholeMatch(of: #/\s*([=<>!]+)\s*(-?\d[-\d.:TZ]*)\s*/#).flatMap { match in
            ["=", "=="].contains(match.1)
                ? String(match.2) : sqlOperators[String(match.1)].map { "{ \($0): \(match.2) }" }
        }
    }

    private static let sqlOperators = ["<": "lt", "<=": "le", ">": "gt", ">=": "ge", "<>": "ne", "!=": "ne"]
}
