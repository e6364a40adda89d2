import Foundation
import PriceStore
import TestSupport
import Testing

/// The samples of docs/archive.md read an archive that the engine made, each with the tool that it names.
struct ArchiveSampleTests {
    private static let archive = "archive/01KAN3ZJ5V8Q0W6M4T2X7Y9BCD.sqlite"

    /// Every block of the page that names the archive.
    static func samples() throws -> [CodeBlock] {
        let page = try String(
            contentsOf: LaunchedProgram.project.appending(path: "docs/archive.md"), encoding: .utf8)
        return CodeBlock.blocks(of: page).filter { $0.text.contains(archive) }
    }

    private static func samples(_ word: String) throws -> [CodeBlock] {
        try samples().filter { $0.text.contains(word) }
    }

    /// A folder with a store and the archive of its ten old points.
    private func folder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let made = try LaunchedProgram.run(
            "goldprices", ["prices.sqlite", "--rows", "1000", "--until", "2025-01-01"], in: folder.url)
        try #require(made.status == 0, "\(made)")
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: "archive"), withIntermediateDirectories: true)
        let newest = try #require(Instant(iso8601: "2025-01-31T00:00:00Z"))
        try ArchiveFixture.make(
            in: folder.url.appending(path: "archive").path, run: "01KAN3ZJ5V8Q0W6M4T2X7Y9BCD",
            of: folder.url.appending(path: "prices.sqlite").path, entity: "YahooGoldPricePoint", date: "updateTime",
            now: newest)
        return folder
    }

    private func run(_ samples: [CodeBlock], in folder: TemporaryFolder) throws -> String {
        try samples.map { sample in
            let end: LaunchedProgram.Ending
            if sample.isShell {
                end = try LaunchedProgram.shell(sample.text, in: folder.url)
            } else {
                try folder.write(sample.text, to: "sample.py")
                end = try LaunchedProgram.shell("python3 sample.py", in: folder.url)
            }
            #expect(end.status == 0, "line \(sample.line): \(end.errors)")
            return end.output
        }.joined()
    }

    private static func canRun(_ line: String, script: String = "") -> Bool {
        guard let folder = try? TemporaryFolder(), (try? folder.write(script, to: "script.py")) != nil else {
            return false
        }
        return (try? LaunchedProgram.shell(line, in: folder.url).status) == 0
    }

    /// Installs DuckDB's extension for the user whose home is the test's folder: from PyPI's package of it, or as a user would.
    private static let duckDB = """
        import duckdb, glob, os
        try:
            import duckdb_extension_sqlite_scanner as package
            folder = os.path.join(os.path.dirname(package.__file__), "extensions", "*", "*.duckdb_extension")
            duckdb.sql("INSTALL '%s'" % glob.glob(folder)[0])
        except ImportError:
            duckdb.sql("INSTALL sqlite")
        duckdb.sql("LOAD sqlite")

        """

    private static let hasPandas = canRun("python3 -c 'import pandas'")
    private static let hasDuckDB = canRun("python3 script.py", script: duckDB)

    @Test func everySampleHasItsTest() throws {
        let samples = try Self.samples()
        #expect(samples.count == 4)
        for sample in samples {
            #expect(["sqlite3 -readonly", "pandas", "duckdb"].contains { sample.text.contains($0) }, "\(sample.text)")
        }
    }

    @Test(.enabled(if: canRun("sqlite3 -version"), "the sqlite3 shell is not installed"))
    func theShellReadsAnArchive() throws {
        let folder = try folder()
        let output = try run(Self.samples("sqlite3 -readonly"), in: folder)
        #expect(output.contains("run|01KAN3ZJ5V8Q0W6M4T2X7Y9BCD\n") && output.contains("complete|1\n"), "\(output)")
        let csv = try String(contentsOf: folder.url.appending(path: "points.csv"), encoding: .utf8)
        #expect(csv.contains("updateTime") && csv.split(separator: "\n").count == 1001, "\(csv.prefix(200))")
        // Another database takes the dump.
        let imported = try LaunchedProgram.shell(
            "sqlite3 new.sqlite <points.sql && sqlite3 new.sqlite 'SELECT count(*) FROM YahooGoldPricePoint'",
            in: folder.url)
        #expect(imported.output == "1000\n", "\(imported)")
    }

    @Test(.enabled(if: hasPandas, "pandas is not installed"))
    func pandasReadsAnArchive() throws {
        let output = try run(Self.samples("import pandas"), in: folder())
        #expect(output.contains("updateTime") && output.contains("1000.0"), "\(output)")
    }

    @Test(.enabled(if: hasDuckDB, "duckdb with its extension sqlite is not installed"))
    func duckDBWritesParquet() throws {
        let folder = try folder()
        try folder.write(Self.duckDB, to: "script.py")
        try #require(try LaunchedProgram.shell("python3 script.py", in: folder.url).status == 0)
        _ = try run(Self.samples("import duckdb"), in: folder)
        let count = try LaunchedProgram.shell(
            "python3 -c \"import duckdb; print(duckdb.sql(\\\"SELECT count(*) FROM 'points.parquet'\\\").fetchall())\"",
            in: folder.url)
        #expect(count.output == "[(1000,)]\n", "\(count)")
    }
}
