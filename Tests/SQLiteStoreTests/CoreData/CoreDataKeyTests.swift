import Foundation
import GRDB
import PriceStore
import SQLiteStore
import Testing

@testable import CoreDataSamples

/// Keys and join tables of Core Data stores as the world has them.
struct CoreDataKeyTests {
    // MARK: Keys at their end

    /// `Note` 7 is to be new; in a store whose `Z_MAX` says that no key, or the last one, is left.
    @Test(arguments: ["9223372036854775807", "'abc'", "-1", "1e300"]) func aKeyThatCannotBeIsAnError(max: String) throws
    {
        for history in [false, true] {
            let store = try CoreDataStoreTests.store(history: history)
            try store.change("UPDATE Z_PRIMARYKEY SET Z_MAX = \(max) WHERE Z_NAME = 'Note'")
            let isUsed = max == "-1"
            for inserter in [try SQLiteWriter(path: store.path), try SQLiteReader(path: store.path)]
                as [any RetentionInserter]
            {
                do {
                    let outcome = try inserter.rehearse {
                        try inserter.insert(entity: "Note", values: ["text": .text("new")], onConflict: .fail)
                    }
                    // A greatest key below those in use does no harm.
                    #expect(isUsed && outcome == .saved, "\(max)")
                } catch let error as StoreError {
                    #expect(!isUsed && error.kind == .unsupported && error.message.contains("no next key"), "\(error)")
                }
            }
        }
    }

