import PriceStore

/// The schema of a database that holds archives: four tables that describe them, and the tables of each run.
///
/// Every table has a comment that marks it as one of an archive.
struct ArchivePlace: Hashable {
    let schema: String

    /// The format of the archives that this version makes and reads.
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

    /// A table of the schema in SQL.
    func table(_ name: String) -> String { "\(schema.quotedIdentifier).\(name.quotedIdentifier)" }

    /// The name of a table of an archive.
    static func tableName(_ run: String, _ number: Int) -> String { "\(run).\(number)" }
}

extension PostgresConnection {
    /// Throws unless the schema is this user's alone, and its tables are ours.
    ///
    /// - Returns: whether the tables that describe the archives exist.
    @discardableResult
    func check(_ place: ArchivePlace) throws -> Bool {
        func refused(_ kind: StoreError.Kind, _ problem: String, hint: String) -> StoreError {
            StoreError(
                kind, store: name, message: "the schema of the archives, \(place.schema), \(problem)", hint: hint)
        }
        let make = "CREATE SCHEMA \(place.schema.quotedIdentifier)"
        let found = try rows(
            "SELECT current_user, pg_get_userbyid(nspowner), has_schema_privilege(oid, 'CREATE'), "
                + "(SELECT string_agg(DISTINCT CASE grantee WHEN 0 THEN 'everybody' ELSE pg_get_userbyid(grantee) END, ', ') "
                + "FROM aclexplode(nspacl) WHERE privilege_type = 'CREATE' AND grantee <> nspowner) "
                + "FROM pg_namespace WHERE nspname = " + .bound(place.schema, "name")
        ).first
        guard let found, let user = found[0] else {
            throw refused(.cannotCreate, "does not exist", hint: "create it as the user of the job: \(make)")
        }
        guard found[1] == user else {
            throw refused(
                .permission, "belongs to \(found[1] ?? "another role"), who could read and change the archives",
                hint: "name a schema of this user alone: \(make) AUTHORIZATION \(user.quotedIdentifier)")
        }
        if let others = found[3] {
            throw refused(
                .permission, "lets others create tables in it: \(others)",
                hint:
                    "REVOKE CREATE ON SCHEMA \(place.schema.quotedIdentifier) FROM \(others == "everybody" ? "PUBLIC" : others)"
            )
        }
        guard found[2] == "t" else {
            throw refused(
                .permission, "does not let \(user) create tables",
                hint: "GRANT CREATE ON SCHEMA \(place.schema.quotedIdentifier) TO \(user.quotedIdentifier)")
        }
        var known = 0
        for (table, _) in ArchivePlace.catalog {
            guard let isOurs = try isOurs(place.table(table), ArchivePlace.mark) else { continue }
            guard isOurs else {
                throw refused(
                    .cannotCreate, "has a table \(table) that no run created",
                    hint: "name another schema, or rename it")
            }
            known += 1
        }
        guard known == 0 || known == ArchivePlace.catalog.count else {
            throw refused(
                .inputOutput, "lacks some of the tables that describe the archives",
                hint: "restore them from a backup, or name another schema")
        }
        return known > 0
    }

    /// Whether a relation is a table of this user with a comment; nil: there is none of that name.
    func isOurs(_ relation: String, _ mark: String) throws -> Bool? {
        try rows(
            "SELECT relkind = 'r' AND pg_get_userbyid(relowner) = current_user AND obj_description(oid, 'pg_class') = "
                + .bound(mark, "text") + " IS TRUE FROM pg_class WHERE oid = to_regclass(" + .bound(relation, "text")
                + ")"
        ).first.map { $0[0] == "t" }
    }

    /// Creates a table that only this user can use, whatever the default privileges are.
    func makeTable(_ table: String, _ definition: String, mark: String) throws {
        try execute("CREATE TABLE \(table) \(definition)")
        let grantees = try rows(
            "SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END "
                + "FROM pg_class, aclexplode(relacl) WHERE grantee <> relowner AND oid = to_regclass("
                + .bound(table, "text") + ")")
        for grantee in grantees { try execute("REVOKE ALL ON \(table) FROM \(grantee[0] ?? "")") }
        try execute("COMMENT ON TABLE \(table) IS \(mark.quotedLiteral)")
    }
}
