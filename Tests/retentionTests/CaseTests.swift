import Foundation
import PostgresCluster
import Testing

/// All folders of `Tests/Cases`, on every engine that understands their SQL.
struct CaseTests {
    @Test(arguments: CaseFolder.names) func everyCommandPrintsWhatIsExpected(_ name: String) throws {
        let test = try CaseFolder(name)
        let job = try test.makeJob()
        try job.change(test.sql())
        let store = CaseFolder.Store(
            change: { try job.change($0) }, rows: { try job.rows($0).joined(separator: "\n") + "\n" })
        let differences = try CaseFolder.differences(test.steps, job, store)
        #expect(differences.isEmpty, "printed instead:\n\(differences.joined(separator: "\n"))")
    }

    @Test(.needsPostgres, arguments: CaseFolder.portableNames)
    func everyCommandPrintsItOnAServerToo(_ name: String) throws {
        let test = try CaseFolder(name)
        let cluster = try #require(PostgresCluster.shared)
        let url = try cluster.makeDatabase(test.sql())
        let job = try test.makeJob(url: url)
        let store = CaseFolder.Store(
            change: { _ = try cluster.run($0, url: url) }, rows: { try cluster.run($0, url: url) + "\n" })
        let differences = try CaseFolder.differences(test.steps, job, store)
        #expect(differences.isEmpty, "printed instead:\n\(differences.joined(separator: "\n"))")
    }

    @Test(arguments: [
        ("$ sql SELECT 1, 'a b'\n1|a b\n", true), ("$ sql SELECT 1\n2\n", false), ("$ sql SELECT 1\n", false),
        ("$ sql SELECT 1\n1\n…\n", true), ("$ sql SELECT 'one two three'\none … three\n", true),
        ("$ sql SELECT 'one two three'\none … four\n", false), ("$ echo a; exit 3\na\n$ exit 3\n", true),
        ("$ sql VALUES (1), (2), (3)\n…\n2\n…\n", true), ("$ sql VALUES (1), (2), (3)\n…\n2\n", false),
        ("$ echo a; exit 3\na\n", false), ("$ retention run -c 'no such.yaml'\n…no such.yaml…\n…\n$ exit 66\n", true),
    ]) func aDifferenceIsFound(_ transcript: String, _ fits: Bool) throws {
        let job = try LaunchedJob("", policy: "")
        let store = CaseFolder.Store(
            change: { try job.change($0) }, rows: { try job.rows($0).joined(separator: "\n") })
        let steps = try CaseFolder.steps(of: "# A transcript\n" + transcript)
        #expect(try CaseFolder.differences(steps, job, store).isEmpty == fits)
    }

    @Test(arguments: ["$ retention run\n", "# Issue 1\n$ exit 65\n", "# Issue 1\nprice\n$ retention run\n"])
    func aTranscriptThatNobodyUnderstandsIsAMistake(_ transcript: String) {
        #expect(throws: CaseFolder.Mistake.self) { try CaseFolder.steps(of: transcript) }
    }
}
