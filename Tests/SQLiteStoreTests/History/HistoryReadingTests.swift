import Foundation
import PriceObjects
import PriceStore
import SQLiteStore
import Testing

/// Reading the history on from a place, and deleting what is old of it.
struct HistoryReadingTests {
    let store: TemporaryStore
    let writer: SQLiteWriter

    /// Ten transactions, a second apart.
    init() throws {
        store = try TemporaryStore("CREATE TABLE price (time INTEGER)")
        writer = try store.writer()
        try writer.keepHistory()
        for second in 1...10 {
            writer.clock = { Instant(unixSeconds: Int64(second)) }
            _ = try writer.insertObject(entity: "price", values: [:])
        }
    }

    private func numbers(after token: HistoryToken?, limit: Int = 100) throws -> [Int64] {
        try writer.history(after: token, limit: limit).map(\.token.transactionNumber)
    }

    private func token(_ number: Int64) throws -> HistoryToken {
        HistoryToken(
            historyIdentifier: try #require(try writer.currentHistoryToken()).historyIdentifier,
            transactionNumber: number)
    }

    private func kind<T>(_ body: () throws -> T) -> StoreError.Kind? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? StoreError)?.kind
        }
    }

    @Test func theHistoryIsReadInPortions() throws {
        #expect(try numbers(after: nil, limit: 3) == [1, 2, 3])
        #expect(try numbers(after: token(3), limit: 4) == [4, 5, 6, 7])
        #expect(try numbers(after: token(7)) == [8, 9, 10])
        #expect(try numbers(after: token(10)) == [])
        #expect(try numbers(after: nil, limit: 0) == [])
        #expect(try numbers(after: token(3), limit: -1) == [])
    }

    @Test func aPortionEndsWhenItHasManyChanges() throws {
        for _ in 1...3 {
            _ = try writer.execute(
                BatchInsertRequest(entity: "price", objects: Array(repeating: [:], count: 6000)))
        }
        #expect(try numbers(after: token(10)) == [11, 12])
        #expect(try numbers(after: token(12)) == [13])
    }

    @Test func aTokenSurvivesARestartAndAMove() throws {
        let token = try #require(try writer.history(after: nil, limit: 4).last).token
        let text = try JSONEncoder().encode([token])
        let copy = try store.copy()
        let read = try JSONDecoder().decode([HistoryToken].self, from: text)
        #expect(read == [token] && HistoryToken(token.description) == token)
        let moved = try copy.writer().history(after: read[0], limit: 1)
        #expect(moved.map(\.token.transactionNumber) == [5])
        #expect(moved.first?.changes.first?.objectID.storeIdentifier == (try copy.reader().storeIdentifier))
    }

    @Test(arguments: [
        "", "1", ":1", "0123456789abcdef0123456789abcdef:", "0123456789abcdef0123456789abcdef:-1",
        "0123456789abcdef0123456789abcdef:01", "0123456789ABCDEF0123456789abcdef:1",
        "0123456789abcdef0123456789abcdef:1:2", "123:1",
    ])
    func otherTextsAreNoTokens(_ text: String) throws {
        #expect(HistoryToken(text) == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([HistoryToken].self, from: try JSONEncoder().encode([text]))
        }
    }

    @Test func aTokenOfAnotherStoreIsAnError() throws {
        let other = try TemporaryStore("CREATE TABLE price (time INTEGER)")
        let otherWriter = try other.writer()
        try otherWriter.keepHistory()
        let foreign = try #require(try otherWriter.currentHistoryToken())
        #expect(kind { try writer.history(after: foreign, limit: 1) } == .unsupported)
        #expect(kind { try writer.deleteHistory(before: foreign) } == .unsupported)
    }

    @Test func aTokenOfAnOlderCopyIsMissing() throws {
        #expect(kind { try numbers(after: token(11)) } == .historyMissing)
    }

    @Test func historyIsDeletedByAge() throws {
        #expect(try writer.deleteHistory(before: Instant(unixSeconds: 4)) == 3)
        #expect(try writer.deleteHistory(before: Instant(unixSeconds: 4)) == 0)
        #expect(try store.rows("SELECT group_concat(DISTINCT number) FROM retention_change") == ["4,5,6,7,8,9,10"])
        #expect(try numbers(after: nil) == Array(4...10))
        #expect(try numbers(after: token(3), limit: 1) == [4])
        #expect(kind { try numbers(after: token(2)) } == .historyMissing)
    }

    @Test func historyIsDeletedBeforeAToken() throws {
        #expect(try writer.deleteHistory(before: token(4)) == 3)
        #expect(try numbers(after: nil, limit: 2) == [4, 5])
    }

    @Test func whenAllHistoryIsDeletedNumbersGoOn() throws {
        let last = try writer.currentHistoryToken()
        #expect(try writer.deleteHistory(before: .distantFuture) == 10)
        #expect(try store.rows("SELECT count(*) FROM retention_change") == ["0"])
        #expect(try writer.currentHistoryToken() == last)
        #expect(try numbers(after: nil) == [])
        #expect(try numbers(after: last) == [])
        #expect(kind { try numbers(after: token(9)) } == .historyMissing)
        _ = try writer.insertObject(entity: "price", values: [:])
        #expect(try numbers(after: last) == [11])
        #expect(kind { try numbers(after: token(9)) } == .historyMissing)
    }

    @Test func aClockThatWasSetBackLeavesNoGap() throws {
        writer.clock = { Instant(unixSeconds: 2) }
        _ = try writer.insertObject(entity: "price", values: [:])
        #expect(try writer.deleteHistory(before: Instant(unixSeconds: 5)) == 4)
        #expect(try numbers(after: nil) == Array(5...11))
    }

    @Test func aGapEndsAPortionAndIsToldByTheNext() throws {
        try store.change("DELETE FROM retention_transaction WHERE number IN (4, 5)")
        #expect(try numbers(after: nil) == [1, 2, 3])
        #expect(kind { try numbers(after: token(3)) } == .historyMissing)
        #expect(try numbers(after: token(5), limit: 1) == [6])
    }
}
