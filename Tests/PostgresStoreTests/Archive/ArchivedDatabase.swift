import PriceStore

@testable import PostgresStore

/// A database whose deletes are archived in a schema of it, and what is in its tables.
struct ArchivedDatabase {
    static let run = "01KAAAAAAAAAAAAAAAAAAAAAAA"
    static let schema = "kept \"rows\""
    let database: TestDatabase
    var run = Self.run

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

    /// Deletes the rows of requests with an archive; the rules are named `r0`, `r1`, ….
    @discardableResult
    func delete(
        _ requests: [SurveyRequest], techniques: [String?] = [], batchRows: Int? = nil,
        on writer: PostgresWriter? = nil,
        isComplete: Bool = true
    ) throws -> ArchiveResult? {
        let writer = try writer ?? database.writer()
        let rules = requests.enumerated().map {
            ArchiveRequest.Rule(name: "r\($0)", entity: $1.entity, cutoff: $1.cutoff)
        }
        try writer.beginArchive(
            ArchiveRequest(place: Self.schema, run: run, facts: ["policy_sha256": "a'b\"c,{}"], rules: rules))
        let requests = requests.enumerated().map { index, request in
            var request = request
            request.archiveRule = "r\(index)"
            request.technique = techniques.indices.contains(index) ? techniques[index] : nil
            return request
        }
        for request in requests { _ = try writer.survey(request) }
        for request in requests {
            let deletion = try writer.deletion(of: request)
            var hasMore = true
            while hasMore {
                let part = try deletion.deleteNext(
                    DeletionBounds(rows: deletion.outline.isInBatches ? batchRows : nil))
                guard part.result.archivedCount == part.result.deletedCount + part.result.cascadedCount else {
                    throw StoreError(.defect, store: "", message: "not all that was deleted is archived: \(part)")
                }
                hasMore = part.hasMore
            }
        }
        return isComplete ? try writer.completeArchive() : nil
    }

    @discardableResult
    func delete(_ entities: String..., batchRows: Int? = nil) throws -> ArchiveResult? {
        try delete(entities.map(Self.request), batchRows: batchRows)
    }

    func request(_ rules: [String] = []) -> RestorationRequest {
        RestorationRequest(archive: Self.schema, run: run, rules: rules)
    }

    /// What a restoration did, all in all.
    struct Outcome: Equatable {
        var tables: [String: RestoredTable] = [:]
        var skipped: [SkippedRow] = []

        var total: RestoredTable { tables.values.reduce(into: RestoredTable()) { $0.add($1) } }
    }

    /// Restores to the end, or some parts only.
    @discardableResult
    func undo(rules: [String] = [], rows: Int = 1000, parts: Int = .max) throws -> Outcome {
        let restoration = try database.writer().restoration(of: request(rules))
        var outcome = Outcome()
        for _ in 0..<parts {
            let part = try restoration.restoreNext(rows: rows)
            for (table, counts) in part.tables { outcome.tables[table, default: RestoredTable()].add(counts) }
            outcome.skipped += part.skipped
            guard part.hasMore else { break }
        }
        return outcome
    }

    /// All rows of all tables as text, which shows every digit and letter.
    func contents(without left: Set<String> = []) throws -> [String: [String]] {
        let connection = try database.connection()
        let names = try connection.rows(
            SQLFragment(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') "
                    + "AND NOT relispartition AND relname NOT LIKE 'citus%'"))
        var contents: [String: [String]] = [:]
        for name in names.compactMap({ $0[0] }) where !left.contains(name) {
            contents[name] = try connection.rows(
                SQLFragment("SELECT t::text FROM \(name.quotedIdentifier) AS t ORDER BY t::text COLLATE \"C\"")
            ).map { $0[0] ?? "" }
        }
        return contents
    }

    /// A table of the schema in SQL.
    func archive(_ table: String) -> String { "\(Self.schema.quotedIdentifier).\(table.quotedIdentifier)" }
}
