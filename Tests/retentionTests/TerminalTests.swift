import Foundation
import Testing

/// What people see on a terminal of so many columns. `script` of util-linux makes one.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script"), "script is not installed"))
struct TerminalTests {
    private func job() throws -> LaunchedJob {
        try LaunchedJob(
            Sample.price
                + "CREATE TABLE YahooGoldPricePoint(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);"
                + Sample.rows(1200, daysAgo: 40) + Sample.rows(50, daysAgo: 1)
                + Sample.rows(2200, daysAgo: 40, in: "YahooGoldPricePoint")
                + Sample.rows(70, daysAgo: 1, in: "YahooGoldPricePoint"),
            policy: Sample.policy(
                Sample.rule("limits: { max_rows: 1 }", name: "refused", entity: "YahooGoldPricePoint"), Sample.rule(),
                Sample.rule(name: "yahoo-gold-price-points", entity: "YahooGoldPricePoint"),
                Sample.rule(name: "empty", age: "400d")))
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

    @Test(
        arguments: ["run --dry-run", "run --no-progress", "check", "inspect prices.sqlite", "log", "run -c none.yaml"],
        [60, 80, 120])
    func noLineIsWiderThanTheTerminal(command: String, columns: Int) throws {
        let job = try job()
        if command == "log" { for _ in 0..<3 { _ = try job.retention("run") } }
        let lines = try lines(command, in: job, columns: columns)
        #expect(!lines.isEmpty)
        for line in lines { #expect(line.count <= columns, "\(line)") }
    }

    @Test func foldedRowsKeepTheirCellsWhole() throws {
        let text = try lines("run --dry-run", in: job(), columns: 80).joined(separator: "\n")
        for cell in ["yahoo-gold-price-points", "YahooGoldPricePoint", "CUTOFF (UTC)", "2,270", "2,200", "96.9%"] {
            #expect(text.contains(cell), "\(cell)\n\(text)")
        }
    }

    @Test func theLogShowsWarningsOnlyUnlessAsked() throws {
        #expect(try !lines("run", in: job(), columns: 80).contains { $0.contains(" info ") })
        #expect(try lines("run", in: job(), columns: 80).contains { $0.contains(" warning rule not completed") })
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
