import PriceStore
import RetentionJob
import RetentionPolicy

/// Which runs of a ledger are of which store. With many stores the runs of one are read by their numbers: a ledger has no indexes, because
/// nothing but its tables may be in it.
final class LedgerIndex {
    private var runs: [String: [Int64]] = [:]
    private(set) var undos: [Int64] = []
    /// What the history has read of these, and how many they were.
    var undosRead: (count: Int, undos: LedgerHistory.Undos)?
    /// Reads the rules of all stores.
    var records = RecordedRules()
    /// The last run before this command that recorded which rules are agreed; nil: none did. All stores of a command are compared with the
    /// same rules, so that its dry run says what it does.
    private(set) var lastAgreed: Int64?
    /// What this command has recorded of them; nil: nothing yet.
    var agreed: [String]?
    /// The number that the first run of this command has.
    private(set) var firstOfCommand: Int64 = .max
    private(set) var last: Int64 = 0
    /// Runs that had not ended.
    private var open: [Int64] = []
    var hasOpenRuns: Bool { !open.isEmpty }
    /// The end of the chain.
    private var newest: (place: Int64, number: Int64)?
    /// The newest store whose file no longer exists, when that was asked first.
    private(set) lazy var goneStore = runs.filter {
        $0.key.hasPrefix("store=/") && FilePlace(String($0.key.dropFirst(6))).facts == nil
    }.max { ($0.value.last ?? 0) < ($1.value.last ?? 0) }.map { String($0.key.dropFirst(6)) }

    private static let names = ["number", "place", "mode", "store", LedgerRow.storeRelative, LedgerRow.agreed]
    /// The number of runs that are read at a time.
    private static let portion = 10_000

    /// Reads what was recorded since the last time. A transaction calls it before it changes anything, because it may be rolled back.
    func update(from reader: any StoreReader) throws {
        guard let entity = try reader.entity(named: LedgerRow.runEntityName) else { return }
        let names = Self.names.filter { entity.attribute(named: $0) != nil }
        func note(_ runs: StorePredicate, isNew: Bool) throws -> Int {
            let rows = try reader.fetch(
                StoreFetchRequest(
                    entity: entity.name, predicate: runs, sortDescriptors: [StoreSortDescriptor("number")],
                    fetchLimit: Self.portion), attributes: names)
            for row in rows {
                guard let number = row[0].number else { continue }
                for (name, value) in zip(names, row) {
                    switch (name, value) {
                    case ("place", .integer(let place)):
                        if place > newest?.place ?? .min { newest = (place, number) }
                    case ("place", _): open.append(number)
                    case (LedgerRow.agreed, .text):
                        if number < firstOfCommand { lastAgreed = max(lastAgreed ?? number, number) }
                    case ("mode", .text(RunReport.Mode.undo.rawValue)) where isNew: undos.append(number)
                    case ("store", .text(let text)), (LedgerRow.storeRelative, .text(let text)):
                        if isNew { self.runs["\(name)=\(text)", default: []].append(number) }
                    default: break
                    }
                }
                last = max(last, number)
            }
            return rows.count
        }
        let waiting = open
        open = []
        if !waiting.isEmpty { _ = try note(.isIn("number", waiting.map { .integer($0) }), isNew: false) }
        while try note(.compare("number", .greater, .integer(last)), isNew: true) == Self.portion {}
        firstOfCommand = min(firstOfCommand, last + 1)
    }

    func runs(_ name: String, _ values: [String]) -> [Int64] { values.flatMap { runs["\(name)=\($0)"] ?? [] } }

    /// The condition for the end of the chain; nil: there is none.
    var isNewest: StorePredicate? {
        newest.map { .compare("number", .equal, .integer($0.number)) && .compare("place", .equal, .integer($0.place)) }
    }
}
