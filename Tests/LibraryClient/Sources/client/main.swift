import Foundation
import SQLiteStore

let writer = try SQLiteWriter(path: CommandLine.arguments[1], create: true)
try writer.createEntity(
    Entity(
        name: "GoldPrice",
        attributes: [
            Attribute(name: "time", affinity: .real, isRequired: true),
            Attribute(name: "dollars", affinity: .real),
        ]))
try writer.createIndex(on: "GoldPrice", attributes: ["time"])
let context = StoreContext(writer)

// One price a day for 60 days, the newest an hour old.
let now = Date()
let prices: [[String: StoreValue]] = (0..<60).map { day in
    ["time": StoreValue(now.timeIntervalSince1970 - Double(day) * 86_400 - 3600), "dollars": 2600.5]
}
try context.execute(BatchInsertRequest(entity: "GoldPrice", objects: prices))

// Delete what is older than 30 days.
let old = StoreFetchRequest(entity: "GoldPrice", predicate: Attribute("time", .unixSeconds) < now - 30 * 86_400)
let result = try context.executeAndMergeChanges(using: BatchDeleteRequest(fetchRequest: old))
print("\(result.deletedCount) prices deleted, \(try context.count(StoreFetchRequest(entity: "GoldPrice"))) left")
