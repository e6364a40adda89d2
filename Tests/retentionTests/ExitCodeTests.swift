import Foundation
@preconcurrency import Glibc
import GRDB
import Testing

/// The exit codes of docs/output.md that no suite of a feature shows. 64 and 66 are in HelpTests, a policy that others may
/// write is in InsecureTests, 69 needs a server, see PostgresJobTests; 70 is a defect, which no input makes. Missing folders and second
/// names are in the cases `folders-that-are-missing` and `store-with-two-names`.
struct ExitCodeTests {
    private func job(_ more: String = "", keys: String = "", head: String = "") throws -> LaunchedJob {
        try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0) + more,
            policy: Sample.policy(Sample.rule(keys), head: head))
    }

    // MARK: 73, 74

    /// A file that is mounted by itself has a second name, as with a hard link, and its WAL stays behind at the first one.
    @Test(
        .enabled(if: mayMount, "only root can mount a file"),
        arguments: ["", "-wal", "-shm", "-journal"])
    func aStoreThatIsAMountPointExits74(ending: String) throws {
        let job = try job("PRAGMA journal_mode = WAL;")
        try job.folder.write("", to: "mounted")
        try FileManager.default.createSymbolicLink(
            atPath: job.path("link.sqlite"), withDestinationPath: "prices.sqlite")
        try job.folder.write(
            try job.text("retention.yaml").replacing("prices.sqlite", with: "link.sqlite"), to: "link.yaml")
        let name = "prices.sqlite" + ending
        let mounted = try LaunchedProgram.shell(
            "cp prices.sqlite other && touch \(name) && mount --bind \(ending.isEmpty ? "other" : "mounted") \(name)",
            in: job.folder.url)
        try #require(mounted.status == 0, "\(mounted)")
        defer { _ = try? LaunchedProgram.shell("umount \(name)", in: job.folder.url) }
        for arguments in [
            ["check"], ["run", "--dry-run"], ["run"], ["run", "-c", "link.yaml"], ["report", "--html", "-"],
            ["inspect", "prices.sqlite"], ["init", "prices.sqlite"],
        ] {
            let end = try job.perform(arguments)
            #expect(end.status == 74 && end.errors.contains("mount point of its own"), "\(end)")
            #expect(end.errors.contains("mount the folder"), "\(end)")
        }
        try #require(LaunchedProgram.shell("umount \(name)", in: job.folder.url).status == 0)
        #expect(try job.report().totals.deleted == 10)
    }

    /// The application uses the mounted name, the job the file itself.
    @Test(.enabled(if: mayMount, "only root can mount a file"), arguments: ["", "-wal"])
    func aStoreThatIsMountedElsewhereExits74(ending: String) throws {
        let job = try job("PRAGMA journal_mode = WAL;")
        let name = "prices.sqlite" + ending
        let mounted = try LaunchedProgram.shell(
            "mkdir 'in #1' && touch \(name) 'in #1/store' && mount --bind \(name) 'in #1/store'", in: job.folder.url)
        try #require(mounted.status == 0, "\(mounted)")
        defer { _ = try? LaunchedProgram.shell("umount 'in #1/store'", in: job.folder.url) }
        for arguments in [["check"], ["run", "--dry-run"], ["run"], ["inspect", "prices.sqlite"]] {
            let end = try job.launch(arguments)
            #expect(end.status == 74 && end.errors.contains("is also mounted by itself at"), "\(end)")
            #expect(end.errors.contains("in #1/store: that name"), "\(end)")
        }
        try #require(LaunchedProgram.shell("umount 'in #1/store'", in: job.folder.url).status == 0)
        #expect(try job.report().totals.deleted == 10)
    }

    /// Only the application has the mount.
    @Test(.enabled(if: mayMount, "only root can mount a file"))
    func aStoreThatIsMountedInAnotherNamespaceExits74() throws {
        let job = try job("PRAGMA journal_mode = WAL;")
        let application = """
            import sqlite3, sys
            c = sqlite3.connect('in/prices.sqlite'); c.execute('SELECT count(*) FROM Price').fetchone()
            open('ready', 'w').close(); open('end').close()
            """
        try job.folder.write(application, to: "application.py")
        // One shell: what it leaves behind keeps it from ending.
        let end = try LaunchedProgram.shell(
            """
            mkdir in; touch in/prices.sqlite; mkfifo ready end
            unshare -m sh -c 'mount --bind prices.sqlite in/prices.sqlite && exec timeout 60 python3 application.py' >out 2>&1 &
            timeout 30 cat ready
            for words in check "run --dry-run" run; do retention $words; echo "exit $?"; done
            timeout 30 sh -c ': >end'; wait; cat out >&2
            """, in: job.folder.url)
        #expect(end.output.split(separator: "\n") == ["exit 74", "exit 74", "exit 74"], "\(end)")
        #expect(end.errors.ranges(of: "has the store open in WAL mode, but no WAL is beside it").count == 3, "\(end)")
        #expect(try job.report().totals.deleted == 10)
    }

    @Test(.enabled(if: mayMount, "only root can mount a folder"))
    func aStoreInAMountedFolderIsUsed() throws {
        let job = try job("PRAGMA journal_mode = WAL;")
        try job.folder.write(
            Sample.policy(Sample.rule()).replacing("prices.sqlite", with: "again/prices.sqlite"), to: "p.yaml")
        let mounted = try LaunchedProgram.shell("mkdir again && mount --bind . again", in: job.folder.url)
        try #require(mounted.status == 0, "\(mounted)")
        defer { _ = try? LaunchedProgram.shell("umount again", in: job.folder.url) }
        #expect(try job.report("-c", "p.yaml").totals.deleted == 10)
    }

    @Test func aWriteThatFailsExits74AndLosesNothing() throws {
        let job = try job(Sample.rows(20000, daysAgo: 50), keys: "batch: { rows: 1000 }", head: "ledger: none")
        // No byte may be written behind the first 64 KiB of any file.
        let end = try LaunchedProgram.shell("trap '' XFSZ; ulimit -f 128; exec retention run", in: job.folder.url)
        #expect(end.status == 74, "\(end)")
        #expect(end.errors.contains("nothing was deleted"))
        #expect(try job.rows("PRAGMA integrity_check") == ["ok"])
        #expect(try job.number("SELECT count(*) FROM Price") == 20013)
        #expect(try job.report().totals.deleted == 20010)
    }

    /// Whether this user can mount a small file system.
    static let mayMount: Bool = {
        guard geteuid() == 0, let folder = try? TemporaryFolder() else { return false }
        let end = try? LaunchedProgram.shell("mkdir m && mount -t tmpfs -o size=64k none m && umount m", in: folder.url)
        return end?.status == 0
    }()

    // MARK: 75

    @Test(arguments: ["DELETE", "WAL"])
    func aStoreThatStaysLockedExits75(journal: String) throws {
        let job = try job("PRAGMA journal_mode = \(journal);")
        let policy = try job.text("retention.yaml")
        try job.folder.write(
            policy.replacing("store: prices.sqlite", with: "store: { path: prices.sqlite, busy_timeout: 100ms }"),
            to: "retention.yaml")
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let holder = try DatabaseQueue(path: job.path("prices.sqlite"), configuration: configuration)
        try holder.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let report = try job.report()
        #expect(report.exitCode == 75 && report.totals.deleted == 0 && report.totals.residue == 10)
        #expect(report.failure?.contains("(SQLITE_BUSY)") == true, "\(report)")
        // Reading is possible all the time.
        #expect(try job.report("--dry-run").totals.expired == 10)
        try holder.inDatabase { try $0.execute(sql: "ROLLBACK") }
        try holder.close()
        #expect(try job.report().totals.deleted == 10)
    }
}
