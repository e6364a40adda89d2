import GRDB
import Testing

/// What a schema does not let a run delete: the check and the dry run refuse it, and where they do not the run deletes to
/// the row what the dry run says.
struct RelationshipJobTests {
    struct Case: CustomTestStringConvertible {
        /// What the rule says of relationships.
        let word: String
        /// What the tables are beside `t`, whose columns follow `id` and `at`, and their rows; `$old` is an expired date.
        let columns, sql: String
        /// The refusal; nil: the run deletes.
        let refusal: String?

        init(_ refusal: String?, _ word: String, _ columns: String, _ sql: String) {
            (self.refusal, self.word, self.columns, self.sql) = (refusal, word, columns, sql)
        }

        var testDescription: String { "\(word) \(columns) \(sql)" }
    }

    private static let two = "INSERT INTO t VALUES (1, $old), (2, $old), (9, $new);"
    private static func numbers(_ count: Int) -> String {
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))"
    }
    private static let accepted = "deny, accept: [relationship_denied]"
    private static let denied: String? = "relationship_denied"
    private static let unsupported: String? = "unsupported_schema"

    static let cases: [Case] = [
        // The rule's override, and what the schema declares of the same key.
        Case(
            nil, "nullify",
            "up INTEGER DEFAULT 2 REFERENCES t ON DELETE SET DEFAULT, root INTEGER REFERENCES t ON DELETE CASCADE",
            "INSERT INTO t VALUES (1, $old, 3, NULL), (2, $old, 1, 1), (3, $old, 1, 2), (4, $new, 3, 3)"),
        Case(
            unsupported, "nullify",
            "up INTEGER CHECK (up > 0 AND up IS NOT NULL) REFERENCES t ON DELETE SET NULL, root INTEGER REFERENCES t ON DELETE CASCADE",
            "INSERT INTO t VALUES (1, $old, 1, NULL), (2, $old, 1, 1), (9, $new, 9, NULL)"),
        Case(
            unsupported, "cascade", "up INTEGER NOT NULL REFERENCES t ON DELETE SET NULL",
            "INSERT INTO t VALUES (1, $old, 2), (2, $old, 1), (9, $new, 9)"),
        // Constraints.
        Case(
            unsupported, "as_declared", "",
            "CREATE TABLE c(t INTEGER REFERENCES t ON DELETE SET NULL CHECK (t IS NOT NULL));"
                + two + "INSERT INTO c VALUES (2)"),
        Case(
            unsupported, "nullify", "",
            "CREATE TABLE c(t INTEGER REFERENCES t, a, CHECK (a = 1 OR c.\"t\" NOT NULL));"
                + two + "INSERT INTO c VALUES (1, 1), (2, 0)"),
        // Whether the rows would keep a constraint that names the reference is not asked.
        Case(
            unsupported, "nullify", "",
            "CREATE TABLE c(t INTEGER REFERENCES t, a, CHECK (a = 1 OR t NOT NULL), CHECK (a < 9));"
                + two + "INSERT INTO c VALUES (1, 1), (2, NULL)"),
        Case(
            nil, "nullify", "",
            "CREATE TABLE c(t INTEGER REFERENCES t, a, CHECK (a < 9));" + two + "INSERT INTO c VALUES (1, 1)"),
        Case(
            unsupported, "nullify", "",
            "CREATE TABLE c(t INTEGER REFERENCES t, u INTEGER REFERENCES t, CHECK (t NOT NULL OR u NOT NULL));"
                + two + "INSERT INTO c VALUES (1, 2)"),
        Case(
            unsupported, "nullify", "",
            "CREATE TABLE c(k, t INTEGER REFERENCES t); CREATE UNIQUE INDEX c_k ON c(k) WHERE t IS NULL;"
                + two + "INSERT INTO c VALUES (1, 1), (1, 2)"),
        Case(
            denied, "as_declared", "",
            "CREATE TABLE c(t INTEGER UNIQUE DEFAULT 9 REFERENCES t ON DELETE SET DEFAULT);"
                + two + "INSERT INTO c VALUES (1), (2)"),
        Case(
            unsupported, "as_declared", "",
            "CREATE TABLE c(t INTEGER UNIQUE REFERENCES t ON DELETE SET NULL); CREATE TABLE g(c REFERENCES c(t));"
                + two + "INSERT INTO c VALUES (2); INSERT INTO g VALUES (2)"),
        Case(
            unsupported, "nullify", "",
            "CREATE TABLE c(t INTEGER REFERENCES t, g AS (t + 1) CHECK (g NOT NULL));"
                + two + "INSERT INTO c(t) VALUES (2)"),
        // A refusal of `deny` that is accepted leaves what the schema forbids.
        Case(
            denied, accepted, "", "CREATE TABLE c(t INTEGER REFERENCES t);" + two + "INSERT INTO c VALUES (2)"),
        Case(
            denied, accepted, "",
            "CREATE TABLE c(t INTEGER DEFAULT 7 REFERENCES t ON DELETE SET DEFAULT);" + two
                + "INSERT INTO c VALUES (2)"),
        Case(
            nil, accepted, "",
            "CREATE TABLE c(t INTEGER REFERENCES t ON DELETE SET NULL);" + two + "INSERT INTO c VALUES (2)"),
        // Another reference to the own table points at nothing.
        Case(
            unsupported, "as_declared", "up INTEGER REFERENCES t ON DELETE SET NULL, other INTEGER REFERENCES t",
            "INSERT INTO t VALUES (1, $old, NULL, NULL), (2, $new, 1, 77)"),
        Case(
            unsupported, "nullify", "",
            "CREATE TABLE c(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t, c INTEGER REFERENCES c);"
                + two + "INSERT INTO c VALUES (1, 1, NULL), (2, 2, 77)"),
        // Cascades that lead back.
        Case(
            unsupported, "cascade", "up INTEGER REFERENCES t ON DELETE RESTRICT",
            "INSERT INTO t VALUES (1, $old, NULL), (9, $new, 9)"),
        Case(
            unsupported, "as_declared", "",
            "CREATE TABLE c(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t ON DELETE CASCADE, up INTEGER NOT NULL "
                + "REFERENCES c ON DELETE CASCADE); CREATE INDEX c_t ON c(t); CREATE INDEX c_up ON c(up);" + two
                + "INSERT INTO c VALUES (1, 1, 1)"),
        Case(
            nil, "nullify", "u INTEGER REFERENCES t ON DELETE CASCADE, v INTEGER REFERENCES t ON DELETE CASCADE",
            "CREATE INDEX t_u ON t(u); CREATE INDEX t_v ON t(v);" + numbers(1200)
                + "INSERT INTO t SELECT i, $old, iif(i % 2, 1 + i % 1200, NULL), iif(i % 2, NULL, 1 + i % 1200) FROM n;"
                + "INSERT INTO t VALUES (9999, $new, NULL, NULL)"),
        Case(
            unsupported, "as_declared", "c INTEGER REFERENCES c ON DELETE CASCADE",
            "CREATE TABLE c(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t ON DELETE CASCADE);"
                + "INSERT INTO t VALUES (1, $old, NULL), (9999, $new, NULL)"),
        // What this refusal advises.
        Case(
            nil, "nullify", "c INTEGER REFERENCES c ON DELETE CASCADE",
            "CREATE TABLE c(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t ON DELETE CASCADE); CREATE INDEX c_t ON c(t);"
                + "CREATE INDEX t_c ON t(c); INSERT INTO t VALUES (1, $old, 1), (2, $old, NULL), (9999, $new, 2);"
                + "INSERT INTO c VALUES (1, 1), (2, 1), (3, 9999)"),
    ]

    @Test(arguments: cases, ["DELETE", "WAL"])
    func whatPassesADryRunIsDeletedToTheRow(_ test: Case, _ journal: String) throws {
        let sql = test.sql.replacing("$old", with: "unixepoch() - 8640000").replacing("$new", with: "unixepoch()")
        let columns = test.columns.isEmpty ? "" : ", " + test.columns
        let job = try LaunchedJob(
            "PRAGMA foreign_keys = OFF; PRAGMA journal_mode = \(journal);"
                + "CREATE TABLE t(id INTEGER PRIMARY KEY, at INTEGER\(columns)); CREATE INDEX t_at ON t(at);" + sql,
            policy: Sample.policy(
                Sample.rule("relationships: \(test.word), batch: { rows: 5000 }", entity: "t")))
        let other = try DatabaseQueue(path: job.path("prices.sqlite"))
        defer { try? other.close() }
        let before = try other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") ?? 0 }
        let check = try job.retention("check").output
        let (planned, done) = (try job.report("--dry-run").rules[0], try job.report().rules[0])
        let after = try other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") ?? 0 }
        #expect(planned.refusal == test.refusal, "\(planned)")
        #expect(
            done.refusal == test.refusal && done.outcome == (test.refusal == nil ? "completed" : "refused"), "\(done)")
        if let refusal = test.refusal {
            #expect(check.contains("will be refused (\(refusal))"), "\(check)")
            #expect(after == before)
        } else {
            #expect(after == 1 && done.deleted == planned.expired && done.cascaded == planned.cascaded)
            #expect(done.nullified == planned.nullified)
        }
    }
}
