import PostgresStore
package import Testing

extension Trait where Self == ConditionTrait {
    /// Skips a test where PostgreSQL is not installed, or the engine was not built in.
    package static var needsPostgres: Self {
        .enabled("PostgreSQL is not installed, or the package was built without the trait Postgres") {
            PostgresDatabase.isAvailable && PostgresCluster.shared != nil
        }
    }

    /// Skips a test where TimescaleDB is not installed for PostgreSQL.
    package static var needsTimescale: Self {
        .enabled("TimescaleDB is not installed") { PostgresCluster.Engine.timescaledb.isInstalled }
    }

    /// Skips a test where Citus is not installed for PostgreSQL.
    package static var needsCitus: Self {
        .enabled("Citus is not installed") { PostgresCluster.Engine.citus.isInstalled }
    }
}
