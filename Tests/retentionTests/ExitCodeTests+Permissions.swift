import Foundation
@preconcurrency import Glibc
import Testing

/// Exit code 77, as a user who is not root meets it.
extension ExitCodeTests {
    /// Whether the program can be started as a user other than root: this user, or nobody.
    static let canBeUnprivileged: Bool = {
        guard geteuid() == 0 else { return true }
        guard let folder = try? TemporaryFolder() else { return false }
        return (try? unprivileged(["--version"], in: folder.url))?.status == 0
    }()

    private static func unprivileged(_ arguments: [String], in folder: URL) throws -> LaunchedProgram.Ending {
        guard geteuid() == 0 else { return try LaunchedProgram.run("retention", arguments, in: folder) }
        let program = LaunchedProgram.folder.appending(path: "retention").path
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups", program]
        return try LaunchedProgram.run(
            URL(filePath: "/usr/bin/setpriv"), user + arguments, in: folder, environment: nil)
    }

    struct Place: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var sql = ""
        /// The file or folder whose mode is changed; "" is the folder of all.
        var path: String
        var mode: Int
        var arguments: [String]
        var says: String
    }

    @Test(
        .enabled(if: canBeUnprivileged, "run as root without setpriv"),
        arguments: [
            Place(
                testDescription: "policy that cannot be read", path: "retention.yaml", mode: 0, arguments: ["run"],
                says: "retention.yaml: the policy cannot be read: Permission denied"),
            Place(
                testDescription: "store that cannot be read", path: "prices.sqlite", mode: 0,
                arguments: ["run", "--dry-run"], says: "no permission to read the store: Permission denied"),
            Place(
                testDescription: "store that cannot be written", path: "prices.sqlite", mode: 0o444,
                arguments: ["run"], says: "no permission to change the store: Permission denied"),
            Place(
                testDescription: "folder that cannot be written", path: "", mode: 0o555, arguments: ["run"],
                says: "lock cannot be opened: Permission denied; the run needs to write in the store's folder"),
            Place(
                testDescription: "WAL store in a folder that cannot be written", sql: "PRAGMA journal_mode = WAL;",
                path: "", mode: 0o555, arguments: ["run", "--dry-run"], says: "write permission on its folder"),
        ])
    func whatThePermissionsForbidExits77(_ place: Place) throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0) + place.sql,
            policy: Sample.policy(Sample.rule()))
        // In a world-writable folder, only the tested mode prevents the access.
        chmod(job.folder.url.path, 0o777)
        chmod(job.path("prices.sqlite"), 0o666)
        chmod(job.folder.url.appending(path: place.path).path, mode_t(place.mode))
        let end = try Self.unprivileged(place.arguments, in: job.folder.url)
        chmod(job.folder.url.path, 0o755)
        chmod(job.path("prices.sqlite"), 0o644)
        #expect(end.status == 77 && end.output.isEmpty, "\(end)")
        #expect(end.errors.contains(place.says), "\(end.errors)")
        #expect(try job.number("SELECT count(*) FROM Price") == 13)
        #expect(try job.listing() == ["prices.sqlite", "retention.yaml"])
    }

    /// The policy is in a folder like `/etc`, and the store in one of the job's user.
    @Test(.enabled(if: geteuid() == 0 && canBeUnprivileged, "only root makes a folder for another user"))
    func aDraftOfRootServesTheUserOfTheJob() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(13, daysAgo: 0), policy: "")
        chmod(job.folder.url.path, 0o755)
        for folder in ["etc", "var"] { mkdir(job.path(folder), 0o755) }
        rename(job.path("prices.sqlite"), job.path("var/prices.sqlite"))
        for path in ["var", "var/prices.sqlite"] { chown(job.path(path), 65534, 65534) }
        let made = try job.launch(["init", "var/prices.sqlite", "--output", "etc/retention.yaml"])
        #expect(made.status == 0, "\(made)")
        let text = try job.text("etc/retention.yaml").replacing("max_age:   ", with: "max_age: 30d")
        try job.folder.write(text.replacing("enabled: false", with: "enabled: true"), to: "etc/retention.yaml")
        let check = try Self.unprivileged(["check", "-c", "etc/retention.yaml"], in: job.folder.url)
        #expect(check.status == 0, "\(check)")
        let run = try Self.unprivileged(["run", "-c", "etc/retention.yaml"], in: job.folder.url)
        #expect(run.status == 0 && run.output.contains("Deleted 10 rows"), "\(run)")
        #expect(access(job.path("var/archive"), F_OK) == 0 && access(job.path("var/retention.log"), F_OK) == 0)
    }

    @Test(.enabled(if: canBeUnprivileged, "run as root without setpriv"))
    func aDryRunCountsWhatARunCouldNotDelete() throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100) + Sample.rows(3, daysAgo: 0),
            policy: Sample.policy(Sample.rule()))
        chmod(job.folder.url.path, 0o555)
        defer { chmod(job.folder.url.path, 0o755) }
        let end = try Self.unprivileged(["run", "--dry-run", "--format", "json"], in: job.folder.url)
        #expect(end.status == 77 && end.output.contains("no permission to change the store"), "\(end)")
        #expect(try Report(json: end.output).totals.expired == 10)
        #expect(try Self.unprivileged(["check"], in: job.folder.url).status == 77)
        #expect(try Self.unprivileged(["report"], in: job.folder.url).status == 0)
    }
}
