import PriceStore
import RetentionJob
import RetentionPolicy

/// The engine for servers, which is in the program only with the package trait `Postgres`.
enum Servers {
    typealias Trace = (_ statement: String, _ plan: [String]) -> Void
}

#if Postgres
    import PostgresStore

    extension Servers {
        /// The libraries of the engine, with their versions.
        static let libraries = [EngineComponent.libpq].compactMap { $0?.description }

        /// Opens a database for reading without a policy.
        static func reader(ofStoreNamed url: String) throws -> any RetentionReader {
            try PostgresReader(PostgresAddress(url: url))
        }

        /// Opens the store of a policy for reading, and for rehearsing what a run would save.
        static func reader(of policy: Policy, _ url: String, trace: Trace?) throws -> any RetentionInserter {
            let reader = try PostgresReader(
                PostgresAddress(url: url, passwordFile: policy.store.passwordFile), zone: policy.timezone,
                lockTimeout: policy.store.busyTimeout, rehearsing: policy.pending.map(\.entity))
            reader.trace = trace
            return reader
        }

        /// Opens the store of a policy for writing, and takes the run lock.
        static func writer(of policy: Policy, _ url: String, trace: Trace?) throws -> any RetentionWriter {
            let writer = try PostgresWriter(
                PostgresAddress(url: url, passwordFile: policy.store.passwordFile), zone: policy.timezone,
                lockTimeout: policy.store.busyTimeout, maxReplicationLag: policy.store.maxReplicationLag)
            try writer.takeRunLock()
            writer.trace = trace
            return writer
        }

        /// Whether a run is in progress on a database; false also if its server does not answer.
        static func isRunAtWork(on url: String, passwordFile: String?) -> Bool {
            let reader = try? PostgresReader(PostgresAddress(url: url, passwordFile: passwordFile))
            return (try? reader?.isRunLockHeld()) ?? false
        }

        /// The server and the database of a URL. Different spellings of a URL give the same name.
        static func databaseName(of url: String) -> String { PostgresAddress(url: url).databaseName }
    }

#else
    extension Servers {
        static let libraries: [String] = []
        static func reader(ofStoreNamed url: String) throws -> any RetentionReader { throw missing(url) }
        static func reader(of policy: Policy, _ url: String, trace: Trace?) throws -> any RetentionInserter {
            throw missing(url)
        }
        static func writer(of policy: Policy, _ url: String, trace: Trace?) throws -> any RetentionWriter {
            throw missing(url)
        }
        static func isRunAtWork(on url: String, passwordFile: String?) -> Bool { false }
        static func databaseName(of url: String) -> String { Secrets.removed(fromURL: url) }

        private static func missing(_ url: String) -> CommandFailure {
            CommandFailure(
                exitCode: 78, message: "this build has no PostgreSQL engine for \(Secrets.removed(fromURL: url))",
                hint: "install the package retention-postgresql, or build with `swift build --traits Postgres`")
        }
    }
#endif
