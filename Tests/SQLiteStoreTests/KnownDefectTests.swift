import PriceStore
import Testing

@testable import SQLiteStore

struct KnownDefectTests {
    /// The versions that sqlite.org names.
    @Test(arguments: [
        ("3.6.23", false), ("3.7.0", true), ("3.40.1", true), ("3.44.5", true), ("3.44.6", false), ("3.45.0", true),
        ("3.46.1", true), ("3.50.6", true), ("3.50.7", false), ("3.51.0", true), ("3.51.2", true), ("3.51.3", false),
        ("3.53.0", false),
    ])
    func theWALDefectIsInTheVersionsThatItsMakersName(version: String, isAffected: Bool) {
        #expect(KnownDefect.walReset.isIn(EngineComponent(name: "SQLite", version: version)) == isAffected)
    }

    @Test func onlyAStoreWithAWALIsConcerned() throws {
        let store = try TemporaryStore("CREATE TABLE t(n)")
        #expect(try store.reader().knownDefects() == [])
        try store.change("PRAGMA journal_mode = WAL")
        let affected = KnownDefect.walReset.isIn(.sqlite)
        #expect(try store.reader().knownDefects() == (affected ? [.walReset] : []))
        #expect(try store.reader().components() == [.sqlite] && EngineComponent.sqlite.version.hasPrefix("3."))
    }
}
