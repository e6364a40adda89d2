import Foundation
import PostgresCluster
import PriceStore
import Testing

@testable import PostgresStore

/// A database of its own for one test.
struct TestDatabase {
    let url: String

    /// Makes a database and carries out statements in it.
    init(_ statements: String = "") throws {
        let cluster = try #require(PostgresCluster.shared)
        url = try cluster.makeDatabase(statements)
    }

    var address: PostgresAddress { PostgresAddress(url: url) }

    func writer(zone: CalendarZone = .utc, patience: Duration = .seconds(20)) throws -> PostgresWriter {
        try PostgresWriter(address, zone: zone, patience: patience)
    }

    func reader(zone: CalendarZone = .utc, rehearsing: [String] = []) throws -> PostgresReader {
        try PostgresReader(address, zone: zone, rehearsing: rehearsing)
    }

    /// Carries out statements, each a transaction of its own, and returns the last one's rows with `|` between values.
    @discardableResult
    func run(_ statements: String) throws -> [String] {
        let connection = try connection()
        return try connection.execute(statements).rows.map { $0.map { $0 ?? "" }.joined(separator: "|") }
    }

    /// A session that no reader or writer has.
    func connection() throws -> PostgresConnection {
        try PostgresConnection(address, PostgresConnection.Options(isReadOnly: false))
    }

    /// The tests need a server: they are skipped, and the test run says so, where none is installed.
    static var isPossible: Bool { ServerLink.isAvailable && PostgresCluster.shared != nil }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test where PostgreSQL is not installed, or the engine was not built in.
    static var needsPostgres: Self {
        .enabled("PostgreSQL is not installed, or the package was built without the trait Postgres") {
            TestDatabase.isPossible
        }
    }
}

/// An instant of ISO 8601.
func at(_ text: String) -> Instant { Instant(iso8601: text) ?? .distantPast }

extension DateAttribute {
    /// A date that is believed from 1971 on.
    static func of(
        _ name: String, _ encoding: DateEncoding = .native, zone: CalendarZone = .utc, latest: Instant? = nil
    ) -> DateAttribute {
        DateAttribute(name: name, encoding: encoding, zone: zone, earliest: at("1971-01-01"), latest: latest)
    }
}
