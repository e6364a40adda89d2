import Foundation
import Testing

/// `docs/retention.schema.json` is what the program says, and a validator that knows nothing of the program agrees with
/// the reader.
struct SchemaTests {
    private static let python = URL(filePath: "/usr/bin/python3")
    private static let checker = LaunchedProgram.project.appending(path: "scripts/check-schema").path

    /// Whether the validator is here; `scripts/test` installs it.
    static let hasValidator: Bool = {
        guard FileManager.default.isExecutableFile(atPath: python.path), let folder = try? TemporaryFolder() else {
            return false
        }
        let end = try? LaunchedProgram.run(python, ["-c", "import jsonschema, yaml"], in: folder.url, environment: nil)
        return end?.status == 0
    }()

    private func schema(in folder: TemporaryFolder) throws -> String {
        let end = try LaunchedProgram.perform(["schema"], in: folder.url)
        try #require(end.status == 0 && end.errors.isEmpty, "\(end)")
        return end.output
    }

    @Test func theCommittedSchemaIsTheProgramsOwn() throws {
        let committed = try String(
            contentsOf: LaunchedProgram.project.appending(path: "docs/retention.schema.json"), encoding: .utf8)
        let isCurrent = try schema(in: TemporaryFolder()) == committed
        #expect(isCurrent, "it is stale; make it anew: swift run retention schema >docs/retention.schema.json")
    }

    @Test(.enabled(if: hasValidator, "python3-jsonschema and python3-yaml are not installed"))
    func takesEverySampleAndRefusesEveryBadFile() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(schema(in: folder), to: "schema.json").path
        let end = try LaunchedProgram.run(
            Self.python, [Self.checker, "--schema", path], in: folder.url, environment: nil)
        #expect(end.status == 0, "\(end.errors)")
        #expect(end.output.contains("good policies validate"))
    }

    /// A policy that `init` writes is a good one once it has its ages, and a bad one before.
    @Test(.enabled(if: hasValidator, "python3-jsonschema and python3-yaml are not installed"))
    func takesADraftOnceItHasItsAges() throws {
        let job = try LaunchedJob(Sample.price + Sample.rows(5, daysAgo: 40), policy: "")
        let draft = try job.perform(["init", "prices.sqlite"])
        try #require(draft.status == 0, "\(draft)")
        let finished = draft.output.replacing("max_age:   ", with: "max_age: 30d")
        for (text, isGood) in [(draft.output, false), (finished, true)] {
            try job.folder.write(text, to: "draft.yaml")
            let end = try LaunchedProgram.run(
                Self.python, [Self.checker, "draft.yaml"], in: job.folder.url, environment: nil)
            #expect((end.status == 0) == isGood, "\(text)\n\(end)")
        }
    }
}
