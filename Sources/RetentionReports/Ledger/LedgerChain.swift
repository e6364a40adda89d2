import PriceStore
import RetentionJob
import RetentionPolicy

/// The hash chain over the ledger. Each ended run has a hash over its record, which contains the hash of the run that ended before it.
///
/// The hash is made from what the run knows, not from what the ledger reads back. Only a crashed run is read back, when the next run
/// begins.
enum LedgerChain {
    /// The hash before the first run.
    static let origin = String(repeating: "0", count: 64)

    /// What the chain adds to the row of a run: its place, counted from 1; the hash of the run at the previous place; its own hash; and the
    /// last place whose record the ledger has deleted.
    static let columns =
        Int64.columns("place") + String.columns("previous_hash") + String.columns("hash")
        + Int64.columns("trimmed_through")

    /// The hash of a run: SHA-256 over the canonical records of its row, without the hash, and of its rules by position.
    static func hash(of run: [String: StoreValue], rules: [[String: StoreValue]]) -> String {
        var run = run
        run["hash"] = nil
        var hash = SHA256()
        hash.update(LedgerRecord.texts(of: [run])[0])
        for text in LedgerRecord.texts(of: rules) {
            hash.update([UInt8(ascii: "\n")])
            hash.update(text)
        }
        return hash.digits()
    }

    /// The values that put a run at the end of the chain.
    ///
    /// - Parameters:
    ///   - last: the newest one there; nil: it is the first.
    ///   - through: the last place whose record was just deleted; nil: none was.
    static func end(
        for run: [String: StoreValue], rules: [[String: StoreValue]], after last: [String: StoreValue]?,
        trimmedThrough through: Int64? = nil, in writer: any StoreWriter
    ) throws -> [String: StoreValue] {
        var values: [String: StoreValue] = [
            "place": .integer(try RunLedger.number(after: last?["place"]?.number ?? 0, in: writer)),
            "previous_hash": .text(last?["hash"]?.string ?? origin),
            "trimmed_through": through.map { .integer($0) } ?? last?["trimmed_through"] ?? .null,
        ]
        values["hash"] = .text(hash(of: run.merging(values) { $1 }, rules: rules))
        return values
    }

    /// What the chain has added to its newest run; nil: no run has ended yet, or the ledger has no chain.
    ///
    /// - Parameter index: which run that is; nil: it is looked for.
    static func newest(in reader: any StoreReader, _ index: LedgerIndex? = nil) throws -> [String: StoreValue]? {
        func first(_ run: StorePredicate) throws -> [String: StoreValue]? {
            try reader.rows(
                of: LedgerRow.runEntityName, where: run, order: [StoreSortDescriptor("place", ascending: false)],
                limit: 1, attributes: columns.map(\.name)
            ).first
        }
        guard try reader.runsHave("place") else { return nil }
        return try index?.isNewest.flatMap(first) ?? first(.isNotNull("place"))
    }

    /// The rules of some runs, by run number. The rules of each run are ordered by position.
    static func rules(
        ofRuns numbers: [Int64], in reader: any StoreReader
    ) throws -> [Int64: [[String: StoreValue]]] {
        let rules = try reader.rows(
            of: LedgerRow.ruleEntityName, where: .isIn("run_number", numbers.map { .integer($0) }),
            order: [StoreSortDescriptor("position")])
        return Dictionary(grouping: rules) { $0["run_number"]?.number ?? 0 }
    }
}
