import PriceStore

/// The schema of a database for archives: four tables that describe the archives, and the tables of each run.
///
/// A comment marks each of its tables.
struct ArchivePlace {
    let session: PostgresDatabase
    let schema: String

    /// The format of archives that this version writes and reads.
    static let format = 1
    /// The comment on the tables that describe the archives.
    static let mark = "retention archives, format \(format)"
    /// The comment on a table of an archive.
    static func mark(of run: String) -> String { "retention archive of run \(run)" }

    /// The tables that describe the archives, with their columns.
    static let catalog = [
        (
            "retention_archives",
            "run text PRIMARY KEY, format int4 NOT NULL, store text NOT NULL, facts jsonb NOT NULL, rules jsonb NOT NULL, "
                + "complete bool NOT NULL, row_count int8 NOT NULL, reference_count int8 NOT NULL"
        ),
        (
            "retention_tables",
            "run text, number int4, kind text NOT NULL, store_schema text NOT NULL, store_table text NOT NULL, "
                + "archive_table text NOT NULL, key text[] NOT NULL, columns text[] NOT NULL, PRIMARY KEY (run, number)"
        ),
        (
            "retention_parts",
            "run text, part int4, rule int4 NOT NULL, table_number int4, first_row int8 NOT NULL, last_row int8 NOT NULL, "
                + "PRIMARY KEY (run, part, table_number)"
        ),
        (
            "retention_restored",
            "run text, table_number int4, first_row int8, last_row int8 NOT NULL, PRIMARY KEY (run, table_number, first_row)"
        ),
    ]

    func table(_ name: String) -> String { "\(schema.quotedIdentifier).\(name.quotedIdentifier)" }

    static func tableName(_ run: String, _ number: Int) -> String { "\(run).\(number)" }

    /// Throws unless the schema belongs to this user alone, and its tables were made by retention.
    ///
    /// - Returns: whether the tables that describe the archives exist.
    @discardableResult
    func check() throws -> Bool {
        func refused(_ kind: StoreError.Kind, _ problem: String, hint: String) -> StoreError {
            StoreError(
                kind, store: session.name, message: "the schema of the archives, \(schema), \(problem)", hint: hint)
        }
        let make = "CREATE SCHEMA \(schema.quotedIdentifier)"
        let found = try session.row(
            "SELECT current_user AS user, pg_get_userbyid(nspowner) AS owner, has_schema_privilege(oid, 'CREATE') AS may_create, "
                + "(SELECT string_agg(DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, ', ') "
                + "FROM aclexplode(nspacl) WHERE privilege_type = 'CREATE' AND grantee <> nspowner) AS others "
                + "FROM pg_namespace WHERE nspname = " + .bound(schema, "name"))
        guard let found else {
            throw refused(.cannotCreate, "does not exist", hint: "create it as the user of the job: \(make)")
        }
        let (user, owner) = try (found.text("user"), found.text("owner"))
        guard owner == user else {
            throw refused(
                .permission, "belongs to \(owner), who could read and change the archives",
                hint: "name a schema of this user alone: \(make) AUTHORIZATION \(user.quotedIdentifier)")
        }
        if let others = try found.optionalText("others") {
            throw refused(
                .permission, "lets others create tables in it: \(others)",
                hint: "REVOKE CREATE ON SCHEMA \(schema.quotedIdentifier) FROM \(others)")
        }
        guard try found.isTrue("may_create") else {
            throw refused(
                .permission, "does not let \(user) create tables",
                hint: "GRANT CREATE ON SCHEMA \(schema.quotedIdentifier) TO \(user.quotedIdentifier)")
        }
        var known = 0
        for (table, _) in Self.catalog {
            guard let isOurs = try isOurs(self.table(table), Self.mark) else { continue }
            guard isOurs else {
                throw refused(
                    .cannotCreate, "has a table \(table) that no run created",
                    hint: "name another schema, or rename it")
            }
            known += 1
        }
        guard known == 0 || known == Self.catalog.count else {
            throw refused(
                .inputOutput, "lacks some of the tables that describe the archives",
                hint: "restore them from a backup, or name another schema")
        }
        return known > 0
    }

    /// Whether a relation is this user's table with a given comment; nil if there is no relation of that name.
    func isOurs(_ relation: String, _ mark: String) throws -> Bool? {
        try session.row(
            "SELECT relkind = 'r' AND pg_get_userbyid(relowner) = current_user AND obj_description(oid, 'pg_class') = "
                + .bound(mark, "text") + " IS TRUE AS is_ours FROM pg_class WHERE oid = to_regclass("
                + .bound(relation, "text")
                + ")"
        )?.isTrue("is_ours")
    }

    /// Creates a table that only this user can use, despite any default privileges.
    func makeTable(_ table: String, _ definition: String, mark: String) throws {
        try session.execute("CREATE TABLE \(table) \(definition)")
        let grantees = try session.texts(
            "SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END "
                + "FROM pg_class, aclexplode(relacl) WHERE grantee <> relowner AND oid = to_regclass("
                + .bound(table, "text") + ")")
        for grantee in grantees { try session.execute("REVOKE ALL ON \(table) FROM \(grantee)") }
        try session.execute("COMMENT ON TABLE \(table) IS \(mark.quotedLiteral)")
    }
}
