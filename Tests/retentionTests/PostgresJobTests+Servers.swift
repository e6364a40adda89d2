import Foundation
@preconcurrency import Glibc
import PostgresCluster
import TestSupport
import Testing

extension PostgresJobTests {
    /// The program with its own servers, which are stopped, promoted or require passwords.
    @Suite(.serialized)
    struct OwnServers {
        private static let schema = """
            CREATE TABLE price (id bigserial PRIMARY KEY, symbol text, price float8, at timestamptz);
            CREATE INDEX price_at ON price (at);
            INSERT INTO price (symbol, price, at) SELECT 'XAUUSD', n, now() - (n + 0.5) * interval '1 hour' FROM generate_series(0, 1999) n;

            """

        /// Makes each delete slow, so that a run can be met at its work.
        private static let slowDeletes = """
            CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(0.005); RETURN OLD; END$$;
            CREATE TRIGGER slow BEFORE DELETE ON price FOR EACH ROW EXECUTE FUNCTION slow();

            """

        private func policy(_ store: String) -> String {
            """
            version: 1
            store: \(store)
            timezone: UTC
            rules:
              - { name: gold, entity: price, date_attribute: at, max_age: 30d, batch: { rows: 20 } }
            """
        }

        @Test func aRunThatLosesItsPrimaryEndsWith69AndTheNextOneUsesThePromotedStandby() throws {
            let primary = try PostgresCluster()
            let url = try primary.makeDatabase(Self.schema + Self.slowDeletes)
            let name = PostgresCluster.database(of: url)
            let standby = try PostgresCluster(standbyOf: primary)

            let refused = try LaunchedJob("", policy: policy(standby.url(database: name))).retention("run")
            #expect(refused.status == 77 && refused.errors.contains("the server is a standby"))
            #expect(refused.errors.contains("name the primary in `store`"))

            let job = try LaunchedJob("", policy: policy(url))
            let run = try RunningProgram(job, "run", "--no-progress")
            #expect(try eventually { try primary.run("SELECT count(*) < 1900 FROM price", url: url) == "t" })
            try primary.stop()
            try standby.promote()
            #expect(run.wait() == 69)
            // The report has what was committed.
            let failed = try #require(try job.log().first?.rules.first)
            #expect(failed.outcome == "failed" && failed.deleted >= 100 && failed.deleted % 20 == 0, "\(failed)")
            // The run has tried to reach the server again.
            let errors = try job.text("stderr.txt")
            let end =
                "is the server running, and is the address right?; \(failed.deleted) rows are deleted and committed"
            #expect(errors.contains(end), "\(errors)")

            try job.folder.write(policy(standby.url(database: name)), to: "retention.yaml")
            // Another address may be another server.
            #expect(try job.report("--dry-run").rules[0].refusal == "policy_widened")
            let next = try job.report("--accept", "policy_widened")
            #expect(next.exitCode == 0 && next.rules[0].residue == 0)
            // What the primary had not sent yet is deleted again.
            #expect(next.rules[0].deleted >= 1280 - failed.deleted && next.rules[0].deleted % 20 == 0)
            // 30 days of hours, each half an hour away from the cutoff.
            #expect(try standby.run("SELECT count(*), max(price) FROM price", database: name) == "720|719")
        }

