import PriceStore
import RetentionJob

/// The names under which a ledger knows a store: its path or address, and its path from the folder of the ledger. By the second one the
/// ledger recognises a store that was moved, copied or mounted elsewhere together with it.
struct StoreNames {
    let path: String
    /// The path from the folder of the ledger; nil: the store is not a file.
    let relative: String?

    /// - Parameters:
    ///   - path: the real path or the address of the store.
    ///   - reader: the ledger.
    init(_ path: String, in reader: any StoreReader) {
        self.path = path
        relative = Self.relative(path, to: FilePlace(reader.name, followsLink: true).folder)
    }

    /// The path from a folder to a file, both without symbolic links; nil: one of them is not absolute.
    static func relative(_ path: String, to folder: String) -> String? {
        guard path.hasPrefix("/"), folder.hasPrefix("/") else { return nil }
        let (file, base) = (path.split(separator: "/"), folder.split(separator: "/"))
        let common = zip(file.dropLast(), base).prefix { $0.utf8.elementsEqual($1.utf8) }.count
        return (Array(repeating: "..", count: base.count - common) + file[common...]).joined(separator: "/")
    }

    /// The condition for the runs of the store.
    func predicate(in reader: any StoreReader) throws -> StorePredicate {
        let hasPath = StorePredicate.compare("store", .equal, .text(path))
        // A ledger of an earlier version lacks the attribute until the next run adds it.
        guard let relative,
            try reader.entity(named: LedgerRow.runEntityName)?.attribute(named: LedgerRow.storeRelative) != nil
        else { return hasPath }
        return hasPath || .compare(LedgerRow.storeRelative, .equal, .text(relative))
    }

    /// Whether a run is one of the store.
    func include(_ run: LedgerRun) -> Bool {
        run.report.store == path || relative != nil && run.relativeStore == relative
    }
}
