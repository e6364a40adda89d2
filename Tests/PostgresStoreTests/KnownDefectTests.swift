import PostgresCluster
import PriceStore
import Testing

@testable import PostgresStore

struct KnownDefectTests {
    private func affecting(_ version: String) -> Int {
        KnownDefect.ofTimescale.count { $0.isIn(EngineComponent(name: "TimescaleDB", version: version)) }
    }

    @Test(arguments: [
        ("2.16.1", 0), ("2.17.0", 1), ("2.28.2", 1), ("2.28.3-dev", 0), ("2.28.3", 0), ("2.29.2", 0),
    ])
    func theVersionsAreThoseOfTheReports(version: String, count: Int) {
        #expect(affecting(version) == count)
    }

    @Test(.needsPostgres)
    func aServerWithoutTheExtensionHasNoneAndKeepsItsSettings() throws {
        let database = try TestDatabase("CREATE TABLE q (at timestamptz)")
        let reader = try database.reader()
        #expect(try reader.knownDefects() == [])
        let server = try #require(try reader.components().first)
        #expect(server.name == "PostgreSQL" && ComponentVersion(server.version) != nil)
        #expect(
            try reader.texts(SQLFragment("SELECT current_setting('\(KnownDefect.directDeletes)', true)")).isEmpty)
    }
}
