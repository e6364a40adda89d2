import Foundation
import PostgresCluster
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStore

/// What goes wrong on a server, and what is told and left behind. These tests stop servers: each has its own.
@Suite(.needsPostgres, .serialized)
struct FaultTests {
    @Test func whatIsCancelledBeforeItsCommitIsUndone() async throws {
        let database = try TestDatabase("CREATE TABLE q (id int PRIMARY KEY); INSERT INTO q VALUES (1), (2)")
        let task = Task {
            let writer = try database.writer()
            try writer.transaction(.normal) {
                try writer.execute(BatchDeleteRequest(fetchRequest: StoreFetchRequest(entity: "q")))
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        let error = await #expect(throws: StoreError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
        #expect(try database.run("SELECT count(*) FROM q") == ["2"])
    }

    @Test func anOrderThatTheStoreDoesNotKnowIsAnError() throws {
        let writer = try TestDatabase("CREATE TABLE q (id int PRIMARY KEY); INSERT INTO q VALUES (1), (2)").writer()
        let request = StoreFetchRequest(entity: "q", sortDescriptors: [StoreSortDescriptor("missing")])
        #expect { try writer.count(request) } throws: { ($0 as? StoreError)?.kind == .unknownName }
        #expect { try writer.execute(BatchDeleteRequest(fetchRequest: request)) } throws: {
            ($0 as? StoreError)?.kind == .unknownName
        }
    }

    @Test func aServerThatIsNotThereCannotBeReached() {
        let error = storeError {
            _ = try PostgresReader(PostgresAddress(url: "postgresql://x:secret@/prices?host=/nowhere"))
        }
        #expect(error?.kind == .unreachable)
        let says = "postgresql://x@/prices?host=/nowhere: the database cannot be opened: "
        #expect(error?.description.hasPrefix(says) == true && error?.description.contains("secret") == false)
    }

    @Test func aDatabaseThatIsNotThereIsMissing() throws {
        let cluster = try #require(PostgresCluster.shared)
        let error = storeError { _ = try PostgresReader(PostgresAddress(url: cluster.url(database: "nothing"))) }
        #expect(error?.kind == .missing && error?.engineCode == "SQLSTATE 3D000")
    }

    @Test func aWrongPasswordIsNoPermissionAndIsNeverShown() throws {
        let cluster = try PostgresCluster()
        let url = try cluster.makeDatabase("CREATE ROLE guest LOGIN PASSWORD 'right';")
        try cluster.requirePasswords()
        let name = PostgresCluster.database(of: url)
        let wrong = PostgresAddress(url: cluster.url(database: name, user: "guest", password: "wr0ng"))
        let told = storeError { _ = try PostgresReader(wrong) }
        #expect(told?.kind == .permission && told?.engineCode == "SQLSTATE 28P01")
        let place = cluster.url(database: name, user: "guest")
        #expect(told?.description.hasPrefix("\(place): the database cannot be opened: ") == true)
        #expect(told?.description.contains("wr0ng") == false)

        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("right\n".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        var right = wrong
        right.passwordFile = file.path
        #expect(try PostgresReader(right).entityNames() == [])
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        #expect(storeError { _ = try PostgresReader(right) }?.kind == .permission)
    }

    @Test func aServerThatIsReadOnlyIsRefused() throws {
        let database = try TestDatabase(ExpiringRows.schema)
        let name = try database.run("SELECT current_database()")[0]
        try database.run("ALTER DATABASE \(name) SET default_transaction_read_only = on")
        let told = storeError { _ = try database.writer() }
        #expect(told?.kind == .permission && told?.engineCode == "SQLSTATE 25006")
        #expect(try database.reader().survey(ExpiringRows.request).expiredCount == 299)
    }

    /// Every row would be older than the cutoff.
    @Test func aSearchPathWithASchemaBeforeTheServersOwnIsRefused() throws {
        let database = try TestDatabase(
            ExpiringRows.schema
                + """
                CREATE SCHEMA evil;
                CREATE FUNCTION evil.lt(timestamptz, timestamptz) RETURNS boolean LANGUAGE sql AS 'SELECT true';
                CREATE OPERATOR evil.< (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = evil.lt);
                """)
        let user = try database.makeUser("GRANT USAGE ON SCHEMA evil TO")
        try database.run("GRANT SELECT, DELETE ON q TO \(user)")
        let address = database.address(of: user)
        for path in ["evil, pg_catalog, public", "public, evil, pg_catalog"] {
            try database.run("ALTER ROLE \(user) SET search_path = \(path)")
            for told in [
                storeError { _ = try PostgresReader(address) }, storeError { _ = try PostgresWriter(address) },
            ] {
                #expect(told?.kind == .unknownName && told?.hint?.hasPrefix("put pg_catalog first") == true)
                let schema = path.prefix { $0 != "," }
                #expect(told?.message.contains("names the schema \(schema) before pg_catalog") == true)
            }
        }
        for path in ["pg_catalog, evil, public", "public, evil", "pg_temp, public, evil"] {
            try database.run("ALTER ROLE \(user) SET search_path = \(path)")
            #expect(try PostgresReader(address).survey(ExpiringRows.request).expiredCount == 299)
        }
    }

    @Test func aMissingPrivilegeIsToldWithItsCode() throws {
        let cluster = try #require(PostgresCluster.shared)
        let database = try TestDatabase(
            ExpiringRows.schema
                + "DO $$BEGIN CREATE ROLE looker LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END$$; GRANT SELECT ON q TO looker;"
        )
        let name = try database.run("SELECT current_database()")[0]
        let writer = try PostgresWriter(PostgresAddress(url: cluster.url(database: name, user: "looker")))
        let told = storeError { _ = try writer.execute(ExpiringRows.batch()) }
        #expect(told?.kind == .permission && told?.engineCode == "SQLSTATE 42501")
        let planned = storeError { _ = try writer.outline(of: ExpiringRows.request) }
        #expect(planned?.hint == "GRANT SELECT, DELETE ON \"public\".\"q\" TO \"looker\"")
        #expect(try database.run("SELECT count(*) FROM q") == ["500"])
    }

    @Test func aLockThatIsNotToBeHadIsBusyAndNothingIsDeleted() throws {
        let database = try TestDatabase(ExpiringRows.schema)
        let other = try database.connection()
        try other.execute("BEGIN")
        try other.execute("LOCK TABLE q IN ACCESS EXCLUSIVE MODE")
        let writer = try PostgresWriter(database.address, lockTimeout: .milliseconds(20))
        let told = storeError { _ = try writer.execute(ExpiringRows.batch()) }
        #expect(told?.kind == .busy && told?.engineCode == "SQLSTATE 55P03")
        try other.execute("ROLLBACK")
        #expect(try writer.execute(ExpiringRows.batch()).deletedCount == 50)
    }

    /// Both wait for the other's row; the server ends one of them, and the batch is tried again.
    @Test func aDeadlockIsTriedAgain() throws {
        let database = try TestDatabase(ExpiringRows.schema)
        let other = try database.connection()
        try other.execute("SET deadlock_timeout = '10s'")
        try other.execute("BEGIN")
        try other.execute("UPDATE q SET id = id WHERE id = 20")
        let writer = try database.writer()
        try writer.execute("SET deadlock_timeout = '10ms'")
        nonisolated(unsafe) let session = other
        Thread {
            // The batch waits for row 20, and has deleted row 10, which the other one asks for now.
            _ = database.hasWaiter()
            _ = try? session.execute("UPDATE q SET id = id WHERE id = 10")
            _ = try? session.execute("ROLLBACK")
        }.start()
        let result = try writer.execute(ExpiringRows.batch())
        #expect(result.deletedCount == 50)
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["450|51"])
    }

    @Test func aConnectionThatIsCutIsOpenedAgain() throws {
        let database = try TestDatabase(ExpiringRows.schema)
        let writer = try database.writer()
        try writer.takeRunLock()
        #expect(try writer.execute(ExpiringRows.batch()).deletedCount == 50)
        let name = try database.run("SELECT current_database()")[0]
        try database.run(
            "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE datname = '\(name)' AND pid <> pg_backend_pid()"
        )
        #expect(try writer.execute(ExpiringRows.batch()).deletedCount == 50)
        #expect(try database.run("SELECT count(*), min(id) FROM q") == ["400|101"])
        // The lock of the run is taken again with it.
        #expect(try database.reader().isRunLockHeld())
    }

    @Test func aSessionThatIsCutOffWhereItTakesTheLockIsOpenedAgain() throws {
        let database = try TestDatabase(ExpiringRows.schema)
        let writer = try database.writer()
        let first = writer.session.process
        try database.run("SELECT pg_terminate_backend(\(first), 1000)")
        try writer.takeRunLock()
        #expect(try writer.session.process != first && database.reader().isRunLockHeld())
        // What a lost session was called is known: it may hold the lock for a while.
        let second = writer.session.process
        try database.run("SELECT pg_terminate_backend(\(second), 1000)")
        #expect(
            storeError { _ = try writer.run("asking", isRepeatable: false) { try writer.execute("SELECT 1") } } != nil)
        #expect(!writer.link.isOpen && writer.session.process == second)
    }

