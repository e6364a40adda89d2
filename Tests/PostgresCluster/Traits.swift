import Foundation
import PostgresStore
package import Testing

extension Trait where Self == ConditionTrait {
    /// Skips a test where PostgreSQL is not installed, or the engine was not built in. An installed server that does not start fails it.
    package static var needsPostgres: Self {
        needsServer("PostgreSQL is not installed, or the package was built without the trait Postgres") {
            PostgresDatabase.isAvailable && PostgresCluster.programs != nil
        }
    }

    /// Skips a test where TimescaleDB is not installed for PostgreSQL.
    package static var needsTimescale: Self {
        needsServer("TimescaleDB is not installed") { PostgresCluster.Engine.timescaledb.isInstalled }
    }

    /// Skips a test where Citus is not installed for PostgreSQL.
    package static var needsCitus: Self {
        needsServer("Citus is not installed") { PostgresCluster.Engine.citus.isInstalled }
    }

    /// Skips a test where a server is missing, or where `scripts/test` leaves out all tests of servers.
    private static func needsServer(_ reason: Comment, _ isThere: @escaping @Sendable () -> Bool) -> Self {
        let areWanted = ProcessInfo.processInfo.environment["RETENTION_SERVERS"] != "no"
        return .enabled(areWanted ? reason : "servers are for scripts/test --all") { areWanted && isThere() }
    }
}