    @Test func theLastKeyIsGivenAndNoOtherOne() throws {
        let store = try CoreDataStoreTests.store()
        try store.change("UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775806 WHERE Z_NAME = 'Note'")
        for inserter in [try SQLiteReader(path: store.path), try SQLiteWriter(path: store.path)]
            as [any RetentionInserter]
        {
            try inserter.rehearse { () throws in
                #expect(
                    try inserter.insert(entity: "Note", values: ["text": .text("a")], onConflict: .fail) == .saved)
                #expect(throws: StoreError.self) {
                    try inserter.insert(entity: "Note", values: ["text": .text("b")], onConflict: .fail)
                }
            }
        }
        #expect(try store.rows("SELECT count(*), max(Z_PK) FROM ZNOTE") == ["7|9223372036854775807"])
    }

    @Test func theLastKeyOfTheHistoryIsAnError() throws {
        let store = try CoreDataStoreTests.store(history: true)
        try store.change("UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807 WHERE Z_NAME = 'TRANSACTION'")
        let writer = try SQLiteWriter(path: store.path)
        let error = #expect(throws: StoreError.self) {
            try writer.execute(BatchDeleteRequest(fetchRequest: CoreDataStoreTests.expired("Point")))
        }
        #expect(error?.kind == .unsupported)
        #expect(try store.rows("SELECT count(*) FROM ZPOINT") == ["6"])
    }

    @Test func theLastRowidOfAPlainTableIsForetoldAsItIs() throws {
        for (autoincrement, saves) in [("", true), ("AUTOINCREMENT", false)] {
            let store = try TemporaryStore()
            try store.change(
                """
                CREATE TABLE p(id INTEGER PRIMARY KEY \(autoincrement), x);
                INSERT INTO p VALUES (9223372036854775806, 1);
                """)
            let reader = try SQLiteReader(path: store.path)
            let outcome = try reader.rehearse {
                try reader.insert(entity: "p", values: ["x": .integer(2)], onConflict: .fail)
            }
            #expect(outcome == .saved)
            let writer = try SQLiteWriter(path: store.path)
            #expect(try writer.insert(entity: "p", values: ["x": .integer(2)], onConflict: .fail) == .saved)
            for inserter in [reader, writer] as [any StoreInserter] {
                do {
                    let outcome = try inserter.insert(entity: "p", values: ["x": .integer(3)], onConflict: .fail)
                    #expect(outcome == .saved && saves)
                } catch {
                    #expect(!saves && error.kind == .unsupported && error.message.contains("rowid"), "\(error)")
                }
            }
        }
    }

    // MARK: Join tables

    /// Users and the options that they voted for, 4 of each, the first two users expired; as Mastodon has them.
    private func voters(_ sql: String) throws -> TemporaryStore {
        let user = ModelDescription.Entity(
            name: "User", attributes: [.init(name: "at", kind: .date, isOptional: false)],
            relationships: [
                .init(
                    name: "votePollOptions", destination: "Option", inverse: "votedBy", rule: .nullify, isToMany: true)
            ])
        let option = ModelDescription.Entity(
            name: "Option", attributes: [.init(name: "title", kind: .string)],
            relationships: [
                .init(name: "votedBy", destination: "User", inverse: "votePollOptions", rule: .nullify, isToMany: true)
            ])
        let store = try CoreDataStoreTests.store(of: [user, option]) { db, layout in
            for key in 1...4 {
                try db.execute(
                    sql: """
                        INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZAT) VALUES (\(key), \(layout.numbers["User"] ?? 0), 1,
                            \(key < 3 ? 700_000_000 : 810_000_000));
                        INSERT INTO ZOPTION (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES
                            (\(key), \(layout.numbers["Option"] ?? 0), 1, 'o');
                        """)
            }
            let join = layout.joins[0]
            for (source, destination) in [(1, 1), (1, 3), (2, 3), (3, 3), (4, 4)] {
                let users = join.source.entity == "User"
                try db.execute(
                    sql: "INSERT INTO \(join.table) (\(join.sourceColumn), \(join.destinationColumn)) VALUES (?, ?)",
                    arguments: users ? [source, destination] : [destination, source])
            }
        }
        _ = try store.change { db in
            let table =
                try String.fetchOne(
                    db, sql: "SELECT name FROM sqlite_schema WHERE name GLOB 'Z_[0-9]*' AND type = 'table'") ?? ""
            let names = try db.columns(in: table).map(\.name)
            let (by, to) = (
                names.first { $0.hasSuffix("VOTEDBY") } ?? "", names.first { $0.hasSuffix("OPTIONS") } ?? ""
            )
            try db.execute(
                sql: sql.replacing("$TO", with: to).replacing("$BY", with: by).replacing("$T", with: table))
        }
        return store
    }

    @Test(arguments: [
        "SELECT 1", "ALTER TABLE $T RENAME COLUMN $BY TO $BY1", "ALTER TABLE $T RENAME COLUMN $TO TO $TO1",
        "ALTER TABLE $T RENAME COLUMN $BY TO $BY12; ALTER TABLE $T RENAME COLUMN $TO TO $TO3",
        "ALTER TABLE $T RENAME COLUMN $BY TO $BY1; ALTER TABLE $T ADD COLUMN Z_FOK_1VOTEDBY INTEGER",
    ])
    func aJoinColumnWithDigitsBehindItsNameIsFound(sql: String) throws {
        let store = try voters(sql)
        let survey = try SQLiteReader(path: store.path).survey(CoreDataStoreTests.survey("User"))
        #expect(survey.unsupported == nil && survey.expiredCount == 2)
        let result = try SQLiteWriter(path: store.path).execute(
            BatchDeleteRequest(fetchRequest: CoreDataStoreTests.expired("User"), resultType: .count))
        #expect(result.deletedCount == 2)
        let table = try store.rows("SELECT name FROM sqlite_schema WHERE name GLOB 'Z_[0-9]*' AND type = 'table'")[0]
        let columns = try store.rows("SELECT name FROM pragma_table_info('\(table)')")
        let by = try #require(columns.first { $0.contains("VOTEDBY") && !$0.contains("FOK") })
        let to = try #require(columns.first { $0.contains("OPTIONS") })
        #expect(try store.rows("SELECT \(by), \(to) FROM \(table) ORDER BY 1") == ["3|3", "4|4"])
    }

    @Test(arguments: [
        "ALTER TABLE $T RENAME COLUMN $BY TO $BY1; ALTER TABLE $T ADD COLUMN more INTEGER",
        "ALTER TABLE $T RENAME COLUMN $BY TO $BY1; ALTER TABLE $T ADD COLUMN $BY2 INTEGER",
        "ALTER TABLE $T RENAME COLUMN $BY TO $BYX", "ALTER TABLE $T RENAME COLUMN $BY TO Z_99VOTEDBY1",
        "ALTER TABLE $T DROP COLUMN $BY", "ALTER TABLE $T RENAME TO Z_99OTHER",
    ])
    func aJoinTableThatIsNotCertainIsRefused(sql: String) throws {
        let store = try voters(sql.replacing("DROP COLUMN $BY", with: "RENAME COLUMN $BY TO x"))
        let survey = try SQLiteReader(path: store.path).survey(CoreDataStoreTests.survey("User"))
        #expect(survey.unsupported?.contains("it is unknown where its relationship") == true, "\(survey)")
        #expect(throws: StoreError.self) {
            try SQLiteWriter(path: store.path).execute(
                BatchDeleteRequest(fetchRequest: CoreDataStoreTests.expired("User"), resultType: .count))
        }
        #expect(try store.rows("SELECT count(*) FROM ZUSER") == ["4"])
    }
}
