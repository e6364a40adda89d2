import PriceStore
import RetentionJob
import RetentionPolicy

/// The entities of the ledger, and the conversion of runs and rules to rows and back.
enum LedgerRow {
    static let runEntityName = "run"
    static let ruleEntityName = "run_rule"
    /// The path of the store from the folder of the ledger.
    static let storeRelative = "store_relative"
    /// The inode of a store that is a file.
    static let storeInode = "store_inode"
    /// The number of the first run of the command that recorded the run, of those for many stores.
    static let firstOfCommand = "first_of_command"
    /// The rules that are agreed after the run, of all policies: ``AgreedRule/line``.
    static let agreed = "agreed"

    /// The entity of runs. Instants are stored twice: as text for people, and in microseconds since 1970 (`…_us`).
    static let runEntity = Entity(
        name: runEntityName,
        attributes: Int64.columns("number") + String.columns("outcome") + RunReport.columns + LedgerProcess.columns
            + Bool.columns("clock_believed") + Bool.columns("pending_sources")
            + LedgerChain.columns + ["undo_tables", "rules", agreed, storeRelative].flatMap(String.columns)
            + [storeInode, firstOfCommand].flatMap(Int64.columns),
        primaryKey: ["number"])

    /// The entity of the rules of runs.
    static let ruleEntity = Entity(
        name: ruleEntityName,
        attributes: ["run_number", "position"].flatMap(Int64.columns) + RunReport.RuleReport.columns,
        primaryKey: ["run_number", "position"])

    // MARK: To rows

    /// The values at the start of a run.
    ///
    /// - Parameter relative: the path of the store from the folder of the ledger; nil: the store is not a file.
    static func values(
        starting report: RunReport, number: Int64, store: String, relative: String?, process: LedgerProcess
    ) -> [String: StoreValue] {
        var values: [String: StoreValue] = [
            "number": .integer(number), "outcome": .text(LedgerRun.Outcome.running.rawValue),
            "clock_believed": .integer(1),
        ]
        report.record(in: &values, atStart: true)
        process.record(in: &values)
        values["store"] = .text(store)
        values["config"] = .text(FilePlace(report.config).path)
        values[storeRelative] = relative.map { .text($0) }
        values[storeInode] = FilePlace(store).inode.map { .integer($0) }
        values["undo_tables"] = report.undo?.tables.map(\.name).stored
        return values
    }

    static func values(finishing report: RunReport) -> [String: StoreValue] {
        var values: [String: StoreValue] = [:]
        report.record(in: &values)
        for name in ["store", "config"] { values[name] = nil }
        values["outcome"] = .text(report.runOutcome.rawValue)
        values["clock_believed"] = report.trustsClock.stored
        values["pending_sources"] = report.hasPendingSources.stored
        if !report.ruleLines.isEmpty { values["rules"] = .text(report.ruleLines.joined(separator: "\n")) }
        return values
    }

    static func values(of rule: RunReport.RuleReport, position: Int, runNumber: Int64) -> [String: StoreValue] {
        var values = [String: StoreValue](minimumCapacity: ruleEntity.attributes.count)
        values["run_number"] = .integer(runNumber)
        values["position"] = position.stored
        rule.record(in: &values)
        return values
    }

    // MARK: From rows

    /// A run without its rules.
    static func run(_ row: [String: StoreValue]) -> LedgerRun {
        var report = RunReport(
            runID: "", mode: .run, asOf: .distantPast, started: .distantPast, config: "", configSHA256: "", store: "",
            engine: "")
        report.read(row)
        if report.unknown.contains("as_of") { report.asOf = report.started }
        if report.unknown.contains("finished") { report.finished = report.started }
        report.hasPendingSources = Bool("pending_sources", of: row) ?? false
        var process = LedgerProcess(pid: 0, host: "", user: "", version: "")
        process.read(row)
        var run = LedgerRun(
            number: Int("number", of: row) ?? 0, report: report,
            outcome: String("outcome", of: row).flatMap(LedgerRun.Outcome.init) ?? .crashed, process: process)
        run.relativeStore = String(storeRelative, of: row)
        run.firstOfCommand = Int(firstOfCommand, of: row)
        return run
    }

    static func rule(_ row: [String: StoreValue]) -> RunReport.RuleReport {
        var rule = RunReport.RuleReport(
            name: "", entity: "", dateAttribute: "", dateFormat: nil, maxAge: "", cutoff: .distantPast, outcome: .failed
        )
        rule.read(row)
        return rule
    }
}

extension StoreReader {
    /// Rows of an entity of a ledger; none if it has no such entity. A ledger of an earlier version lacks attributes until the next run adds
    /// them.
    ///
    /// - Parameter attributes: those to read; nil: all, including those that this version does not know.
    func rows(
        of entity: String, where predicate: StorePredicate = .all, order: [StoreSortDescriptor] = [],
        limit: Int? = nil, attributes: [String]? = nil
    ) throws -> [[String: StoreValue]] {
        let present = try self.entity(named: entity)?.attributes.map(\.name) ?? []
        let names = attributes.map { $0.filter(present.contains) } ?? present
        guard !names.isEmpty else { return [] }
        return try fetch(
            StoreFetchRequest(entity: entity, predicate: predicate, sortDescriptors: order, fetchLimit: limit),
            attributes: names
        ).map { Dictionary(firstOf: zip(names, $0)) }
    }

    /// Rows of the runs of a ledger, the newest first.
    func newestRuns(
        where predicate: StorePredicate, limit: Int?, attributes: [String]? = nil
    ) throws -> [[String: StoreValue]] {
        try rows(
            of: LedgerRow.runEntityName, where: predicate, order: [StoreSortDescriptor("number", ascending: false)],
            limit: limit, attributes: attributes)
    }

    /// The lowest of the numbers that some runs have in an attribute, or the highest; nil: there is none.
    func runNumber(
        _ attribute: String, where predicate: StorePredicate = .all, ascending: Bool = true
    ) throws -> Int64? {
        try rows(
            of: LedgerRow.runEntityName, where: predicate,
            order: [StoreSortDescriptor(attribute, ascending: ascending)], limit: 1, attributes: [attribute]
        ).first?[attribute]?.number
    }

    /// Whether the ledger has an attribute of runs, which one of an earlier version may lack.
    func runsHave(_ attribute: String) throws(StoreError) -> Bool {
        try entity(named: LedgerRow.runEntityName)?.attribute(named: attribute) != nil
    }
}

extension [String: StoreValue] {
    /// The lines of a text as they are.
    func lines(_ name: String) -> [String] {
        String(name, of: self)?.fields(separatedBy: "\n").filter { !$0.isEmpty } ?? []
    }
}
