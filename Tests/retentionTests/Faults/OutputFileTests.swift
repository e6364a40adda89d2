import Foundation
@preconcurrency import Glibc
import Testing

/// No file that the program writes takes the place of another file, however its path is written.
struct OutputFileTests {
    /// A way to have the program write where it must not. `main` runs in the folder of the job.
    struct Trap: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// A key of the policy with `@` for the path.
        var key: String
        var path: String
        /// What is made first, in a shell.
        var made = ""
        /// What the error says.
        var says: String
    }

    static let log = "log: { file: '@' }"
    static let metrics = "metrics: { textfile: '@' }"
    static let ledger = "ledger: '@'"

    static let traps: [Trap] =
        [log, metrics, ledger].flatMap { key -> [Trap] in
            func trap(_ what: String, _ path: String, _ made: String = "", says: String) -> Trap {
                Trap(testDescription: "\(key): \(what)", key: key, path: path, made: made, says: says)
            }
            return [
                trap("the store", "prices.sqlite", says: "is the store"),
                trap("the store behind a folder and back", "sub/../prices.sqlite", "mkdir sub", says: "is the store"),
                trap("the store with two slashes", "/$PWD/prices.sqlite", says: "is the store"),
                trap("the store in a linked folder", "here/prices.sqlite", "ln -s . here", says: "is the store"),
                trap("a symbolic link", "link", "ln -s prices.sqlite link", says: "symbolic link"),
                trap("a symbolic link to nothing", "link", "ln -s nothing link", says: "symbolic link"),
                trap("the WAL", "prices.sqlite-wal", says: "belongs to the store"),
                trap(
                    "the shared memory of the WAL", "here/prices.sqlite-shm", "ln -s . here",
                    says: "belongs to the store"),
                trap("the journal", "sub/../prices.sqlite-journal", "mkdir sub", says: "belongs to the store"),
                trap("the journal in other letters", "Prices.sqlite-Journal", says: "belongs to the store"),
                trap("the lock file", "prices.sqlite.retention-lock", says: "belongs to the store"),
                trap("the policy", "./sub/../retention.yaml", "mkdir sub", says: "is the policy"),
                trap("a pending file that is there", "new/a.csv", says: "pending files"),
                trap("a pending file to come", "sub/../new/b.csv", "mkdir sub", says: "pending files"),
                trap("a folder", "sub", "mkdir sub", says: "is a folder"),
                trap("a named pipe", "pipe", "mkfifo pipe", says: "named pipe"),
                trap("the second name of a file", "two", "echo text >one; ln one two", says: "2 names"),
            ]
        } + [
            Trap(
                testDescription: "log and metrics", key: log, path: "sub/../m.prom", made: "mkdir sub",
                says: "'log.file'"),
            Trap(
                testDescription: "metrics and ledger", key: metrics, path: "here/retention.ledger.sqlite",
                made: "ln -s . here",
                says: "the ledger"),
            Trap(
                testDescription: "log and the WAL of the ledger", key: log, path: "retention.ledger.sqlite-wal",
                says: "belongs to the ledger"),
            Trap(
                testDescription: "a log in a text of somebody", key: log, path: "b", made: "echo 'cron: hello' >b",
                says: "does not begin like a log"),
            Trap(
                testDescription: "metrics over a text", key: metrics, path: "t", made: "echo mine >t",
                says: "not written by"),
            Trap(
                testDescription: "a log in the command of the policy", key: "on_failure: ./tell\nlog: { file: '@' }",
                path: "here/tell", made: "ln -s . here; echo '#!/bin/sh' >tell; chmod 755 tell",
                says: "does not begin like a log"
            ),
            Trap(
                testDescription: "a linked folder for taken files", key: log, path: "my.log",
                made: "mkdir elsewhere; ln -s ../elsewhere new/done", says: "symbolic link"),
        ]

    /// A job whose store must not change: its folder is compared byte by byte.
    private func job(_ trap: Trap) throws -> LaunchedJob {
        let job = try LaunchedJob(
            "PRAGMA journal_mode = WAL;" + Sample.price + Sample.rows(5, daysAgo: 100) + Sample.rows(3, daysAgo: 0),
            policy: "")
        try job.folder.write("symbol,at\nXAUUSD,\(Sample.date(1))\n", to: "new/a.csv")
        chmod(job.path("new"), 0o755)
        let key = trap.key.replacing("@", with: trap.path.replacing("$PWD", with: job.folder.url.path))
        let other = trap.testDescription == "log and metrics" ? "\nmetrics: { textfile: m.prom }" : ""
        try job.folder.write(
            Sample.policy(
                Sample.rule(), head: key + other + "\npending: [ { files: 'new/*.csv', entity: Price } ]"),
            to: "retention.yaml")
        try #require(try LaunchedProgram.shell(trap.made + "\ntrue", in: job.folder.url).status == 0)
        return job
    }

    /// The bytes of each file. Of what is neither a file nor a link it is the kind, so that no pipe is read.
    private func contents(_ job: LaunchedJob) throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try job.listing() {
            var facts = stat()
            try #require(lstat(job.path(name), &facts) == 0)
            let kind = facts.st_mode & S_IFMT
            let bytes = [S_IFREG, S_IFLNK].contains(kind) ? try? Data(contentsOf: URL(filePath: job.path(name))) : nil
            contents[name] = bytes ?? Data("kind \(kind)".utf8)
        }
        return contents
    }

    @Test(arguments: traps) func whatIsNotOursIsRefusedByAllCommandsAndLeftAsItIs(_ trap: Trap) throws {
        let job = try job(trap)
        let before = try contents(job)
        for arguments in [
            ["check"], ["check", "--offline"], ["run", "--dry-run"], ["run"], ["report", "--html", "-"],
        ] {
            let end = try job.perform(arguments)
            #expect(end.status == 78 && (end.output + end.errors).contains(trap.says), "\(arguments) \(end)")
            if arguments[0] != "check" { #expect(end.output.isEmpty) }
            let now = try contents(job)
            #expect(
                now.filter { !["prices.sqlite-shm", "prices.sqlite-wal"].contains($0.key) } == before, "\(arguments)")
        }
        try #require(try job.number("SELECT count(*) FROM Price") == 8)
    }

    // MARK: The page

    @Test(arguments: [
        "prices.sqlite", "/$PWD/prices.sqlite", "here/prices.sqlite", "link", "two", "prices.sqlite-wal",
        "prices.sqlite-journal", "prices.sqlite.retention-lock", "retention.yaml", "retention.ledger.sqlite",
        "retention.ledger.sqlite-wal", "my.log", "new/a.csv", "new/to-come.csv", "here", "pipe", "text",
        "other.html", "nowhere/page.html", "",
    ])
    func aPageReplacesOnlyAPage(_ path: String) throws {
        try expectRefusedPage(path)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a device"))
    func aPageDoesNotReplaceADevice() throws {
        try expectRefusedPage("device")
    }

    private func expectRefusedPage(_ path: String) throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5, daysAgo: 100) + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(
                Sample.rule(), head: "log: { file: my.log }\npending: [ { files: 'new/*.csv', entity: Price } ]"))
        try job.retention("run")
        let made = try LaunchedProgram.shell(
            """
            ln -s . here; ln -s prices.sqlite link; mkfifo pipe; echo mine >text; ln text two
            mkdir new; echo at >new/a.csv; printf '<!DOCTYPE html>\\n<html lang="en">\\n' >other.html
            [ "$(id -u)" != 0 ] || mknod device c 1 3
            """, in: job.folder.url)
        try #require(made.status == 0)
        let before = try contents(job)
        let end = try job.retention("report", "--html", path.replacing("$PWD", with: job.folder.url.path))
        #expect(end.status == (path.isEmpty ? 64 : 73) && end.errors.contains("retention: error:"), "\(end)")
        #expect(try contents(job) == before)
    }
}
