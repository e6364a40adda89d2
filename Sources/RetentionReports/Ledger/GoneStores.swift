package import PriceStore
package import RetentionJob
package import RetentionPolicy

/// The stores of a pattern whose files are gone.
package struct GoneStores {
    /// Their names, relative to the folder of the policy, in order.
    private let names: [String]
    /// The runs that had them, in words.
    private let runs: String

    /// The largest number of names that are shown.
    private static let most = 5

    /// Looks for them among the stores of past runs.
    ///
    /// - Parameters:
    ///   - files: the files that the pattern of the policy matches.
    ///   - now: the time of the clock: then the runs of the last 30 days count; nil: only the newest one, with all stores that it had.
    package init(_ policy: Policy, _ files: StoreFiles, in history: LedgerHistory, upTo now: Instant? = nil) throws {
        runs = now == nil ? "run" : "\(Review.recentDays) days"
        guard let pattern = policy.stores, files.problems.isEmpty else {
            names = []
            return
        }
        let since = now?.advanced(byMicroseconds: -Int64(Review.recentDays) * 86_400_000_000)
        names = try history.stores(of: policy, since: since)
            .filter { StoreFiles.isGone($0, of: pattern) }.map(pattern.display)
    }

    /// Which stores are gone, as a sentence without a full stop; nil: none is.
    package var text: String? {
        guard !names.isEmpty else { return nil }
        let others = names.count - Self.most
        let shown = Array(names.prefix(Self.most)) + (others > 0 ? [Figures.count(others, "other")] : [])
        let verb = names.count == 1 ? "is" : "are"
        return "\(Figures.count(names.count, "store")) of the last \(runs) \(verb) gone: \(shown.listed("and"))"
    }
}

extension LedgerHistory {
    /// The paths of the stores of a policy's runs, in order.
    ///
    /// - Parameter since: runs that began before it do not count; nil: only those of the newest command count.
    fileprivate func stores(of policy: Policy, since: Instant?) throws -> [String] {
        guard try reader.runsHave(LedgerRow.firstOfCommand) else { return [] }
        var runs =
            StorePredicate.compare("config", .equal, .text(FilePlace(policy.file.path).path)) && .notTrue(Self.isUndo)
        if let since {
            runs = runs && .compare("started_us", .greaterOrEqual, .integer(since.microseconds))
        } else {
            let last = try reader.newestRuns(where: runs, limit: 1, attributes: [LedgerRow.firstOfCommand])
            guard let command = last.first?[LedgerRow.firstOfCommand]?.number else { return [] }
            runs = runs && .compare(LedgerRow.firstOfCommand, .equal, .integer(command))
        }
        return try reader.figures(
            [.count], of: StoreFetchRequest(entity: LedgerRow.runEntityName, predicate: runs), groupedBy: ["store"]
        ).compactMap { $0.first?.string }
    }
}
