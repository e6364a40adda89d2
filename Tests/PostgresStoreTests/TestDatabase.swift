import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
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

    private init(url: String) { self.url = url }

    /// Makes a database with TimescaleDB.
    static func timescale(_ statements: String = "") throws -> TestDatabase {
        TestDatabase(url: try PostgresCluster.makeTimescaleDatabase(statements))
    }

    /// Makes a database that is spread over three servers, by Citus.
    static func citus(_ statements: String = "") throws -> TestDatabase {
        TestDatabase(url: try CitusCluster.shared.get().makeDatabase(statements))
    }

    var address: PostgresAddress { PostgresAddress(url: url) }

    func writer(zone: CalendarZone = .utc, patience: Duration = .seconds(20)) throws -> PostgresWriter {
        try PostgresWriter(address, zone: zone, patience: patience)
    }

    /// The database as another user sees it.
    func address(of user: String) -> PostgresAddress {
        PostgresAddress(url: url.replacingOccurrences(of: "retention@", with: "\(user)@"))
    }

    func reader(zone: CalendarZone = .utc, rehearsing: [String] = []) throws -> PostgresReader {
        try PostgresReader(address, zone: zone, rehearsing: rehearsing)
    }

    /// Carries out statements, each a transaction of its own, and returns the last one's rows with `|` between values.
    @discardableResult
    func run(_ statements: String) throws -> [String] {
        let connection = try connection()
        return try connection.execute(SQLFragment(statements)).rows.map {
            $0.texts.map { $0 ?? "" }.joined(separator: "|")
        }
    }

    /// Waits up to ten seconds until a session of the database waits for a lock; false if none does.
    func hasWaiter() -> Bool {
        guard let watch = try? connection() else { return false }
        let isWaiting = SQLFragment(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
        return eventually { (try? watch.exists(isWaiting)) == true }
    }

    /// A session that no reader or writer has.
    func connection() throws -> PostgresDatabase {
        try PostgresDatabase(address, PostgresDatabase.Options(isReadOnly: false))
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

extension PostgresDatabase {
    /// Carries out several statements in one message.
    func execute(script statements: [String]) throws {
        _ = try link.execute(script: statements.joined(separator: "; "))
    }
}

extension TestDatabase {
    /// Carries out several statements in one message.
    func run(script: String) throws { try connection().execute(script: [script]) }

    /// A user of this database alone who owns all tables in it.
    func makeOwner() throws -> String {
        let user = try makeUser("GRANT CREATE ON SCHEMA public TO")
        try run(
            """
            DO $$ DECLARE r regclass; BEGIN
            FOR r IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') LOOP
                EXECUTE format('ALTER TABLE %s OWNER TO \(user)', r); END LOOP; END $$
            """)
        return user
    }

    /// A user of this database alone, who is given rights.
    func makeUser(_ grant: String) throws -> String {
        let user = "job_" + PostgresCluster.database(of: url)
        try run("CREATE ROLE \(user) LOGIN")
        try run("\(grant) \(user)")
        return user
    }

    /// Asks a reader what a rule deletes and has a writer delete it.
    ///
    /// - Parameter isEqual: whether both counts must be the same, and nothing must be left.
    func dryAndReal(
        _ request: SurveyRequest, user: String? = nil, zone: CalendarZone = .utc, isEqual: Bool = true
    ) throws -> (Findings, Laws.Execution) {
        let address = user.map { self.address(of: $0) } ?? address
        let dry = try PostgresReader(address, zone: zone).findings(request)
        let writer = try PostgresWriter(address, zone: zone)
        let survey = try writer.findings(request)
        #expect(survey.survey == dry.survey && survey.outline == dry.outline)
        let execution = try Laws.carryOut(request, method: survey.method.rawValue, batchRows: 20, on: writer)
        if isEqual {
            #expect(execution.isComplete && execution.total.deletedCount == dry.expiredCount)
            #expect(try writer.survey(request).expiredCount == 0)
        }
        return (dry, execution)
    }
}

extension PostgresCluster {
    /// A writer of a new database, and a session of somebody else.
    func open(_ statements: String) throws -> (PostgresWriter, PostgresDatabase) {
        let address = PostgresAddress(url: try makeDatabase(statements))
        return (
            try PostgresWriter(address),
            try PostgresDatabase(address, PostgresDatabase.Options(isReadOnly: false))
        )
    }
}
