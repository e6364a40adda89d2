import Foundation
import PriceStore
import RetentionPolicy
import SQLiteStore
import TestSupport
import Testing

@testable import RetentionJob

/// Files as data providers publish them.
@Suite struct PendingRealDataTests {
    @Test func theMonthlyGoldPricesAreSavedAsTheFirstDayOfTheirMonth() throws {
        let fixture = try PendingStoreFixture()
        fixture.source.columns = ["Date": "updateTime", "Price": "price"]
        fixture.source.constants = ["symbol": .text("XAUUSD")]
        let bytes = Array(try Data(contentsOf: RealData.gold))
        try fixture.folder.write("pending/gold-monthly.csv", bytes)
        let predicted = try fixture.save(into: SQLiteReader(path: fixture.storePath))
        #expect(predicted.saved == 2322)
        #expect(predicted.rejected == 0)
        #expect(try fixture.save() == predicted)
        let rows = try fixture.rows()
        #expect(rows.count == 2322)
        #expect(rows.first == [.integer(-4_323_283_200), .real(18.93), .text("XAUUSD")])
    }
}
