package import PriceStore

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
    /// Runs that were recorded before the chain began: nothing can be said of them.
    package var uncoveredCount = 0
    /// The newest run that the ledger itself has deleted, because it was older than the ledger keeps runs; nil: none.
    package var trimmedThroughRun: Int?
    /// The hash of the last link: written down elsewhere, it shows later that the end of the chain was not cut off. Nil:
    /// there is no chain.
    package var head: String?
    /// Nil: every record is what was recorded.
    package var fault: Fault?

    /// Goes through a ledger from the first link on, up to the first fault. Two or three fetches for each link.
    ///
    /// What it cannot show: that somebody who can write the file made the whole chain anew, or cut off its end. The last
    /// hash, kept elsewhere, shows both.
    ///
    /// - Throws: ``StoreError`` if the ledger cannot be read.
    package static func read(_ reader: any StoreReader) throws -> LedgerVerification {
        var verification = LedgerVerification()
        try verification.follow(reader)
        return verification
    }

    private mutating func follow(_ reader: any StoreReader) throws {
        let links = try LedgerChain.links(in: reader)
        let runs = try runs(reader)
        guard let first = links.first else {
            uncoveredCount = runs.count
            return
        }
        // The first link stands for nothing before it, or for what the newest trim says.
        let trim = links.last { $0.kind == LedgerChain.Kind.trimmed.rawValue }
        trimmedThroughRun = trim?.throughRun.map(Int.init)
        var previous = LedgerChain.origin
        var position: Int64 = 0
        if let trim, let basePosition = trim.basePosition, let baseHash = trim.baseHash {
            (position, previous) = (basePosition, baseHash)
        }
        let firstRun = links.compactMap { $0.kind == LedgerChain.Kind.begin.rawValue ? $0.run : nil }.first
        uncoveredCount = runs.count { $0.number < firstRun ?? .max }
        if first.position <= position {
            return fault(.reordered, "link \(first.position) is there, although the ledger says that it deleted it")
        }
        var begun: Set<Int64> = []
        var ended: Set<Int64> = []
        for link in links {
            guard link.position == position + 1 else {
                return fault(.removed, "link \(position + 1) is missing; link \(link.position) follows")
            }
            let name = link.run.flatMap { number in runs.first { $0.number == number } }.map(\.text)
            guard let record = try record(of: link, reader) else {
                return fault(.removed, "run number \(link.run ?? 0), of link \(link.position), is not in the ledger")
            }
            guard LedgerChain.hash(after: previous, kind: link.kind, record: record) == link.hash else {
                let next = links.first { $0.position > link.position }
                if let next, let moved = try self.record(of: next, reader),
                    LedgerChain.hash(after: previous, kind: next.kind, record: moved) == next.hash
                {
                    return fault(.reordered, "links \(link.position) and \(next.position) are not in their order")
                }
                let what = name ?? "the delete of old records"
                return fault(
                    .changed, "\(what) is not what was recorded at its \(link.kind) (link \(link.position))")
            }
            if let run = link.run {
                if link.kind == LedgerChain.Kind.begin.rawValue { begun.insert(run) } else { ended.insert(run) }
            }
            (position, previous) = (link.position, link.hash)
            linkCount += 1
        }
        head = previous
        runCount = begun.count
        for run in runs where run.number >= firstRun ?? .max {
            guard begun.contains(run.number) else {
                return fault(.added, "\(run.text) was added: no link stands for it")
            }
            guard ended.contains(run.number) || run.outcome == LedgerRun.Outcome.running.rawValue else {
                return fault(.changed, "\(run.text) says \(run.outcome), and no link stands for its end")
            }
        }
    }

    private mutating func fault(_ kind: Fault.Kind, _ message: String) {
        fault = Fault(kind: kind, message: message)
    }

    private func record(of link: LedgerChain.Link, _ reader: any StoreReader) throws -> String? {
        guard link.kind == LedgerChain.Kind.trimmed.rawValue else {
            return try link.run.flatMap { try LedgerChain.record(of: link.kind, run: $0, in: reader) }
        }
        return LedgerRecord.text([
            "through_run": link.throughRun.map { .integer($0) } ?? .null,
            "base_position": link.basePosition.map { .integer($0) } ?? .null,
            "base_hash": link.baseHash.map { .text($0) } ?? .null,
        ])
    }

    private struct RunName {
        var number: Int64
        var run: String
        var outcome: String
        var text: String { "run \(run) (number \(number))" }
    }

    private func runs(_ reader: any StoreReader) throws -> [RunName] {
        guard try reader.entity(named: LedgerRow.runEntityName) != nil else { return [] }
        return try reader.fetch(
            FetchRequest(entity: LedgerRow.runEntityName, sortDescriptors: [SortDescriptor("number")]),
            attributes: ["number", "run", "outcome"]
        ).map { RunName(number: $0[0].number ?? 0, run: $0[1].string ?? "", outcome: $0[2].string ?? "") }
    }

    /// What `retention log --verify` prints, ending with a line end.
    package var text: String {
        var lines: [String] = []
        if let fault {
            lines.append("\(fault.kind.rawValue.uppercased()): \(SafeText.line(fault.message))")
            lines.append("Links before it, as they were written: \(Figures.grouped(linkCount)).")
        } else if let head {
            lines.append(
                "The ledger is whole: \(Figures.count(linkCount, "link")), \(Figures.count(runCount, "run")).")
            lines.append("The last link is \(head).")
        } else {
            lines.append("The ledger has no chain yet: the next run begins it.")
        }
        if uncoveredCount > 0 {
            lines.append(
                "\(Figures.count(uncoveredCount, "run")) \(uncoveredCount == 1 ? "was" : "were") recorded before the "
                    + "chain began; nothing can be said of \(uncoveredCount == 1 ? "it" : "them").")
        }
        if let trimmedThroughRun {
            lines.append("Runs up to number \(trimmedThroughRun) were older than the ledger keeps runs.")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
