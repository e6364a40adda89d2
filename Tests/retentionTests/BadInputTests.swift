import Foundation
@preconcurrency import Glibc
import Testing

/// Bad input gets one clear error and its exit code, and nothing is lost.
struct BadInputTests {
    private static let sql = Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0)

    // MARK: The policy

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

    @Test func aPolicyThatIsAFolderExits74() throws {
        let job = try LaunchedJob(Self.sql, policy: "")
        let end = try job.retention("run", "-c", ".")
        #expect(end.status == 74 && end.errors.split(separator: "\n").count <= 2, "\(end)")
    }

    // MARK: The store

    struct Store: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// A shell command that spoils `prices.sqlite`.
        var command: String
        var status: Int32
        var says: String
    }

    @Test(arguments: [
        Store(
            testDescription: "a text", command: "yes 'this is no database' | head -n 100 >prices.sqlite", status: 74,
            says: "not a SQLite database"),
        Store(testDescription: "empty", command: ": >prices.sqlite", status: 78, says: "no entities"),
        Store(
            testDescription: "cut off", command: "truncate -s 6000 prices.sqlite", status: 74, says: "SQLITE_CORRUPT"),
        Store(
            testDescription: "cut off in the header", command: "truncate -s 50 prices.sqlite", status: 74,
            says: "not a SQLite database"),
        Store(
            testDescription: "header and rubbish",
            command: "head -c 8000 /dev/zero | tr '\\0' 'x' | dd of=prices.sqlite bs=1 seek=100 conv=notrunc",
            status: 74,
            says: "SQLITE_CORRUPT"),
        Store(
            testDescription: "rubbish at the head of each page",
            command: "for at in 4096 8192; do yes | head -c 16 | dd of=prices.sqlite bs=1 seek=$at conv=notrunc; done",
            status: 74, says: "SQLITE_CORRUPT"),
        Store(
            testDescription: "a pipe", command: "rm prices.sqlite && mkfifo prices.sqlite", status: 74,
            says: "not a regular file"),
        Store(
            testDescription: "a link to nothing", command: "rm prices.sqlite && ln -s nowhere prices.sqlite",
            status: 66, says: "not found"),
        Store(
            testDescription: "a link to itself", command: "rm prices.sqlite && ln -s prices.sqlite prices.sqlite",
            status: 74, says: "Too many levels of symbolic links"),
    ])
    func aFileThatIsNotAStoreIsNotTouched(_ store: Store) throws {
        let job = try LaunchedJob(Self.sql, policy: Sample.policy(Sample.rule(), head: "ledger: none"))
        #expect(try LaunchedProgram.shell(store.command, in: job.folder.url).status == 0)
        let before = try? Data(
            contentsOf: URL(filePath: store.command.contains("mkfifo") ? "/dev/null" : job.path("prices.sqlite")))
        try job.expectEverywhere(store.status, store.says)
        let after = try? Data(
            contentsOf: URL(filePath: store.command.contains("mkfifo") ? "/dev/null" : job.path("prices.sqlite")))
        #expect(after == before)
    }

    // MARK: Names

    struct Name: CustomTestStringConvertible, Sendable {
        var rule: String
        var says: String
        var testDescription: String { says }
    }

    @Test(arguments: [
        Name(rule: Sample.rule(entity: "Prise"), says: "did you mean 'Price'?"),
        Name(
            rule: Sample.rule(entity: "Dear", format: "unix_seconds", age: "30d").replacing("at,", with: "att,"),
            says: "'att'"),
    ])
    func aNameThatTheStoreLacksIsAMistakeOfTheFile(_ name: Name) throws {
        let job = try LaunchedJob(
            Self.sql + "CREATE VIEW Dear AS SELECT * FROM Price;",
            policy: Sample.policy(Sample.rule(name: "first"), name.rule))
        for arguments in [["check"], ["run", "--dry-run"], ["run"]] {
            let end = try job.perform(arguments)
            let text = end.errors + end.output
            #expect(end.status == 78 && text.contains(name.says), "\(end)")
            // The place: the second rule's line, with a caret below it.
            #expect(text.contains("retention.yaml:6:") && text.contains("^"))
        }
        // Not even the rule without a mistake was carried out.
        #expect(try job.number("SELECT count(*) FROM Price") == 13)
    }
}

extension String {
    /// The text with a comment behind it that makes it so many bytes long.
    fileprivate func padded(to byteCount: Int) -> String {
        self + "#" + String(repeating: "x", count: byteCount - utf8.count - 2) + "\n"
    }
}
