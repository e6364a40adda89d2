import PriceStore
import RetentionJob

/// The names under which a ledger knows a store.
///
/// A store is known by its path, by its path from the folder of the ledger, and by a former path that now leads to its file. So the ledger
/// recognises a store that was moved or mounted elsewhere together with it, and a store that was moved if a link is in its old place.
struct StoreNames {
    let path: String
    /// The path from the folder of the ledger; nil: the store is not a file.
    let relative: String?
    private let reader: any StoreReader

    /// - Parameters:
    ///   - path: the real path or the address of the store.
    ///   - reader: the ledger.
    init(_ path: String, in reader: any StoreReader) {
        self.path = path
        self.reader = reader
        relative = Self.relative(path, to: FilePlace(reader.name, followsLink: true).folder)
    }

    /// The path from a folder to a file, both without symbolic links; nil: one of them is not absolute.
    static func relative(_ path: String, to folder: String) -> String? {
        guard path.hasPrefix("/"), folder.hasPrefix("/") else { return nil }
        let (file, base) = (path.split(separator: "/"), folder.split(separator: "/"))
        let common = zip(file.dropLast(), base).prefix { $0.utf8.elementsEqual($1.utf8) }.count
        return (Array(repeating: "..", count: base.count - common) + file[common...]).joined(separator: "/")
    }

    /// The paths under which runs of the store are recorded.
    func all() throws -> [String] {
        let others = StorePredicate.not(.compare("store", .equal, .text(path)))
        let hasRelative = try hasRelativePaths
        let recorded = try reader.fetch(
            StoreFetchRequest(entity: LedgerRow.runEntityName, predicate: others),
            attributes: ["store"] + (hasRelative ? [LedgerRow.storeRelative] : []))
        var found: Set<String> = [path]
        var seen: Set<[StoreValue]> = []
        for row in recorded where seen.insert(row).inserted {
            guard let store = row.first?.string else { continue }
            if hasRelative, let relative, row.last?.string == relative { found.insert(store) }
            if leadsHere(store) { found.insert(store) }
        }
        return found.sorted()
    }

    /// Whether a former path now leads to the file of the store.
    private func leadsHere(_ other: String) -> Bool {
        guard path.hasPrefix("/"), other.hasPrefix("/"), let real = FilePlace.realPath(other) else { return false }
        return real == FilePlace.realPath(path)
    }

    /// The condition for the runs of the store.
    func predicate() throws -> StorePredicate { .isIn("store", try all().map { .text($0) }) }

    /// Up to a number of other stores whose runs the ledger has, the one with the newest run first.
    func others(_ most: Int) throws -> [String] {
        let own = try all()
        var found: [String] = []
        while found.count < most, let other = try store(.not(.isIn("store", (own + found).map { .text($0) }))) {
            found.append(other)
        }
        return found
    }

    /// Whether the ledger records relative paths. Those of an earlier version do not.
    private var hasRelativePaths: Bool {
        get throws {
            try reader.entity(named: LedgerRow.runEntityName)?.attribute(named: LedgerRow.storeRelative) != nil
        }
    }

    /// The store of the newest run that meets a condition.
    private func store(_ predicate: StorePredicate) throws -> String? {
        try reader.fetch(
            StoreFetchRequest(
                entity: LedgerRow.runEntityName, predicate: predicate,
                sortDescriptors: [StoreSortDescriptor("number", ascending: false)], fetchLimit: 1),
            attributes: ["store"]
        ).first?.first?.string
    }
}
