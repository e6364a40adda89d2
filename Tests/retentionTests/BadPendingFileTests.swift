import Foundation
import Testing

/// Pending files with something wrong: the line or the file is kept with the reason, the rest is saved, exit 65. What is wrong with a
/// line is in the tests of the readers.
struct BadPendingFileTests {
    @Test func badLinesAndFilesAreKeptWithTheirReasonsAndTheRestIsSaved() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(
                Sample.rule(),
                head: """
                    pending:
                      - { files: "new/*.csv", entity: Price }
                      - { files: "new/*.ndjson", entity: Price }
                    """))
        let lines =
            Array("symbol,price,at\nBEFORE,1,\(Sample.date(2))\nXAUUSD,1\n".utf8) + [0xFF, 0xFE]
            + Array(",1,\(Sample.date(1))\nXAUUSD,1,2026-02-30\nAFTER,1,\(Sample.date(3))\n".utf8)
        try job.folder.write(
            #"{"symbol": "JSON", "price": 1, "at": "\#(Sample.date(1))"}"# + "\n[1, 2]\n", to: "new/p.ndjson")
        try Data(lines).write(to: URL(filePath: job.path("new/prices.csv")))
        try job.folder.write("symbol,prize,at\nX,1,\(Sample.date(1))\n", to: "new/wrong.csv")
        // What is being written, or is no file.
        let command = """
            cd new && echo 'symbol,price,at' >.hidden.csv && cp .hidden.csv part.csv.part && cp .hidden.csv t.csv.tmp &&
            mkdir folder.csv && mkfifo pipe.csv && ln -s ../prices.sqlite link.csv
            """
        #expect(try LaunchedProgram.shell(command, in: job.folder.url).status == 0)
        let before = try job.listing()

        let dry = try job.report("--dry-run")
        #expect(try job.listing() == before)
        let text = try job.retention("run", "--dry-run").output.replacing(/\s+/, with: " ")
        #expect(text.contains("wrong.csv: wrong header: Price has no attribute 'prize'"), "\(text)")
        let run = try job.report()
        for report in [dry, run] {
            #expect(report.exitCode == 65, "\(report)")
            #expect(report.pending == Report.Pending(files: 2, saved: 3, ignored: 0, rejected: 4))
        }
        // The rule is carried out all the same.
        #expect(run.rules[0].outcome == "completed" && run.rules[0].deleted == 10)
        #expect(
            try job.rows("SELECT symbol FROM Price WHERE symbol <> 'XAUUSD' ORDER BY symbol")
                == ["AFTER", "BEFORE", "JSON"])
        #expect(try Data(contentsOf: URL(filePath: job.path("new/done/prices.csv"))) == Data(lines))
        let rejected = try Data(contentsOf: URL(filePath: job.path("new/prices.csv.rejected")))
        #expect(
            rejected.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) } == [
                "# line 3: wrong number of fields: 2, the header has 3", "XAUUSD,1", "# line 4: not UTF-8",
                "\u{FFFD}\u{FFFD},1,\(Sample.date(1))",
                "# line 5: at: not an ISO 8601 date, nor a number in unix_seconds",
                "XAUUSD,1,2026-02-30",
            ])
        #expect(try job.text("new/p.ndjson.rejected") == "# line 2: not a JSON object\n[1, 2]\n")
        #expect(
            Set(before.filter { !$0.hasSuffix("prices.csv") && !$0.hasSuffix("p.ndjson") })
                .isSubset(of: try job.listing()))
        #expect(try job.text("new/wrong.csv").hasPrefix("symbol,prize,at\nX,"))
    }
}
