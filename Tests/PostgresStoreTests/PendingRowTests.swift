import PostgresCluster
import PriceObjects
import PriceStore
import Testing

@testable import PostgresStore

/// New rows: one by one, many at once, and predicted.
@Suite(.needsPostgres)
struct PendingRowTests {
    private static let schema = """
        CREATE TABLE parent (id int PRIMARY KEY);
        INSERT INTO parent VALUES (1), (2);
        CREATE TABLE q (id bigserial PRIMARY KEY, symbol text NOT NULL DEFAULT 'XAU', at timestamptz NOT NULL, price float8
            CHECK (price > 0), parent int REFERENCES parent, UNIQUE (symbol, at));
        INSERT INTO q (symbol, at, price) VALUES ('XAU', '2026-01-01 00:00:00+00', 1), ('XAG', '2026-01-01 00:00:00+00', 2);
        """

    private static func row(_ at: String, _ price: Double = 5, symbol: String = "XAU") -> [String: StoreValue] {
        ["symbol": .text(symbol), "at": .text(at), "price": .real(price)]
    }

    private static let rows = [
        row("2026-01-01T00:00:00Z"), row("2026-01-02T00:00:00Z"), row("2026-01-02T00:00:00Z", 6),
        row("2026-01-03T00:00:00Z", -1), ["symbol": .text("XAU"), "price": .integer(3)],
        ["at": .text("2026-01-04T00:00:00Z"), "parent": .integer(9)],
        ["at": .text("2026-01-05T00:00:00Z"), "parent": .integer(2)],
        row("soon"),
    ]

    private func word(_ outcome: InsertOutcome) -> String {
        switch outcome {
        case .saved: "saved"
        case .ignored: "ignored"
        case .rejected: "rejected"
        }
    }

