import PriceStore
import RetentionJob

/// The names under which a ledger knows a store: its path or address, the links by which the policy leads to it, and these paths from the
/// folder of the ledger. So it recognises a store that was moved, copied or mounted elsewhere together with it, and one that was moved if
/// a link is in its old place.
struct StoreNames {
    /// Its path or address first.
    private let paths: [String]
    /// The paths from the folder of the ledger; nil: it is not a file.
    private let relatives: [String?]

    /// - Parameter reader: the ledger.
    init(_ path: String, links: [String], in reader: any StoreReader) {
        paths = [path] + links
        let folder = FilePlace(reader.name, followsLink: true).folder
        relatives = paths.map { Self.relative($0, to: folder) }
    }

    /// The path from the folder of the ledger; nil: the store is not a file.
    var relative: String? { relatives[0] }

    /// The path from a folder to a file, both without symbolic links; nil: one of them is not absolute.
    static func relative(_ path: String, to folder: String) -> String? {
        guard path.hasPrefix("/"), folder.hasPrefix("/") else { return nil }
        let (file, base) = (FilePlace.parts(path), FilePlace.parts(folder))
        let common = zip(file.dropLast(), base).prefix { $0.utf8.elementsEqual($1.utf8) }.count
        return (Array(repeating: "..", count: base.count - common) + file[common...]).joined(separator: "/")
    }

    /// The condition for the runs of the store.
    func predicate(in reader: any StoreReader) throws -> StorePredicate {
        let hasPath = StorePredicate.isIn("store", paths.map { .text($0) })
        // A ledger of an earlier version lacks the attribute until the next run adds it.
        guard relative != nil, try reader.runsHave(LedgerRow.storeRelative) else { return hasPath }
        return hasPath || .isIn(LedgerRow.storeRelative, relatives.compactMap { $0.map { .text($0) } })
    }

    /// The condition for the runs of the store that an index knows.
    func predicate(in index: LedgerIndex) -> StorePredicate {
        .isIn("number", index.runs(of: self).map { .integer($0) })
    }

    /// The values of the paths in the ledger.
    fileprivate var values: [(String, [String])] {
        [("store", paths), (LedgerRow.storeRelative, relatives.compactMap(\.self))]
    }

    func include(_ run: LedgerRun) -> Bool {
        paths.contains(run.report.store) || run.relativeStore.map(relatives.contains) == true
    }
}

extension LedgerIndex {
    /// The last thousand runs of a store, in their order.
    func runs(of names: StoreNames) -> [Int64] {
        Set(names.values.flatMap { runs($0, $1) }).sorted().suffix(1000)
    }

    func last(of names: StoreNames) -> Int64? { runs(of: names).last }
}
