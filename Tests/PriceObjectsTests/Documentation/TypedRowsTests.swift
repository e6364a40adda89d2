import Foundation
import SQLiteStore
import Testing

/// The samples of the article TypedRows.
struct TypedRowsTests {
    /// The blocks of the article, one after the other, with nothing between them but checks.
    @Test func theArticleRunsInOrder() throws {
        enum Metal: String, StoreConvertible { case gold, silver }

        struct Tick: Storable {
            static let entity = "Tick"
            static let attributes = [
                Attribute(name: "metal", affinity: .text, isRequired: true),
                Attribute(name: "time", affinity: .integer, isRequired: true, dateEncoding: .unixSeconds),
                Attribute(name: "dollars", affinity: .real),
            ]
            static let primaryKey = ["metal", "time"]

            var metal: Metal
            var time: Date
            var dollars: Double?

            init(metal: Metal, time: Date, dollars: Double?) {
                (self.metal, self.time, self.dollars) = (metal, time, dollars)
            }

            init(_ row: inout StoredValues) throws {
                metal = try row.next()
                time = try row.next()
                dollars = try row.next()
            }

            func write(to row: inout StoredValues) {
                row.append(metal)
                row.append(time)
                row.append(dollars)
            }
        }
        let writer = try SQLiteWriter.inMemory()
        try writer.createEntity(for: Tick.self)
        let context = StoreContext(writer)
        let noon = Date(timeIntervalSince1970: 1_735_732_800)
        let ticks = (0..<60).map { Tick(metal: .gold, time: noon + Double($0) * 60, dollars: 2600 + Double($0)) }
        try context.execute(BatchInsertRequest(ticks))
        let latest = try context.fetch(
            Tick.self, predicate: Attribute("metal") == Metal.gold,
            sortDescriptors: [StoreSortDescriptor("time", ascending: false)], fetchLimit: 10)
        #expect(latest.count == 10 && latest[0].dollars == 2659 && latest[0].time == noon + 59 * 60)
        let corrected = [
            Tick(metal: .gold, time: noon, dollars: 2601.5), Tick(metal: .silver, time: noon, dollars: 29.5),
        ]
        let result = try context.execute(BatchInsertRequest(corrected, onConflict: .replace))
        #expect(result.insertedCount == 2)
        #expect(try context.fetch(Tick.self).count == 61)
        let old = StoreFetchRequest(Tick.self, predicate: Attribute("time", .unixSeconds) < noon + 600)
        try context.execute(BatchDeleteRequest(fetchRequest: old))
        #expect(try context.fetch(Tick.self).count == 50)
        let figures = try context.figures(
            [.count, .max("dollars")], of: StoreFetchRequest(Tick.self), groupedBy: ["metal"])
        for row in figures {
            guard let metal = Metal(storeValue: row[0]), let count = Int(storeValue: row[1]) else { continue }
            print(metal, count, row[2])
        }
        let newest = try context.figures([.max("time")], of: StoreFetchRequest(Tick.self))[0][0]
        let newestTime = DateEncoding.unixSeconds.instant(of: newest).map { Date($0) }
        #expect(figures == [["gold", 50, 2659.0]] && newestTime == noon + 59 * 60)
        let high = try context.query(
            Tick.self, "SELECT metal, time, max(dollars) FROM Tick WHERE metal = ? GROUP BY metal", [Metal.gold])
        #expect(high.map(\.dollars) == [2659] && high[0].metal == .gold)
    }
}
