import Foundation
import Testing

/// What people see on a terminal of so many columns. `script` of util-linux makes one.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script"), "script is not installed"))
struct TerminalTests {
    /// A name of 40 characters.
    private static let long = "settlement-prices-of-all-metals-by-minute"

    /// - Parameter hasArchive: whether the runs can be undone.
    private func job(hasArchive: Bool = false) throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price
                + "CREATE TABLE \"\(Self.long)\"(id INTEGER PRIMARY KEY, price REAL, at INTEGER,"
                + " a_column_with_a_long_name TEXT, parent INTEGER REFERENCES Price(id) ON DELETE CASCADE);"
                + "INSERT INTO \"\(Self.long)\" (price, at, a_column_with_a_long_name)"
                + " SELECT price, at, 'a text of so many characters' FROM Price;"
                + "CREATE TABLE YahooGoldPricePoint(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);"
                + Sample.rows(1200, daysAgo: 40) + Sample.rows(50, daysAgo: 1)
                + Sample.rows(2200, daysAgo: 40, in: "YahooGoldPricePoint")
                + Sample.rows(70, daysAgo: 1, in: "YahooGoldPricePoint"),
            policy: Sample.policy(
                Sample.rule("limits: { max_rows: 1 }", name: "refused", entity: "YahooGoldPricePoint"), Sample.rule(),
                Sample.rule(name: "yahoo-gold-price-points", entity: "YahooGoldPricePoint"),
                Sample.rule(name: Self.long, entity: Self.long), Sample.rule(name: "empty", age: "400d"),
                head: hasArchive ? "archive: { folder: archive, keep: 30d }" : ""))
        if hasArchive { try job.makeFolder("archive") }
        return job
    }

    /// The lines of a terminal; both streams are on it.
    private func lines(
        _ command: String, in job: LaunchedJob, columns: Int, variables: String = "NO_COLOR=1"
    ) throws -> [String] {
        let line = "stty cols \(columns) rows 40; \(variables) retention \(command)"
        let end = try LaunchedProgram.shell("script -qec '\(line)' /dev/null", in: job.folder.url)
        // Both kinds of line ends are one character. What a progress bar showed before is overwritten.
        return end.output.replacing("\r\n", with: "\n").split(separator: "\n").map { line in
            (line.split(separator: "\r").last.map(String.init) ?? "").replacing("\u{1B}[K", with: "")
        }
    }

    @Test(arguments: [60, 80, 120], [false, true])
    func noLineIsWiderThanTheTerminal(columns: Int, hasArchive: Bool) throws {
        let job = try job(hasArchive: hasArchive)
        for command in [
            "run --dry-run", "run --dry-run --sample 2", "check", "inspect prices.sqlite", "run --no-progress", "log",
            "undo --list", "undo 0 --dry-run", "log --run 0", "run -c none.yaml",
        ] where hasArchive || !command.hasPrefix("undo") {
            let lines = try lines(command, in: job, columns: columns)
            #expect(!lines.isEmpty, "\(command)")
            // A path, a name or a command is not broken.
            for line in lines where line.contains(#/\S \S/#) && !line.contains(#/^ +(retention run -c|CREATE INDEX) /#)
            {
                #expect(line.count <= columns, "\(command): \(line)")
            }
        }
    }

    /// What a table shows on 80 columns: each row once, and each figure in the line of its row or below it.
    @Test func noRowIsBroken() throws {
        let text = try lines("run --dry-run", in: job(), columns: 80).joined(separator: "\n")
        for part in [
            "\nRULE\n", "\nyahoo-gold-price-points\n", "\n\(Self.long)\n", "\n  YahooGoldPricePoint  30d",
            "  2,200  96.9%",
        ] {
            #expect(text.contains(part), "\(part)\n\(text)")
        }
        #expect(text.matches(of: #/EXPIRED/#).count == 1, "\(text)")
    }

    @Test func aRunIsOneLineOfTheLog() throws {
        let job = try job()
        for _ in 0..<3 { _ = try job.retention("run") }
        let refused = "  REFUSED  refused: too_many_rows; 3,400 deleted  "
        let lines = try lines("log", in: job, columns: 100)
        #expect(lines.count == 4 && lines[1].contains(refused), "\(lines)")
        #expect(lines[2...].allSatisfy { $0.contains("  ok       nothing deleted  ") }, "\(lines)")
    }

    @Test func aWarningAppearsOnce() throws {
        let policy = Sample.policy(Sample.rule())
        let job = try LaunchedJob(Sample.price + "INSERT INTO Price(at) VALUES (NULL), (5);", policy: policy)
        let text = try lines("run", in: job, columns: 80).joined(separator: " ")
        #expect(text.matches(of: #/no date can be read/#).count == 1, "\(text)")
    }

    /// The first Ctrl-C ends the run after its batch, and says so.
    @Test func aSignalIsAcknowledged() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.slowDeletes(steps: 200_000) + Sample.rows(3000, daysAgo: 100)
                + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(Sample.rule("batch: { rows: 10 }")))
        let command =
            "stty cols 80; retention run & until [ -e prices.sqlite-journal ]; do sleep 0.05; done; kill -INT $!; wait $!"
        try job.folder.write(command, to: "command")
        let end = try LaunchedProgram.shell("script -qec 'sh command' /dev/null", in: job.folder.url)
        #expect(end.output.contains("stopping after this batch; again to stop at once"), "\(end)")
        #expect(end.output.contains("stopped by SIGINT"), "\(end)")
    }

    @Test func theLogShowsWarningsOnlyUnlessAsked() throws {
        #expect(try !lines("run", in: job(), columns: 80).contains { $0.contains(" info ") })
        #expect(try !lines("run", in: job(), columns: 80).contains { $0.contains(" warning ") })
        let apart = "run >/dev/null"
        #expect(try lines(apart, in: job(), columns: 80).contains { $0.contains(" warning rule not completed") })
        #expect(try lines("run --log-level info", in: job(), columns: 80).contains { $0.contains(" info run started") })
        #expect(try lines("run --verbose", in: job(), columns: 80).contains { $0.contains(" info run started") })
        #expect(try lines("run --log-format json", in: job(), columns: 80).contains { $0.contains("\"info\"") })
        let policy = Sample.policy(Sample.rule(), head: "log: { level: info }")
        let told = try LaunchedJob(Sample.price, policy: policy)
        #expect(try lines("run", in: told, columns: 80).contains { $0.contains(" info run started") })
    }

    @Test func checkIsColouredAsARunIs() throws {
        let job = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule(entity: "Prise")))
        let coloured = try lines("check", in: job, columns: 80, variables: "NO_COLOR= TERM=xterm").joined()
        #expect(coloured.contains("\u{1B}[31merror:\u{1B}[0m"), "\(coloured)")
        for variables in ["NO_COLOR=1 TERM=xterm", "TERM=dumb"] {
            #expect(try !lines("check", in: job, columns: 80, variables: variables).joined().contains("\u{1B}"))
        }
        #expect(try !job.retention("check").output.contains("\u{1B}"))
    }
}
