package import PriceStore
import RetentionJob

/// What going through the hash chain of a ledger has shown.
package struct LedgerVerification: Hashable, Sendable {
    /// The first record that is not what was recorded.
    package struct Fault: Hashable, Sendable {
        package enum Kind: String, Hashable, Sendable {
            case changed, removed, reordered, added
        }
        package var kind: Kind
        /// A sentence without a full stop that names the run.
        package var message: String
    }

    /// Links that were followed before the fault, or all of them.
    package var linkCount = 0
    /// Runs that the chain covers.
    package var runCount = 0
    /// The newest run that the ledger itself has deleted, because it was older than the ledger keeps runs; nil: none.
    package var trimmedThroughRun: Int?
    /// The hash of the last link; nil: there is no run yet. Whoever writes it down elsewhere can show later that the
    /// chain still holds everything up to it.
    package var head: String?
    /// The links after the one with the witness's hash; nil: there is no witness, or no link has its hash.
    package var countAfterWitness: Int?
    /// Nil: every record is what was recorded.
    package var fault: Fault?

    /// Links are followed in portions of so many, whose records are fetched together.
    private static let portion = 500

    /// Checks a ledger from the first link on, up to the first fault.
    ///
    /// A chain beside its data cannot show alone that an older copy of the file was restored, that its end was cut off,
    /// or that someone who can write the file rewrote all of it. A witness shows all three.
    ///
    /// - Parameters:
    ///   - witness: a hash that a run printed, kept outside of the ledger: one of the checked links must have it. A
    ///     deleted link proves nothing, because anyone who rewrites the ledger can name any hash there.
    ///   - through: the last link to check; nil: all.
    /// - Throws: ``StoreError`` if the ledger cannot be read.
    package static func read(
        _ reader: any StoreInserter, witness: String? = nil, through: Int64? = nil
    ) throws -> LedgerVerification {
        // In one snapshot: a run that is recorded meanwhile must not look like one that was added.
        try reader.transaction(.normal) {
            var verification = LedgerVerification()
            try verification.follow(reader, witness: witness, through: through ?? .max)
            return verification
        }
    }

    /// Checks the record of one run, with all links up to its last one.
    ///
    /// - Returns: the first fault; nil: the run is what was recorded.
    package static func fault(ofRun number: Int, _ reader: any StoreInserter) throws -> Fault? {
        try reader.transaction(.normal) {
            let run = StorePredicate.compare("run_number", .equal, .integer(Int64(number)))
            guard let last = try LedgerChain.links(in: reader, where: run, ascending: false, limit: 1).first else {
                return Fault(kind: .added, message: "run number \(number) was added: no link records it")
            }
            var verification = LedgerVerification()
            try verification.follow(reader, witness: nil, through: last.position)
            if verification.fault == nil, last.kind == LedgerChain.Kind.begin.rawValue,
                try !LedgerRecords(of: [last], in: reader).isOnlyBegun(Int64(number))
            {
                verification.fault(.changed, "run number \(number) has an end, and no link records it")
            }
            return verification.fault
        }
    }

    private mutating func follow(_ reader: any StoreInserter, witness: String?, through: Int64) throws {
        // The first link follows nothing, or the last link of the newest trim.
        let trim = try LedgerChain.links(
            in: reader, where: .compare("kind", .equal, .text(LedgerChain.Kind.trimmed.rawValue)), ascending: false,
            limit: 1
        ).first
        trimmedThroughRun = trim?.throughRun.map(Int.init)
        var previous = LedgerChain.origin
        var position: Int64 = 0
        if let trim, let basePosition = trim.basePosition, let baseHash = trim.baseHash {
            (position, previous) = (basePosition, baseHash)
        }
        // Only links that are followed vouch for a run, so none may be before the first of them.
        if let first = try LedgerChain.links(in: reader, limit: 1).first, first.position <= position {
            return fault(
                .reordered,
                "link \(first.position) is there, "
                    + (trim == nil ? "and the first link is 1" : "although the ledger says that it deleted it"))
        }
        var begun: Set<Int64> = []
        var unended: [Int64: Bool] = [:]
        var last = position
        while true {
            let links = try LedgerChain.links(
                in: reader,
                where: .compare("position", .greater, .integer(last))
                    && .compare("position", .lessOrEqual, .integer(through)), limit: Self.portion)
            guard let end = links.last else { break }
            let records = try LedgerRecords(of: links, in: reader)
            for (index, link) in links.enumerated() {
                guard link.position == position &+ 1 else {
                    return fault(.removed, "link \(position &+ 1) is missing; link \(link.position) follows")
                }
                guard let record = records.record(of: link) else {
                    return fault(
                        .removed, "run number \(link.run ?? 0), of link \(link.position), is not in the ledger")
                }
                guard LedgerChain.hash(after: previous, link: link.values, record: record) == link.hash else {
                    return faultOfHash(links[index...], after: previous, records)
                }
                if let run = link.run {
                    if link.kind == LedgerChain.Kind.begin.rawValue {
                        begun.insert(run)
                        unended[run] = records.isOnlyBegun(run)
                    } else {
                        unended[run] = nil
                        runCount += 1
                    }
                }
                (position, previous) = (link.position, link.hash)
                linkCount += 1
                countAfterWitness = link.hash == witness ? 0 : countAfterWitness.map { $0 + 1 }
            }
            last = end.position
        }
        if through < .max { return }
        if linkCount > 0 { head = previous }
        runCount += unended.count
        try lookForRecordsWithoutLinks(reader, begun: begun, unended)
        if fault == nil, let witness, countAfterWitness == nil {
            fault = Self.faultOfWitness(witness, trimmedThroughRun)
        }
    }

    private mutating func faultOfHash(
        _ links: ArraySlice<LedgerChain.Link>, after previous: String, _ records: LedgerRecords
    ) {
        guard let link = links.first else { return }
        // Two whole links that changed places: the second one follows the same hash, at the first one's place.
        if var moved = links.dropFirst().first {
            moved.values["position"] = .integer(link.position)
            if let record = records.record(of: moved),
                LedgerChain.hash(after: previous, link: moved.values, record: record) == moved.hash
            {
                return fault(
                    .reordered, "links \(link.position) and \(link.position &+ 1) are out of order")
            }
        }
        let what = link.run.flatMap(records.name) ?? "the delete of old records"
        fault(.changed, "\(what) is not what was recorded at its \(link.kind) (link \(link.position))")
    }

    /// Finds runs and rules without a link, and runs that have only begun but contain more.
    private mutating func lookForRecordsWithoutLinks(
        _ reader: any StoreInserter, begun: Set<Int64>, _ unended: [Int64: Bool]
    ) throws {
        let count = { try reader.count(StoreFetchRequest(entity: $0)) }
        let hasRuns = try reader.entity(named: LedgerRow.runEntityName) != nil
        guard hasRuns else { return }
        if linkCount == 0, case let runs = try count(LedgerRow.runEntityName), runs > 0 {
            return fault(
                .removed,
                "the chain is missing: \(Figures.count(runs, "run")) \(runs == 1 ? "is" : "are") recorded, and no "
                    + "link records \(runs == 1 ? "it" : "them")")
        }
        var seen: Set<Int64> = []
        for run in try LedgerRecords.names(reader) {
            guard begun.contains(run.number), seen.insert(run.number).inserted else {
                return fault(.added, "\(run.text) was added: no link records it")
            }
            if unended[run.number] == false {
                return fault(.changed, "\(run.text) says \(run.outcome), and no link records its end")
            }
        }
        for rule in try reader.fetch(StoreFetchRequest(entity: LedgerRow.ruleEntityName), attributes: ["run_number"]) {
            guard let number = rule.first?.number, seen.contains(number) else {
                return fault(
                    .added, "a rule of run number \(rule.first?.number ?? 0) was added: that run does not exist")
            }
        }
    }

    private static func faultOfWitness(_ witness: String, _ trimmed: Int?) -> Fault {
        var message =
            "no link has the hash \(witness): an older copy of the ledger was put in its place, its end was cut off, or "
            + "it was rewritten"
        if trimmed != nil { message += "; or the hash is older than the ledger keeps runs" }
        return Fault(kind: .removed, message: message)
    }

    private mutating func fault(_ kind: Fault.Kind, _ message: String) {
        fault = Fault(kind: kind, message: message)
    }

    /// What `retention log --verify` prints, ending with a line end.
    package var text: String {
        var lines: [String] = []
        if let fault {
            lines.append("\(fault.kind.rawValue.uppercased()): \(SafeText.line(fault.message))")
            lines.append("Links before it, as they were written: \(Figures.grouped(linkCount)).")
        } else if let head {
            lines.append(
                "The ledger is intact: \(Figures.count(linkCount, "link")), \(Figures.count(runCount, "run")).")
            lines.append("The last link is \(head).")
            switch countAfterWitness {
            case nil: break
            case 0?: lines.append("Its hash is the given one.")
            case let count?:
                lines.append(
                    "The given hash is that of an earlier link; \(Figures.count(count, "link")) "
                        + "\(count == 1 ? "was" : "were") added since.")
            }
        } else {
            lines.append("No run is recorded yet.")
        }
        if let trimmedThroughRun {
            lines.append("Runs up to number \(trimmedThroughRun) were older than the ledger keeps runs.")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
