import PostgresCluster
import PriceStore
import Testing

@testable import PostgresStore

@Suite(.needsPostgres)
struct CatalogTests {
    @Test func tablesAreNamedAsTheSearchPathFindsThem() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE ticks (at timestamptz);
            CREATE SCHEMA other;
            CREATE TABLE other.ticks (at timestamptz);
            CREATE TABLE other."Odd.Name" (at date);
            CREATE VIEW seen AS SELECT * FROM ticks;
            CREATE TABLE parts (at timestamptz) PARTITION BY RANGE (at);
            CREATE TABLE parts_1 PARTITION OF parts DEFAULT;
            """)
        let reader = try database.reader()
        #expect(try reader.entityNames() == ["parts", "seen", "ticks", "other.Odd.Name", "other.ticks"])
        #expect(try reader.entity(named: "TICKS")?.name == "ticks")
        #expect(try reader.entity(named: "public.ticks")?.name == "ticks")
        #expect(try reader.entity(named: "other.ticks")?.name == "other.ticks")
        #expect(try reader.entity(named: "other.odd.name")?.name == "other.Odd.Name")
        #expect(try reader.entity(named: "parts_1")?.kind == .table)
        #expect(try reader.entity(named: "seen")?.kind == .view)
        #expect(try reader.entity(named: "pg_class") == nil)
        #expect(try reader.entity(named: "nothing") == nil)
    }

    /// Two rows of such an index may have equal keys, as the column compares them.
    @Test func anIndexThatComparesMoreStrictlyThanItsColumnIsNoKey() throws {
        let database = try TestDatabase(
            """
            CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
            CREATE TABLE strict (name text COLLATE nocase NOT NULL); CREATE UNIQUE INDEX ON strict (name COLLATE "C");
            CREATE TABLE loose (name text NOT NULL); CREATE UNIQUE INDEX ON loose (name COLLATE nocase);
            CREATE TABLE other (name text NOT NULL); CREATE UNIQUE INDEX ON other (name COLLATE "C");
            """)
        let reader = try database.reader()
        let keys = try ["strict", "loose", "other"].map { try #require(try reader.table($0)).rowKey }
        #expect(keys == [[], ["name"], ["name"]])
    }

    @Test func columnsKeysAndForeignKeysAreToldAsDeclared() throws {
        let database = try TestDatabase(
            """
            CREATE DOMAIN moment AS timestamptz;
            CREATE TABLE prices (a int, "b C" text NOT NULL, at moment, day date, n numeric(10,2) DEFAULT 1,
                g int GENERATED ALWAYS AS (a * 2) STORED, i bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY ("b C", a));
            CREATE INDEX ON prices (at, a);
            CREATE TABLE note (x text, y int, FOREIGN KEY (x, y) REFERENCES prices ("b C", a) ON DELETE SET NULL);
            CREATE INDEX ON note (y, x);
            """)
        let reader = try database.reader()
        let entity = try #require(try reader.entity(named: "prices"))
        #expect(entity.primaryKey == ["b C", "a"])
        #expect(entity.attributes.map(\.name) == ["a", "b C", "at", "day", "n", "g", "i"])
        #expect(entity.attributes.map(\.affinity) == [.integer, .text, .none, .none, .numeric, .integer, .integer])
        #expect(entity.attributes.map(\.dateEncoding) == [nil, nil, .native, .native, nil, nil, nil])
        #expect(entity.attributes.map(\.isRequired) == [true, true, false, false, false, false, true])
        #expect(entity.attributes.map(\.hasDefault) == [false, false, false, false, true, false, true])
        #expect(entity.attributes.map(\.isGenerated) == [false, false, false, false, false, true, false])
        #expect(
            entity.incomingRelationships == [
                Relationship(
                    source: "note", sourceAttributes: ["x", "y"], destination: "prices",
                    destinationAttributes: ["b C", "a"], deleteRule: .nullify, isIndexed: true)
            ])
        #expect(try reader.table("prices")?.indexes.map(\.columns).contains(["at", "a"]) == true)
    }

    @Test func boundsOfPartitionsAreReadOnlyWhereTheyProveSomething() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE plain (at timestamptz);
            CREATE TABLE days (at timestamptz) PARTITION BY RANGE (at);
            CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM (MINVALUE) TO ('2026-01-01 00:00:00+00');
            CREATE TABLE days_2 PARTITION OF days FOR VALUES FROM ('2026-01-01 00:00:00+00') TO ('2026-02-01 00:00:00+00');
            CREATE TABLE days_3 PARTITION OF days FOR VALUES FROM ('2026-02-01 00:00:00+00') TO (MAXVALUE);
            CREATE TABLE days_4 PARTITION OF days DEFAULT;
            CREATE TABLE numbers (n bigint) PARTITION BY RANGE (n);
            CREATE TABLE numbers_1 PARTITION OF numbers FOR VALUES FROM (-5) TO (17);
            CREATE TABLE words (w text) PARTITION BY RANGE (w);
            CREATE TABLE words_1 PARTITION OF words FOR VALUES FROM ('a'') TO (''b') TO ('c');
            CREATE TABLE pairs (at date, n int) PARTITION BY RANGE (at, n);
            CREATE TABLE pairs_1 PARTITION OF pairs FOR VALUES FROM ('2026-01-01', 1) TO ('2026-02-01', 1);
            CREATE TABLE lists (at date) PARTITION BY LIST (at);
            CREATE TABLE lists_1 PARTITION OF lists FOR VALUES IN ('2026-01-01');
            CREATE TABLE hashes (at date) PARTITION BY HASH (at);
            CREATE TABLE hashes_1 PARTITION OF hashes FOR VALUES WITH (MODULUS 2, REMAINDER 0);
            """)
        let reader = try database.reader()
        func bounds(_ table: String) throws -> [[String]?] {
            try reader.leaves(of: reader.requireTable(table)).map { $0.bounds.map { [$0.lower, $0.upper] } }
        }
        #expect(try bounds("days") == [nil, ["2026-01-01 00:00:00+00", "2026-02-01 00:00:00+00"], nil, nil])
        #expect(try bounds("numbers") == [["-5", "17"]])
        #expect(try bounds("words") == [["a') TO ('b", "c"]])
        for table in ["plain", "pairs", "lists", "hashes"] { #expect(try bounds(table) == [nil]) }
    }

    @Test func foreignKeysOfPartitionedTablesAreToldOnce() throws {
        let database = try TestDatabase(
            """
            CREATE TABLE prices (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
            CREATE TABLE p1 PARTITION OF prices FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
            CREATE TABLE p2 PARTITION OF prices DEFAULT;
            CREATE TABLE note (id int, at date, FOREIGN KEY (id, at) REFERENCES prices ON DELETE CASCADE);
            """)
        #expect(try database.reader().entity(named: "prices")?.incomingRelationships.count == 1)
    }
}
