import Testing

/// A refusal offers only the settings that work. The order of several reasons is in the case `reasons-in-order`.
struct AllRefusalsTests {
    @Test(arguments: [
        ("price INTEGER NOT NULL REFERENCES Price(id)", "cascade"),
        ("price INTEGER NOT NULL DEFAULT 0 REFERENCES Price(id)", "cascade"),
        ("price INTEGER REFERENCES Price(id) ON DELETE RESTRICT", "nullify cascade"),
        ("price INTEGER UNIQUE REFERENCES Price(id)", "nullify cascade"),
        ("price INTEGER UNIQUE CHECK (price > 0) REFERENCES Price(id)", "cascade"),
        ("price INTEGER CHECK (price IS NOT NULL) REFERENCES Price(id)", "cascade"),
    ])
    func onlyWhatWorksIsOffered(_ column: String, _ works: String) throws {
        let sql =
            Sample.price + Sample.rows(3, daysAgo: 100) + Sample.rows(1, daysAgo: 0)
            + "CREATE TABLE Quote(id INTEGER PRIMARY KEY, \(column)); INSERT INTO Quote(price) VALUES (1), (4);"
        let job = try LaunchedJob(sql, policy: Sample.policy(Sample.rule()))
        let message = try #require(try job.report().rules[0].message)
        for setting in ["nullify", "cascade"] {
            #expect(message.contains(setting) == works.contains(setting), "\(message)")
            let other = try LaunchedJob(sql, policy: Sample.policy(Sample.rule("relationships: \(setting)")))
            #expect((try other.report().exitCode == 0) == works.contains(setting))
        }
    }
}
