import Foundation
import GRDB
import PriceStore
import SQLiteStore
import Testing

/// A new file takes the store's place only where nobody else has the store open, and it is like the old one.
struct RebuildFileTests {
    private func store(_ journal: String = "WAL") throws -> TemporaryStore {
        try TemporaryStore(
            """
            PRAGMA journal_mode = \(journal);
            CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER);
            CREATE INDEX price_at ON price (at);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
            INSERT INTO price SELECT i, i FROM n;
            """)
    }

    private var request: BatchDeleteRequest {
        let date = DateAttribute(name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1))
        return BatchDeleteRequest(
            fetchRequest: FetchRequest(
                entity: "price", predicate: .date(DateRange(date, before: Instant(unixSeconds: 401)))),
            resultType: .count, strategy: .rebuildFile)
    }

    private func attributes(_ store: TemporaryStore) throws -> [FileAttributeKey: Any] {
        try FileManager.default.attributesOfItem(atPath: store.path)
    }

    @Test func keepsThePermissionsAndTheExtendedAttributes() throws {
        let store = try store()
        let extended = FileAttributeKey("NSFileExtendedAttributes")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o604, extended: ["user.note": Data("kept".utf8)]], ofItemAtPath: store.path)
        let before = try attributes(store)[.systemFileNumber] as? Int
        #expect(try store.writer().execute(request).deletedCount == 400)
        let after = try attributes(store)
        #expect(after[.systemFileNumber] as? Int != before)
        #expect(after[.posixPermissions] as? Int == 0o604)
        #expect((after[extended] as? [String: Data])?["user.note"] == Data("kept".utf8))
    }

    /// What a rule keeps is read before the first delete. That a file is opened anew must not change it.
    @Test(arguments: [[], ["odd"]]) func whatAnotherRuleKeepsIsStillKnownAfterwards(_ groups: [String]) throws {
        let store = try TemporaryStore(
            """
            CREATE TABLE price (id INTEGER PRIMARY KEY, at INTEGER, odd TEXT COLLATE NOCASE);
            INSERT INTO price VALUES (1, 1, 'Y'), (2, 2, 'n'), (3, 3, 'y'), (4, 4, 'n'), (5, 5, NULL);
            """)
        let date = DateAttribute(name: "at", encoding: .unixSeconds, earliest: Instant(unixSeconds: 1))
        let keeping = SurveyRequest(
            entity: "price", date: date, cutoff: Instant(unixSeconds: 100),
            keepLast: KeepLast(count: 1, groupedBy: groups, among: .all, date: date))
        let writer = try store.writer()
        #expect(try writer.survey(keeping).expiredAloneCount == (groups.isEmpty ? 4 : 2))
        // The newest rows of all go by another rule, but this one's word was that 4 and 5, or 5 alone, stay.
        let newest = Predicate.compare("id", .greaterOrEqual, .integer(3))
        let first = try writer.execute(
            BatchDeleteRequest(
                fetchRequest: FetchRequest(entity: "price", predicate: newest), resultType: .count,
                strategy: .rebuildFile))
        #expect(first.deletedCount == 3)
        let second = try writer.execute(
            BatchDeleteRequest(
                fetchRequest: FetchRequest(entity: "price", predicate: keeping.deletion), resultType: .count))
        #expect(second.deletedCount == 2)
    }

    @Test(arguments: ["WAL", "DELETE"]) func isRefusedWhileAnotherProcessHasTheFileOpen(_ journal: String) throws {
        let store = try store(journal)
        let holder = Process()
        let said = Pipe()
        holder.executableURL = URL(fileURLWithPath: "/bin/sh")
        // Only open, with no lock: SQLite itself could not know.
        holder.arguments = ["-c", "exec 9<\"$0\"; echo open; exec sleep 60", store.path]
        holder.standardOutput = said
        try holder.run()
        defer {
            holder.terminate()
            holder.waitUntilExit()
        }
        _ = said.fileHandleForReading.readData(ofLength: 4)
        let writer = try store.writer()
        let error = #expect(throws: StoreError.self) { try writer.execute(request) }
        #expect(error?.kind == .strategyUnfit)
        #expect(error?.message.contains("another program has the store open") == true)
        #expect(try writer.count(FetchRequest(entity: "price")) == 500)
        holder.terminate()
        holder.waitUntilExit()
        #expect(try writer.execute(request).deletedCount == 400)
        #expect(try writer.count(FetchRequest(entity: "price")) == 100)
    }

    @Test func isRefusedWhileThisProcessHasTheFileOpenElsewhere() throws {
        let store = try store()
        let other = try DatabaseQueue(path: store.path)
        let error = #expect(throws: StoreError.self) { try store.writer().execute(request) }
        #expect(error?.message.contains("this program has the store open elsewhere") == true)
        #expect(try other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM price") } == 500)
    }

    @Test func isRefusedForAFileOfSeveralNames() throws {
        let store = try store()
        let writer = try store.writer()
        try FileManager.default.linkItem(atPath: store.path, toPath: store.path + "-second")
        let error = #expect(throws: StoreError.self) { try writer.execute(request) }
        #expect(error?.message.contains("several names") == true)
    }

    @Test func aNameThatARebuildLeftWhenItDiedIsNoSecondName() throws {
        let store = try store()
        try FileManager.default.linkItem(atPath: store.path, toPath: store.path + ".retention-old")
        #expect(try store.reader().count(FetchRequest(entity: "price")) == 500)
        #expect(try store.writer().execute(request).deletedCount == 400)
        #expect(!FileManager.default.fileExists(atPath: store.path + ".retention-old"))
    }

    @Test func followsALinkToTheStore() throws {
        let store = try store()
        let link = try store.link()
        #expect(try SQLiteWriter(path: link).execute(request).deletedCount == 400)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == store.path)
        #expect(try store.rows("SELECT count(*) FROM price") == ["100"])
    }

    @Test func whatADeadRebuildLeftIsRemovedByTheNextWriterButNotByAReader() throws {
        let store = try store()
        let left = [store.path + ".retention-copy", store.path + ".retention-old"]
        for path in left { try Data("left over".utf8).write(to: URL(fileURLWithPath: path)) }
        _ = try store.reader()
        #expect(left.allSatisfy { FileManager.default.fileExists(atPath: $0) })
        _ = try store.writer()
        #expect(left.allSatisfy { !FileManager.default.fileExists(atPath: $0) })
    }

    @Test func theFileOfARebuildAtWorkIsLeftAlone() throws {
        let store = try store()
        let path = store.path + ".retention-copy"
        try Data("at work".utf8).write(to: URL(fileURLWithPath: path))
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        let writer = try store.writer()
        #expect(FileManager.default.fileExists(atPath: path))
        let error = #expect(throws: StoreError.self) { try writer.execute(request) }
        #expect(error?.kind == .strategyUnfit)
        #expect(error?.message.contains("another rebuild of the store is at work") == true)
    }
}