        @Test func passwordsComeFromLibpqsPlacesOverTLSAndAreNeverShown() throws {
            let cluster = try PostgresCluster(hasTLS: true)
            let url = try cluster.makeDatabase(
                Self.schema + Self.slowDeletes
                    + "CREATE ROLE guest LOGIN PASSWORD 'r1ght-s3cret'; GRANT SELECT, DELETE ON price TO guest;")
            let name = PostgresCluster.database(of: url)
            try cluster.requirePasswords()
            let tls = "sslmode=verify-full&sslrootcert=\(cluster.certificate)"
            let place = "postgresql://guest@localhost:\(cluster.port)/\(name)"
            let folder = try TemporaryFolder()
            try folder.write("localhost:\(cluster.port):\(name):guest:r1ght-s3cret\n", to: "passes")
            try folder.write(
                """
                [prices]
                host=localhost
                port=\(cluster.port)
                dbname=\(name)
                user=guest
                sslmode=verify-full
                sslrootcert=\(cluster.certificate)

                """, to: "services")
            try folder.write("r1ght-s3cret\n", to: "password")
            try folder.write("wr0ng-s3cret\n", to: "wrong")
            for file in ["passes", "password", "wrong"] { chmod(folder.url.appending(path: file).path, 0o600) }
            func file(_ name: String) -> String { folder.url.appending(path: name).path }

            func run(_ store: String, _ more: [String: String], _ command: String...) throws -> LaunchedProgram.Ending {
                let job = try LaunchedJob("", policy: policy(store))
                let environment = ["PATH": "/usr/bin:/bin", "HOME": folder.url.path].merging(more) { $1 }
                let end = try LaunchedProgram.run(
                    LaunchedProgram.folder.appending(path: "retention"), command, in: job.folder.url,
                    environment: environment)
                for text in [end.output, end.errors] { #expect(!text.contains("s3cret")) }
                for file in try job.listing() where file != "retention.yaml" {
                    let bytes = try Data(contentsOf: URL(filePath: job.path(file)))
                    #expect(bytes.firstRange(of: Data("s3cret".utf8)) == nil, "\(file)")
                }
                return end
            }

            let passes = ["PGPASSFILE": file("passes")]
            let dry = try run("\(place)?\(tls)", passes, "run", "--dry-run")
            #expect(dry.status == 0, "\(dry.errors)")
            let unknown = try run("postgresql://?service=prices", passes, "run", "--dry-run")
            #expect(
                unknown.status == 78 && unknown.errors.contains("definition of service \"prices\" not found"),
                "\(unknown.errors)")
            let service = passes.merging(["PGSERVICEFILE": file("services")]) { $1 }
            let checked = try run("postgresql://?service=prices", service, "check")
            #expect(checked.status == 0, "\(checked.errors)")
            let given = "{ url: \"\(place)?\(tls)\", password_file: \(file("password")) }"
            #expect(try run(given, [:], "check").status == 0)

            // A password that is wrong, wherever it comes from.
            let wrong = try run("{ url: \"\(place)?\(tls)\", password_file: \(file("wrong")) }", [:], "run")
            #expect(wrong.status == 77 && wrong.errors.contains("SQLSTATE 28P01"), "\(wrong.errors)")
            #expect(try run("\(place)?\(tls)", ["PGPASSWORD": "wr0ng-s3cret"], "run").status == 77)
            let none = try run("\(place)?\(tls)", [:], "run")
            #expect(none.status == 77 && none.errors.contains("`password_file`"), "\(none.errors)")

            // A certificate for another name, and an untrusted one.
            let other = place.replacingOccurrences(of: "localhost", with: "127.0.0.1")
            let mismatch = try run("\(other)?\(tls)", ["PGPASSWORD": "r1ght-s3cret"], "run")
            let names = "server certificate for \"localhost\" does not match host name \"127.0.0.1\""
            #expect(mismatch.status == 69 && mismatch.errors.contains(names), "\(mismatch.errors)")
            let stranger = try run(
                "\(place)?sslmode=verify-full&sslrootcert=\(file("services"))", ["PGPASSWORD": "r1ght-s3cret"], "run")
            #expect(stranger.status == 69, "\(stranger.errors)")

            // Others on the host, and on the server, see no password either.
            let job = try LaunchedJob("", policy: policy(given))
            let running = try RunningProgram(job, "run", "--no-progress", "--verbose")
            #expect(try eventually { try cluster.run("SELECT count(*) < 1980 FROM price", url: url) == "t" })
            let words = try Data(contentsOf: URL(filePath: "/proc/\(running.processID)/cmdline"))
            #expect(
                words.firstRange(of: Data("retention".utf8)) != nil && words.firstRange(of: Data("s3cret".utf8)) == nil)
            let sessions = try cluster.run(
                "SELECT ssl, application_name, query FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE usename = 'guest'",
                url: url)
            #expect(sessions.hasPrefix("t|retention ") && !sessions.contains("s3cret"), "\(sessions)")
            running.send(SIGINT)
            #expect(running.wait() == 130)
            #expect(try job.log().first?.rules.first?.outcome == "interrupted")
            for file in try job.listing() where file != "retention.yaml" {
                let bytes = try Data(contentsOf: URL(filePath: job.path(file)))
                #expect(bytes.firstRange(of: Data("s3cret".utf8)) == nil, "\(file)")
            }
        }
    }
}