    @Test(arguments: [
        (ConflictPolicy.fail, "rejected saved rejected rejected rejected rejected saved rejected"),
        (.ignore, "ignored saved ignored rejected rejected rejected saved rejected"),
        (.replace, "saved saved saved rejected rejected rejected saved rejected"),
    ])
    func aRehearsalPredictsWhatAWriterDoes(policy: ConflictPolicy, outcomes: String) throws {
        let database = try TestDatabase(Self.schema)
        let cutoff = at("2026-01-03")
        let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: cutoff)
        let before = try database.run(
            "SELECT string_agg(q::text, ' ' ORDER BY id), (SELECT last_value FROM q_id_seq) FROM q")
        let reader = try database.reader(rehearsing: ["q"])
        var predicted: (words: [String], survey: Survey)?
        try reader.transaction(.normal) {
            let words = try Self.rows.map { word(try reader.insert(entity: "q", values: $0, onConflict: policy)) }
            predicted = (words, try reader.survey(request))
        }
        #expect(predicted?.words.joined(separator: " ") == outcomes)
        #expect(
            try database.run("SELECT string_agg(q::text, ' ' ORDER BY id), (SELECT last_value FROM q_id_seq) FROM q")
                == before)

        let writer = try database.writer()
        let done = try Self.rows.map { word(try writer.insert(entity: "q", values: $0, onConflict: policy)) }
        #expect(done.joined(separator: " ") == outcomes)
        var (expected, said) = (try writer.survey(request), try #require(predicted?.survey))
        // A rehearsal knows no better way than through all rows.
        (expected.index.name, said.index.name) = (nil, nil)
        (expected.index.isInDateOrder, said.index.isInDateOrder) = (false, false)
        #expect(said == expected)
        #expect(try writer.execute(Self.whole(request)).deletedCount == said.expiredCount)
    }

    /// What only the server decides about a row with the key 9 and the day 5 May.
    @Test(arguments: [
        (
            "(id int, at date) PARTITION BY LIST (at); CREATE TABLE q_0 PARTITION OF q DEFAULT", ConflictPolicy.fail,
            "saved"
        ),
        (
            "(id int, at date) PARTITION BY LIST (at); CREATE TABLE q_0 PARTITION OF q FOR VALUES IN ('2026-05-04')",
            .fail, "rejected"
        ),
        ("(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at date)", .fail, "rejected"),
        ("(id int PRIMARY KEY, at date UNIQUE); INSERT INTO q VALUES (1, '2026-05-01')", .replace, "saved"),
        ("(id int PRIMARY KEY, at date UNIQUE); INSERT INTO q VALUES (1, '2026-05-05')", .replace, "rejected"),
        (
            "(id int PRIMARY KEY, at date, p int DEFAULT 7 REFERENCES q DEFERRABLE INITIALLY DEFERRED)", .fail,
            "rejected"
        ),
    ])
    func whatTheServerDecidesIsPredicted(table: String, policy: ConflictPolicy, outcome: String) throws {
        let database = try TestDatabase("CREATE TABLE q \(table)")
        let row: [String: StoreValue] = ["id": .integer(9), "at": .text("2026-05-05")]
        let reader = try database.reader(rehearsing: ["q"])
        try reader.transaction(.normal) {
            let predicted = word(try reader.insert(entity: "q", values: row, onConflict: policy))
            #expect(predicted == outcome)
        }
        let writer = try database.writer()
        #expect(try word(writer.insert(entity: "q", values: row, onConflict: policy)) == outcome)
    }

    @Test func aValueThatIsLongerThanItsColumnIsRefused() throws {
        let database = try TestDatabase(
            "CREATE TABLE q (k varchar(3) PRIMARY KEY, c char(3), b bit(3)); INSERT INTO q VALUES ('BTC', 'x', '101')")
        let writer = try database.writer()
        for row in [["k": "BTCU"], ["k": "A", "c": "abcd"], ["k": "A", "b": "1010"]] {
            let values = row.mapValues { StoreValue.text($0) }
            #expect(try word(writer.insert(entity: "q", values: values, onConflict: .replace)) == "rejected")
        }
        #expect(try database.run("SELECT q::text FROM q") == [#"(BTC,"x  ",101)"#])
    }

    @Test(arguments: [
        ("CREATE RULE r AS ON INSERT TO q WHERE NEW.id > 5 DO INSTEAD NOTHING", "a rule on INSERT"),
        ("CREATE UNIQUE INDEX ON q (lower(s))", "a unique index with a condition or an expression"),
        ("CREATE UNIQUE INDEX ON q (s) WHERE id > 0", "a unique index with a condition or an expression"),
        ("ALTER TABLE q ADD UNIQUE (s) DEFERRABLE", "a key that is checked later"),
    ])
    func whatACopyCannotHaveIsNamed(statement: String, words: String) throws {
        let database = try TestDatabase("CREATE TABLE q (id int PRIMARY KEY, s text); \(statement)")
        let reader = try database.reader(rehearsing: ["q"])
        let told = storeError {
            try reader.transaction(.normal) {
                _ = try reader.insert(entity: "q", values: ["id": .integer(9)], onConflict: .fail)
            }
        }
        #expect(told?.kind == .unpredictable && told?.message.contains(words) == true, "\(told as Any)")
    }

    private static func whole(_ request: SurveyRequest) -> BatchDeleteRequest {
        BatchDeleteRequest(
            fetchRequest: StoreFetchRequest(entity: request.entity, predicate: request.expired), resultType: .count)
    }

    @Test func rowsThatAreReplacedAreCountedAsTheNewOnes() throws {
        let database = try TestDatabase(
            "CREATE TABLE q (id int PRIMARY KEY, at timestamptz, price float8); INSERT INTO q VALUES (1, '2020-01-01', 1), (2, '2020-01-01', 2);"
        )
        let reader = try database.reader(rehearsing: ["q"])
        let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-01"))
        try reader.transaction(.normal) {
            let row: [String: StoreValue] = ["id": .integer(1), "at": .text("2026-05-01T00:00:00Z")]
            #expect(try reader.insert(entity: "q", values: row, onConflict: .replace) == .saved)
            #expect(try reader.insert(entity: "q", values: row, onConflict: .replace) == .saved)
            let survey = try reader.findings(request)
            #expect(survey.rowCount == 2 && survey.expiredCount == 1)
            #expect(
                try reader.fetch(
                    StoreFetchRequest(entity: "q", predicate: .compare("id", .equal, .integer(1))),
                    attributes: ["price"])
                    == [[.real(1)]])
        }
        #expect(try database.run("SELECT at FROM q WHERE id = 1")[0].hasPrefix("2020"))
    }

    @Test func manyRowsGoTogetherOrAreJudgedOneByOne() throws {
        let database = try TestDatabase(Self.schema)
        let writer = try database.writer()
        let good = (1...5000).map { n in
            Self.row(Instant(unixSeconds: 1_700_000_000 + Int64(n)).rfc3339, Double(n), symbol: "a\tb\\\n\(n % 7)")
        }
        #expect(try writer.insert(entity: "q", rows: good, onConflict: .fail) == 5000)
        #expect(
            try writer.insert(entity: "q", rows: good + [Self.row("2027-01-01T00:00:00Z")], onConflict: .ignore) == 1)
        #expect(try writer.insert(entity: "q", rows: good, onConflict: .fail) == nil)
        #expect(try database.run("SELECT count(*), count(DISTINCT symbol), max(price) FROM q") == ["5003|9|5000"])

        let context = StoreContext(writer)
        for row in Self.rows { context.insert(entity: "q", values: row) }
        var reasons: [String] = []
        let result = try context.save(onConflict: .ignore) { reasons.append($1) }
        #expect(result.savedCount == 2 && result.ignoredCount == 2 && result.rejectedCount == 4)
        // Values are not told.
        #expect(reasons.allSatisfy { !$0.isEmpty && !$0.contains("soon") })
    }

    @Test func datesAreBroughtToTheZoneOfColumnsThatHaveNone() throws {
        let berlin = try #require(CalendarZone(identifier: "Europe/Berlin"))
        let database = try TestDatabase("CREATE TABLE q (id int, a timestamp, b date, c timestamptz);")
        let writer = try database.writer(zone: berlin)
        let text = StoreValue.text("2026-07-01T22:30:00Z")
        for (id, insert) in [1, 2].enumerated() {
            let row: [String: StoreValue] = ["id": .integer(Int64(insert)), "a": text, "b": text, "c": text]
            if id == 0 {
                #expect(try writer.insert(entity: "q", values: row, onConflict: .fail) == .saved)
            } else {
                #expect(try writer.insert(entity: "q", rows: [row, row], onConflict: .fail) == 2)
            }
        }
        #expect(
            try database.run("SELECT DISTINCT a, b, c AT TIME ZONE 'UTC' FROM q")
                == ["2026-07-02 00:30:00|2026-07-02|2026-07-01 22:30:00"])
    }
}
