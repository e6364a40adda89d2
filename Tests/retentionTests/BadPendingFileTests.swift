import Foundation
@preconcurrency import Glibc
import Testing

/// Pending files with something wrong: the line or the file is kept with the reason, the rest is saved, exit 65.
struct BadPendingFileTests {
    private func job() throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(
                Sample.rule(),
                head: """
                    pending:
                      - { files: "new/*.csv", entity: Price }
                      - { files: "new/*.ndjson", entity: Price }
                    """))
        try job.folder.write("symbol,price,at\nGOOD,1,\(Sample.date(1))\n", to: "new/good.csv")
        return job
    }

    struct Line: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var bytes: [UInt8]
        var reason: String
        init(_ testDescription: String, _ text: String, reason: String) {
            (self.testDescription, bytes, self.reason) = (testDescription, Array(text.utf8), reason)
        }
        init(_ testDescription: String, bytes: [UInt8], reason: String) {
            (self.testDescription, self.bytes, self.reason) = (testDescription, bytes, reason)
        }
    }

    static let lines = [
        Line("too few fields", "XAUUSD,1", reason: "wrong number of fields"),
        Line("not UTF-8", bytes: [0xFF, 0xFE] + Array(",1,\(Sample.date(1))".utf8), reason: "UTF-8"),
        Line(
            "more than 1 MiB", String(repeating: "x", count: 1 << 20) + ",1,\(Sample.date(1))", reason: "line too long"),
        Line("a day that is none", "XAUUSD,1,2026-02-30", reason: "at"),
    ]

    @Test(arguments: lines)
    func aBadLineIsKeptWithItsReasonAndTheOthersAreSaved(_ line: Line) throws {
        let job = try job()
        let file =
            Array("symbol,price,at\nBEFORE,1,\(Sample.date(2))\n".utf8) + line.bytes
            + Array("\nAFTER,1,\(Sample.date(3))\n".utf8)
        try Data(file).write(to: URL(filePath: job.path("new/prices.csv")))
        let dry = try job.report("--dry-run")
        #expect(try job.listing().filter { $0.contains("rejected") || $0.contains("done") }.isEmpty)
        let run = try job.report()
        for report in [dry, run] {
            #expect(report.exitCode == 65, "\(report)")
            #expect(report.pending == Report.Pending(files: 2, saved: 3, ignored: 0, rejected: 1))
        }
        // The rule is carried out all the same.
        #expect(run.rules[0].outcome == "completed" && run.rules[0].deleted == 10)
        #expect(
            try job.rows("SELECT symbol FROM Price WHERE symbol <> 'XAUUSD' ORDER BY symbol") == [
                "AFTER", "BEFORE", "GOOD",
            ])
        #expect(try Data(contentsOf: URL(filePath: job.path("new/done/prices.csv"))) == Data(file))
        let rejected = try Data(contentsOf: URL(filePath: job.path("new/prices.csv.rejected")))
        let head = String(decoding: rejected.prefix { $0 != 0x0A }, as: UTF8.self)
        #expect(head.hasPrefix("# line 3: ") && head.contains(line.reason), "\(head)")
        #expect(Array(rejected.drop { $0 != 0x0A }.dropFirst()) == line.bytes + [0x0A])
        #expect(try job.report().exitCode == 0)
    }

    struct File: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// What a shell puts in place of `new/bad.csv`.
        var command: String
        var reason: String
    }

    @Test(arguments: [
        File(testDescription: "a wrong column", command: "echo 'symbol,prize,at' >new/bad.csv", reason: "'price'"),
        File(testDescription: "a database", command: "cp prices.sqlite new/bad.csv", reason: "wrong header"),
        File(
            testDescription: "a header without end", command: "head -c 3000000 /dev/zero | tr '\\0' x >new/bad.csv",
            reason: "too long"),
    ])
    func aBadFileIsNotMovedAndTheOthersAreImported(_ file: File) throws {
        let job = try job()
        #expect(try LaunchedProgram.shell(file.command, in: job.folder.url).status == 0)
        let before = try Data(contentsOf: URL(filePath: job.path("new/bad.csv")))
        for arguments in [["run", "--dry-run"], ["run"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 65 && end.output.contains("bad.csv"), "\(end)")
            #expect(end.output.replacing(/\s+/, with: " ").contains(file.reason), "\(end.output)")
        }
        #expect(try Data(contentsOf: URL(filePath: job.path("new/bad.csv"))) == before)
        #expect(try job.listing().contains("new/done/good.csv"))
        #expect(try job.rows("SELECT symbol FROM Price WHERE symbol <> 'XAUUSD'") == ["GOOD"])
        #expect(try job.number("SELECT count(*) FROM Price") == 4)
    }

    @Test func badLinesOfNDJSONAreKeptToo() throws {
        let job = try job()
        let lines = [
            #"{"symbol": "A", "price": 1, "at": "\#(Sample.date(1))"}"#, #"{"symbol": "B", "at": "#, "[1, 2]",
            #"{"symbol": "C", "prize": 1, "at": "\#(Sample.date(1))"}"#, #"{"symbol": "D", "at": {"day": 1}}"#, "null",
            #"{"symbol": "E", "at": \#(Sample.unixSeconds(1))}"#,
            #"{"symbol": "F", "symbol": "G", "at": "\#(Sample.date(1))"}"#,
        ]
        try job.folder.write(lines.joined(separator: "\n"), to: "new/prices.ndjson")
        let report = try job.report()
        #expect(report.exitCode == 65)
        #expect(report.pending == Report.Pending(files: 2, saved: 3, ignored: 0, rejected: 6), "\(report.pending)")
        #expect(try job.rows("SELECT symbol FROM Price WHERE symbol <> 'XAUUSD' ORDER BY 1") == ["A", "E", "GOOD"])
        let rejected = try job.text("new/prices.ndjson.rejected").split(separator: "\n")
        #expect(rejected.filter { !$0.hasPrefix("# line ") }.map(String.init) == [1, 2, 3, 4, 5, 7].map { lines[$0] })
    }

    @Test func filesThatAreBeingWrittenOrAreNoFilesWait() throws {
        let job = try job()
        let command = """
            cd new && echo 'symbol,price,at' >.hidden.csv && cp .hidden.csv part.csv.part && cp .hidden.csv t.csv.tmp &&
            mkdir folder.csv && mkfifo pipe.csv && ln -s ../prices.sqlite link.csv
            """
        #expect(try LaunchedProgram.shell(command, in: job.folder.url).status == 0)
        let end = try job.retention("run", "--format", "json")
        #expect(try Report(json: end.output).pending.saved == 1, "\(end)")
        let left = [".hidden.csv", "folder.csv", "link.csv", "part.csv.part", "pipe.csv", "t.csv.tmp"].map {
            "new/" + $0
        }
        #expect(Set(try job.listing()).isSuperset(of: left))
        #expect(try job.number("SELECT count(*) FROM Price") == 4)
    }
}