    /// Batches do not wait for the disk, and what is reported must be on it.
    @Test func whatIsFlushedSurvivesACrash() throws {
        let cluster = try PostgresCluster(settings: ["wal_writer_delay = 10s", "autovacuum = off"])
        let (writer, other) = try cluster.open(ExpiringRows.schema)
        try other.execute("CHECKPOINT")
        #expect(try writer.execute(ExpiringRows.batch()).deletedCount == 50)
        try writer.flush()
        try cluster.restart()
        #expect(try writer.count(StoreFetchRequest(entity: "q")) == 450)
    }

    @Test func aServerThatStaysAwayCannotBeReached() throws {
        let cluster = try PostgresCluster()
        let url = try cluster.makeDatabase(ExpiringRows.schema)
        let writer = try PostgresWriter(PostgresAddress(url: url), patience: .milliseconds(300))
        #expect(try writer.execute(ExpiringRows.batch()).deletedCount == 50)
        try cluster.stop()
        let told = storeError { _ = try writer.execute(ExpiringRows.batch()) }
        #expect(told?.kind == .unreachable)
    }

    @Test func aTriggerThatRaisesUndoesItsBatch() throws {
        let database = try TestDatabase(
            ExpiringRows.schema + """
                CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
                    IF OLD.id = 60 THEN RAISE EXCEPTION 'not this one'; END IF; RETURN OLD; END$$;
                CREATE TRIGGER stop BEFORE DELETE ON q FOR EACH ROW EXECUTE FUNCTION stop();
                """)
        let writer = try database.writer()
        #expect(try writer.execute(ExpiringRows.batch()).deletedCount == 50)
        let told = storeError { _ = try writer.execute(ExpiringRows.batch()) }
        #expect(told?.kind == .constraint && told?.engineCode == "SQLSTATE P0001")
        #expect(try database.run("SELECT count(*) FROM q") == ["450"])
    }

