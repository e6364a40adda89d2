package import PriceStore
import RetentionJob

/// The result of verifying the hash chain of a ledger.
package struct LedgerVerification: Hashable, Sendable {
    /// The first record that differs from what was recorded.
    package struct Fault: Hashable, Sendable {
        package enum Kind: String, Hashable, Sendable {
            case changed, removed, added
        }
        package var kind: Kind
        /// A sentence without a full stop that names the run.
        package var message: String
    }

    /// The number of runs whose hash was verified: those before the fault, or all.
    package var runCount = 0
    /// Runs in progress, which have no hash yet.
    package var openCount = 0
    /// The number of runs that the ledger itself has deleted, because they were older than it keeps runs.
    package var trimmedCount: Int64 = 0
    /// The hash of the last run; nil: no run has ended yet. If it is kept elsewhere, it can later prove that the chain still contains
    /// everything up to that run.
    package var head: String?
    /// The number of runs after the one with the witness's hash; nil: there is no witness, or no run has its hash.
    package var countAfterWitness: Int?
    /// The first fault; nil: every record is unchanged.
    package var fault: Fault?

    /// How many runs are fetched at a time.
    private static let portion = 500

    /// Verifies a ledger from the first run on, up to the first fault.
    ///
    /// A chain beside its data cannot show by itself that an older copy of the file was restored, that its end was cut off, or that someone
    /// with write access rewrote all of it. A witness shows all three.
    ///
    /// - Parameters:
    ///   - witness: a hash that a run printed and that was kept outside of the ledger. One of the runs must have it.
    ///   - through: the last place to verify; nil: all.
    /// - Throws: ``StoreError`` if the ledger cannot be read.
    package static func read(
        _ reader: any StoreInserter, witness: String? = nil, through: Int64? = nil
    ) throws -> LedgerVerification {
        // One snapshot, so that a run that is recorded meanwhile does not look like an added one.
        try reader.transaction(.normal) {
            var verification = LedgerVerification()
            if let entity = try reader.entity(named: LedgerRow.runEntityName) {
                let hasChain = LedgerChain.columns.allSatisfy { entity.attribute(named: $0.name) != nil }
                if hasChain { try verification.follow(reader, witness, through ?? .max) }
                if verification.fault == nil, through == nil {
                    try verification.lookForOthers(reader, hasChain: hasChain)
                }
            }
            if through == nil { verification.lookForWitness(witness) }
            return verification
        }
    }

    /// Verifies the records of some runs by their own hashes.
    ///
    /// - Returns: the first fault; nil: the records are unchanged.
    package static func fault(ofRuns numbers: [Int], _ reader: any StoreInserter) throws -> Fault? {
        try reader.transaction(.normal) {
            let numbers = numbers.map(Int64.init)
            let runs = try reader.rows(
                of: LedgerRow.runEntityName, where: .isIn("number", numbers.map { .integer($0) }))
            let rules = try LedgerChain.rules(ofRuns: numbers, in: reader)
            return runs.lazy.compactMap { fault(of: $0, rules) }.first
        }
    }

    private mutating func follow(_ reader: any StoreInserter, _ witness: String?, _ through: Int64) throws {
        trimmedCount = max(0, try LedgerChain.newest(in: reader)?["trimmed_through"]?.number ?? 0)
        var place: Int64 = .min
        var previous = LedgerChain.origin
        while true {
            let runs = try reader.rows(
                of: LedgerRow.runEntityName,
                where: .compare("place", .greater, .integer(place))
                    && .compare("place", .lessOrEqual, .integer(through)),
                order: [StoreSortDescriptor("place"), StoreSortDescriptor("number")], limit: Self.portion)
            guard !runs.isEmpty else { return }
            let rules = try LedgerChain.rules(ofRuns: runs.compactMap { $0["number"]?.number }, in: reader)
            for run in runs {
                let expected = trimmedCount &+ Int64(runCount) &+ 1
                place = run["place"]?.number ?? 0
                if runCount == 0, trimmedCount > 0 { previous = run["previous_hash"]?.string ?? "" }
                guard place == expected else {
                    let name = Self.name(run)
                    return fault =
                        place > expected
                        ? Fault(kind: .removed, message: "the run at place \(expected) is missing; \(name) follows")
                        : Fault(kind: .added, message: "\(name) was added at place \(place)")
                }
                if let found = Self.fault(of: run, rules) { return fault = found }
                guard run["previous_hash"]?.string == previous else {
                    return fault = Fault(
                        kind: .removed, message: "\(Self.name(run)) does not follow the run that is before it")
                }
                previous = run["hash"]?.string ?? ""
                head = previous
                runCount += 1
                countAfterWitness = head == witness ? 0 : countAfterWitness.map { $0 + 1 }
            }
        }
    }

    /// The fault of a run's record; nil: there is none. A run in progress has only its beginning.
    private static func fault(of run: [String: StoreValue], _ rules: [Int64: [[String: StoreValue]]]) -> Fault? {
        let its = run["number"]?.number.flatMap { rules[$0] } ?? []
        guard run["place"] ?? .null == .null else {
            return LedgerChain.hash(of: run, rules: its) == run["hash"]?.string
                ? nil : Fault(kind: .changed, message: "\(name(run)) is not what was recorded")
        }
        let outcome = run["outcome"]?.string ?? ""
        return its.isEmpty && outcome == LedgerRun.Outcome.running.rawValue && run["finished_us"]?.number == nil
            ? nil : Fault(kind: .added, message: "\(name(run)) is recorded as \(outcome) but is not in the chain")
    }

    /// Finds runs and rules that are not in the chain.
    private mutating func lookForOthers(_ reader: any StoreInserter, hasChain: Bool) throws {
        // A place of another type does not count.
        let hasPlace =
            StorePredicate.compare("place", .greaterOrEqual, .integer(.min))
            && .compare("place", .lessOrEqual, .integer(.max))
        let open = try reader.rows(
            of: LedgerRow.runEntityName, where: hasChain ? .notTrue(hasPlace) : .all,
            order: [StoreSortDescriptor("number")])
        openCount = open.count
        for run in open where fault == nil {
            fault = Self.fault(of: run, try LedgerChain.rules(ofRuns: [run["number"]?.number ?? 0], in: reader))
        }
        if fault != nil, runCount == 0 {
            fault = Fault(
                kind: .removed, message: "the chain is missing: no hash covers \(Figures.count(open.count, "run"))")
        }
        let numbers = try reader.fetch(StoreFetchRequest(entity: LedgerRow.runEntityName), attributes: ["number"])
        let known = Set(numbers.compactMap { $0.first?.number })
        // A kill while the ledger is created can leave it without the entity.
        let rules = try reader.rows(of: LedgerRow.ruleEntityName, attributes: ["run_number"])
        let orphan = rules.first { $0["run_number"]?.number.map { !known.contains($0) } ?? true }
        if fault == nil, let orphan {
            fault = Fault(
                kind: .added,
                message: "a rule of run number \(orphan["run_number"]?.number ?? 0) was added: that run does not exist")
        }
    }

    private mutating func lookForWitness(_ witness: String?) {
        guard fault == nil, let witness, countAfterWitness == nil else { return }
        fault = Fault(
            kind: .removed,
            message:
                "no run has the hash \(witness): an older copy of the ledger was put in its place, its end was cut off, or "
                + "it was rewritten" + (trimmedCount > 0 ? "; or the hash is older than the ledger keeps runs" : ""))
    }

    private static func name(_ run: [String: StoreValue]) -> String {
        "run \(run["run"]?.string ?? "") (number \(run["number"]?.number ?? 0))"
    }

    /// The output of `retention log --verify`.
    package var lines: [String] {
        var lines: [String] = []
        if let fault {
            lines.append("\(fault.kind.rawValue.uppercased()): \(SafeText.line(fault.message))")
            lines.append("Unchanged runs before it: \(Figures.grouped(runCount)).")
        } else if let head {
            lines.append("The ledger is intact: \(Figures.count(runCount, "run")).")
            lines.append("The last hash is \(head).")
            if let count = countAfterWitness {
                lines.append(
                    count == 0
                        ? "It is the given one."
                        : "The given hash is that of an earlier run; \(Figures.count(count, "run")) "
                            + "\(count == 1 ? "has" : "have") ended since.")
            }
        } else {
            lines.append("No run is recorded yet.")
        }
        if openCount > 0 { lines.append("Not covered until they end: \(Figures.count(openCount, "run")).") }
        if trimmedCount > 0 {
            lines.append("Older than the ledger keeps runs, and removed: \(Figures.count(Int(trimmedCount), "run")).")
        }
        return lines
    }
}
