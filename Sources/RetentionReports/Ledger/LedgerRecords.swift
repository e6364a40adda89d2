import PriceStore
import RetentionJob

/// The records of some links, as they are in the ledger now.
struct LedgerRecords {
    /// How a run is named in a message.
    struct Name {
        var number: Int64
        var run: String
        var outcome: String
        var text: String { "run \(run) (number \(number))" }
    }

    private var runs: [Int64: [String: StoreValue]] = [:]
    private var rules: [Int64: [[String: StoreValue]]] = [:]

    /// Fetches the runs of some links, and their rules.
    init(of links: [LedgerChain.Link], in reader: any StoreReader) throws {
        let numbers = links.compactMap(\.run)
        guard let first = numbers.min(), let last = numbers.max() else { return }
        func range(_ name: String) -> StorePredicate {
            .compare(name, .greaterOrEqual, .integer(first)) && .compare(name, .lessOrEqual, .integer(last))
        }
        for run in try LedgerChain.rows(LedgerRow.runEntityName, where: range("number"), in: reader) {
            if let number = run["number"]?.number { runs[number] = run }
        }
        for rule in try LedgerChain.rows(
            LedgerRow.ruleEntityName, where: range("run_number"), order: [StoreSortDescriptor("position")], in: reader)
        {
            if let number = rule["run_number"]?.number { rules[number, default: []].append(rule) }
        }
    }

    /// The record of a link; nil: its run is not there.
    func record(of link: LedgerChain.Link) -> String? {
        if link.kind == LedgerChain.Kind.trimmed.rawValue { return "" }
        guard let number = link.run, let run = runs[number] else { return nil }
        return link.kind == LedgerChain.Kind.begin.rawValue
            ? LedgerChain.record(.running, of: run) : LedgerChain.record(of: run, rules: rules[number] ?? [])
    }

    /// Whether a run's rows contain only what was recorded at its start.
    func isOnlyBegun(_ number: Int64) -> Bool {
        guard let run = runs[number] else { return false }
        return LedgerChain.record(of: run, rules: rules[number] ?? []) == LedgerChain.record(.running, of: run)
    }

    /// How messages name a run.
    func name(_ number: Int64) -> String? {
        runs[number].map { Name(number: number, run: $0["run"]?.string ?? "", outcome: "").text }
    }

    /// The names of all runs, in the order of their numbers.
    static func names(_ reader: any StoreReader) throws -> [Name] {
        try reader.fetch(
            StoreFetchRequest(entity: LedgerRow.runEntityName, sortDescriptors: [StoreSortDescriptor("number")]),
            attributes: ["number", "run", "outcome"]
        ).map { Name(number: $0[0].number ?? 0, run: $0[1].string ?? "", outcome: $0[2].string ?? "") }
    }
}
