import Foundation
import SQLiteStore

/// What a tick is of.
enum Metal: String, StoreConvertible, CaseIterable, Sendable { case gold, silver }

/// A price at an instant, as a feed reports it.
struct Tick: Storable, Hashable, Sendable {
    static let entity = "Tick"
    static let time = Attribute(
        name: "time", affinity: .integer, isRequired: true, dateEncoding: .unixMilliseconds)
    static let metal = Attribute(name: "metal", affinity: .text, isRequired: true)
    static let dollars = Attribute(name: "dollars", affinity: .real)
    static let attributes = [
        metal, time, dollars, Attribute(name: "fee", affinity: .text), Attribute(name: "feed", affinity: .none),
    ]
    static let primaryKey = ["metal", "time"]

    var metal: Metal
    var time: Date
    var dollars: Double?
    var fee: Decimal
    var feed: UUID?

    init(_ metal: Metal, at time: Date, dollars: Double?, fee: Decimal = 0, feed: UUID? = nil) {
        (self.metal, self.time, self.dollars, self.fee, self.feed) = (metal, time, dollars, fee, feed)
    }

    init(_ row: inout StoredValues) throws {
        metal = try row.next()
        time = try row.next()
        dollars = try row.next()
        fee = try row.next()
        feed = try row.next()
    }

    func write(to row: inout StoredValues) {
        row.append(metal)
        row.append(time)
        row.append(dollars)
        row.append(fee)
        row.append(feed)
    }
}