    @Test func rowsThatATriggerKeepsDoNotHoldUpTheOthers() throws {
        let database = try TestDatabase(
            ExpiringRows.schema + """
                UPDATE q SET at = '2026-01-01 00:10:00+00' WHERE id < 20;
                CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
                    IF OLD.id < 20 THEN RETURN NULL; END IF; RETURN OLD; END$$;
                CREATE TRIGGER keep BEFORE DELETE ON q FOR EACH ROW EXECUTE FUNCTION keep();
                """)
        var request = ExpiringRows.batch(5)
        let writer = try database.writer()
        var rounds = 0
        while true {
            let result = try writer.execute(request)
            rounds += 1
            guard let next = result.continuation, rounds < 200 else { break }
            // What deletes nothing goes further, or it would be repeated forever.
            if result.deletedCount == 0 { #expect(next != request.continuation) }
            request.continuation = next
        }
        #expect(try database.run("SELECT count(*) FROM q WHERE at < '2026-01-01 05:00:00+00'") == ["19"])
    }

    @Test func twoRunsExcludeEachOtherAndTheHolderIsNamed() throws {
        let database = try TestDatabase()
        let first = try database.writer()
        try first.takeRunLock()
        let second = try database.writer()
        let told = storeError { try second.takeRunLock() }
        #expect(told?.kind == .busy && told?.message.contains("process \(getpid())") == true)
        // Another database of the same server is another store.
        try TestDatabase().writer().takeRunLock()
    }

    @Test func theLockOfASessionThatDiedIsFree() throws {
        let database = try TestDatabase()
        var first: PostgresWriter? = try database.writer()
        try first?.takeRunLock()
        first = nil
        try database.writer().takeRunLock()
    }

    /// A signal ends the running statement of a batch or a survey. What the report needs afterwards is not ended.
    @Test(arguments: [true, false]) func aSignalEndsAStatement(isBatch: Bool) throws {
        let database = try TestDatabase(
            ExpiringRows.schema + """
                CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(1); RETURN OLD; END$$;
                CREATE TRIGGER sleep BEFORE DELETE ON q FOR EACH ROW EXECUTE FUNCTION sleep();
                """)
        let other = try database.connection()
        try other.execute("BEGIN")
        if !isBatch { try other.execute("LOCK TABLE q IN ACCESS EXCLUSIVE MODE") }
        let writer = try PostgresWriter(database.address, lockTimeout: .seconds(30))
        let isSignalled = Flag()
        writer.isStopped = { isSignalled.isSet }
        Thread {
            usleep(300_000)
            isSignalled.isSet = true
        }.start()
        let began = ContinuousClock.now
        let told = storeError {
            if isBatch {
                _ = try writer.execute(ExpiringRows.batch())
            } else {
                _ = try writer.survey(ExpiringRows.request)
            }
        }
        #expect(told?.kind == .cancelled && ContinuousClock.now - began < .seconds(10))
        try other.execute("ROLLBACK")
        #expect(try writer.survey(ExpiringRows.request).expiredCount == 299)
        #expect(try writer.texts(SQLFragment("SELECT 'waited' FROM pg_sleep(0.3)")) == ["waited"])
    }

    /// If this process is killed, the server ends the statement.
    @Test func theServerLooksWhetherItsClientIsThere() throws {
        let writer = try TestDatabase().writer()
        #expect(try writer.texts(SQLFragment("SHOW client_connection_check_interval")) == ["1s"])
    }

    @Test func aPlanThatIsOlderThanItsTableIsMadeAgain() throws {
        let database = try TestDatabase("CREATE TABLE q (id int); INSERT INTO q VALUES (1)")
        let writer = try database.writer()
        var tries = 0
        func read() throws -> [String?] {
            tries += 1
            return try writer.row(SQLFragment("SELECT * FROM q"), isRepeated: true)?.texts ?? []
        }
        #expect(try read() == ["1"])
        try database.run("ALTER TABLE q ADD COLUMN price int")
        #expect(try writer.batch("reading", read) == ["1", nil])
        #expect(tries == 3)
    }

    /// A host that takes a connection and says nothing does not use up the time of the next one.
    @Test func aSilentHostIsPassedBy() throws {
        let silent = try SilentHost()
        let url = try TestDatabase(ExpiringRows.schema).url
        let parts = try #require(url.firstMatch(of: /^postgresql:\/\/(\w+)@.*\/(\w+)\?host=([^&]+)/))
        let hosts = "host=127.0.0.1,\(parts.3)&port=\(silent.port),5432&connect_timeout=2"
        let reader = try PostgresReader(PostgresAddress(url: "postgresql://\(parts.1)@/\(parts.2)?\(hosts)"))
        #expect(try reader.survey(ExpiringRows.request).expiredCount == 299)
        let alone = PostgresAddress(
            url: "postgresql://\(parts.1)@127.0.0.1:\(silent.port)/\(parts.2)?connect_timeout=2")
        let told = storeError { _ = try PostgresReader(alone) }
        #expect(told?.kind == .unreachable)
        #expect(told?.message.hasSuffix("port \(silent.port) failed: timeout expired") == true)
    }

    /// What libpq cannot read is a mistake of the policy, and no server is looked for.
    @Test(arguments: [
        ("localhost:1/x?sslmode=foo", "invalid sslmode value"),
        ("localhost:1/x?foo=bar", "invalid URI query parameter"),
        ("localhost:abc/x", "invalid integer value"), ("[::1/x", "end of string reached"),
        ("localhost:1/x?service=none", "definition of service \"none\" not found"),
        ("a,b/x?port=1,2,3", "could not match 3 port numbers to 2 hosts"),
    ])
    func anAddressThatCannotBeReadIsAMistake(url: String, reason: String) {
        let told = storeError { _ = try PostgresReader(PostgresAddress(url: "postgresql://" + url)) }
        #expect(told?.kind == .unknownName)
        #expect(told?.message.contains(reason) == true, "\(String(describing: told))")
        #expect(told?.hint?.hasPrefix("write the URL in `store` as libpq reads it") == true)
    }

    @Test(arguments: ["localhost:1/x", "no-such-host.invalid/x"])
    func anAddressWithoutAServerIsNoMistake(url: String) {
        let told = storeError { _ = try PostgresReader(PostgresAddress(url: "postgresql://" + url)) }
        #expect(told?.kind == .unreachable)
    }

    /// A former session is known by its process and its start, whatever it is called.
    @Test func theLockOfAFormerSessionIsTakenOver() throws {
        let database = try TestDatabase()
        let named = PostgresAddress(url: database.url + "&application_name=nightly")
        let former = try PostgresWriter(named)
        try former.takeRunLock()
        let next = try PostgresWriter(named)
        let stranger = (process: former.session.process, began: "2026-01-01 00:00:00+00" as String?)
        #expect(storeError { try next.lockRun(insteadOf: stranger) }?.kind == .busy)
        try next.lockRun(insteadOf: former.session)
        #expect(try next.holdsRunLock && database.reader().isRunLockHeld())
    }

    #if Postgres
        @Test(arguments: [
            "connection to server failed: FATAL:  28P01: password authentication failed", "FEHLER:  28P01: Passwort",
            "x\nВАЖНО:  28P01: пользователь\nLOCATION:  auth_failed, auth.c:326",
        ]) func theCodeOfARefusalIsReadInAnyLanguage(_ message: String) {
            let (code, text) = ServerLink.split(verbose: message)
            #expect(code == "28P01" && !text.contains("28P01") && !text.isEmpty)
        }
    #endif
}

/// A port on which connections are taken and nothing is said.
private final class SilentHost {
    private let socket: Int32
    let port: UInt16

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = self.socket
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && listen(socket, 5) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        try #require(isBound)
    }

    deinit { close(socket) }
}
