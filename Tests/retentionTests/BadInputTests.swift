import Foundation
import Testing

/// A policy that cannot be read gets one clear error, and nothing is opened. Bad stores are in the case `store-that-is-none`.
struct BadInputTests {
    private static let sql = Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0)

    struct Policy: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var text: String
        var says: String
    }

    static let bomb =
        "version: 1\nstore: prices.sqlite\na0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        + (1...12).map {
            "a\($0): &a\($0) [" + Array(repeating: "*a\($0 - 1)", count: 9).joined(separator: ", ") + "]\n"
        }
        .joined() + "rules: *a12\n"

    @Test(arguments: [
        Policy(
            testDescription: "a byte more than 1 MiB",
            text: Sample.policy(Sample.rule()).padded(to: 1 << 20 + 1), says: "1 MiB"),
        Policy(testDescription: "alias bomb", text: bomb, says: "alias"),
        Policy(
            testDescription: "not YAML", text: Sample.policy(Sample.rule()) + "  - {", says: "not YAML"),
    ])
    func aPolicyThatCannotBeReadStopsEverything(_ policy: Policy) throws {
        let job = try LaunchedJob(Self.sql, policy: policy.text)
        for arguments in [["run"], ["run", "--dry-run"], ["log"]] {
            let end = try job.perform(arguments)
            #expect(end.status == 78 && end.output.isEmpty, "\(end)")
            #expect(
                end.errors.hasPrefix("retention.yaml:") && end.errors.hasSuffix(" error\n"))
            #expect(end.errors.contains(policy.says), "\(end.errors)")
            #expect(end.errors.count < 3000)
        }
        // Nothing was opened: no lock, no ledger.
        #expect(try job.listing() == ["prices.sqlite", "retention.yaml"])
        #expect(try job.number("SELECT count(*) FROM Price") == 13)
    }

    @Test func aPolicyOfExactly1MiBIsRead() throws {
        let job = try LaunchedJob(Self.sql, policy: Sample.policy(Sample.rule()).padded(to: 1 << 20))
        #expect(try job.report().totals.deleted == 10)
    }

    @Test func anAliasBombTakesNeitherTimeNorMemory() throws {
        let job = try LaunchedJob(Self.sql, policy: Self.bomb)
        // Address space: 9^13 nodes have no room in it, and no time in two seconds.
        let end = try LaunchedProgram.shell("ulimit -t 2; ulimit -v 4000000; retention run", in: job.folder.url)
        #expect(end.status == 78, "\(end)")
    }
}

extension String {
    /// The text with a comment behind it that makes it so many bytes long.
    fileprivate func padded(to byteCount: Int) -> String {
        self + "#" + String(repeating: "x", count: byteCount - utf8.count - 2) + "\n"
    }
}
