import PriceStore
import StoreConformance

@testable import PostgresStore

/// A database whose deletes are archived in a schema of it, and what is in its tables.
struct ArchivedDatabase: ArchivedFixture {
    static let archivesByPart = true
    static let schema = "kept \"rows\""
    let database: TestDatabase
    var run: String = Self.run

    init(_ database: TestDatabase) throws {
        self.database = database
        try database.run("CREATE SCHEMA \(Self.schema.quotedIdentifier)")
    }

    init(_ statements: String) throws {
        let database = try TestDatabase()
        try database.run(script: statements)
        try self.init(database)
    }

    /// The rows of a table that are older than 2026 by its column `at`.
    static func request(_ entity: String) -> SurveyRequest {
        SurveyRequest(entity: entity, date: .of("at"), cutoff: at("2026-01-01"))
    }

    var place: String { Self.schema }
    var archive: String { Self.schema }
    func writer() throws -> PostgresWriter { try database.writer() }
    func reader() throws -> PostgresReader { try database.reader() }

    /// All rows of all tables as text, which shows every digit and letter.
    func contents(without left: Set<String>) throws -> [String: [String]] {
        let connection = try database.connection()
        let names = try connection.texts(
            SQLFragment(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') "
                    + "AND NOT relispartition AND relname NOT LIKE 'citus%'"))
        var contents: [String: [String]] = [:]
        for name in names where !left.contains(name) {
            contents[name] = try connection.texts(
                SQLFragment("SELECT t::text FROM \(name.quotedIdentifier) AS t ORDER BY t::text COLLATE \"C\"")
            )
        }
        return contents
    }

    /// A table of the schema in SQL.
    func archive(_ table: String) -> String { "\(Self.schema.quotedIdentifier).\(table.quotedIdentifier)" }
}
