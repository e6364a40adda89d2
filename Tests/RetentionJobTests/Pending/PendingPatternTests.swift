import Foundation
import RetentionPolicy
import Testing

@testable import RetentionJob

@Suite struct PendingPatternTests {
    let fixture: PendingFixture

    init() throws { fixture = try PendingFixture() }

    private func pattern(_ files: String, databases: [String] = []) -> PendingPattern {
        let source = PendingSource(
            files: files, baseFolder: fixture.root, entity: "Price", marks: Marks(whole: Mark(line: 1, column: 1)))
        return PendingPattern(source, databases: databases)
    }

    private func names(_ files: String) -> [String] { pattern(files).files().files.map(\.displayName) }

    @Test func filesComeInOrderOfNameWithoutUnfinishedOnes() throws {
        for name in [
            "b.csv", "a.csv", ".hidden.csv", "c.csv.part", "d.tmp", "e.csv.rejected", "f.ndjson", "g.csv/inner.csv",
            "done/z.csv", "prices.sqlite", "prices.sqlite-wal", "prices.sqlite.retention-lock",
        ] {
            try fixture.write("pending/\(name)", "x")
        }
        #expect(names("pending/*.csv") == ["pending/a.csv", "pending/b.csv"])
        #expect(names("pending/*") == ["pending/a.csv", "pending/b.csv", "pending/f.ndjson"])
        #expect(names("pending/a.csv") == ["pending/a.csv"])
        #expect(names("pending/[ab].csv") == ["pending/a.csv", "pending/b.csv"])
        #expect(names("\(fixture.root)/pending/?.csv") == ["pending/a.csv", "pending/b.csv"])
        #expect(names("*/*.csv") == ["pending/a.csv", "pending/b.csv"])
        #expect(names("pending/*/*.csv") == ["pending/g.csv/inner.csv"])
    }

    @Test func aPatternWithoutFilesIsNoProblem() {
        for files in ["pending/*.csv", "nowhere/deep/*.csv", "x.csv"] {
            let found = pattern(files).files()
            #expect(found.files.isEmpty)
            #expect(found.problems.isEmpty)
        }
    }

    @Test func aPatternForTakenFilesIsAProblem() throws {
        for files in ["done/*.csv", "pending/done/*.csv", "*/done/*.csv"] {
            #expect(pattern(files).files().problems.count == 1, "\(files)")
            try fixture.write("pending/done/a.csv", "x")
            let problems = pattern(files).files().problems
            #expect(
                problems.count == 1 && problems[0].contains("files in a folder named done are never taken"), "\(files)")
        }
        try FileManager.default.createSymbolicLink(
            atPath: fixture.path("link"), withDestinationPath: fixture.path("pending/done"))
        #expect(pattern("link/*.csv").files().problems.count == 1)
        #expect(pattern("pending/*/*.csv").files().problems.isEmpty)
    }

    @Test func symbolicLinksAreNotFollowed() throws {
        let outside = try PendingFixture()
        try outside.write("in/a.csv", "x")
        try fixture.write("pending/b.csv", "x")
        try FileManager.default.createSymbolicLink(
            atPath: fixture.path("pending/a.csv"), withDestinationPath: outside.path("in/a.csv"))
        try FileManager.default.createSymbolicLink(
            atPath: fixture.path("linked"), withDestinationPath: outside.path("in"))
        let found = pattern("pending/*.csv").files()
        #expect(found.files.map(\.displayName) == ["pending/b.csv"])
        #expect(found.problems == ["pending/a.csv: refusing to follow a symbolic link"])
        let folders = pattern("l*/*.csv").files()
        #expect(folders.files.isEmpty)
        #expect(folders.problems == ["linked: refusing to follow a symbolic link out of \(fixture.root)"])
        let named = pattern("linked/*.csv").files()
        #expect(named.files.map(\.folder) == [outside.path("in")])
    }

    @Test func goingUpAfterAWildcardIsRefused() throws {
        try fixture.write("a/b.csv", "x")
        try fixture.write("c.csv", "x")
        let found = pattern("*/../*.csv").files()
        #expect(found.files.isEmpty)
        #expect(found.problems.count == 1)
    }

    @Test func theStoreIsNeverAPendingFile() throws {
        let store = try fixture.write("prices", "x")
        try fixture.write("other", "x")
        #expect(pattern("*", databases: [store]).files().files.map(\.name) == ["other"])
    }

    @Test func namesGetANumberBeforeTheirEnding() {
        #expect(NumberedName.name("a.csv", number: 1) == "a.csv")
        #expect(NumberedName.name("a.csv", number: 2) == "a-2.csv")
        #expect(NumberedName.name("a", number: 3) == "a-3")
        #expect(NumberedName.name("a.b.csv", number: 2) == "a.b-2.csv")
    }
}
