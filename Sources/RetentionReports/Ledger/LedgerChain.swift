import Crypto
import PriceStore
import RetentionJob

/// The hash chain over the ledger: a link for everything that is written into it, each with a hash over the record and the
/// link before it.
///
/// A run has a link for its start and one for its end, because its record is completed when it ends; one that died has a
/// link for its start and one that says so. Links are never changed. The chain begins with the ledger's first run, and
/// what is hashed is what the run knows, never what the ledger reads back.
struct LedgerChain {
    /// What a link records.
    enum Kind: String {
        /// The start of a run.
        case begin
        /// The whole record of a run and its rules.
        case end
        /// A run that has no end.
        case crashed
        /// The ledger's own delete of old records, with the position and the hash of the last deleted link.
        case trimmed
    }

    /// A link as it is stored.
    struct Link {
        /// The whole row but the hash.
        var values: [String: StoreValue]
        var hash: String

        var position: Int64 { values["position"]?.number ?? 0 }
        /// The run; nil for ``Kind/trimmed``.
        var run: Int64? { values["run_number"]?.number }
        var kind: String { values["kind"]?.string ?? "" }
        /// Of ``Kind/trimmed``: the newest deleted run, and the last deleted link.
        var throughRun: Int64? { values["through_run"]?.number }
        var basePosition: Int64? { values["base_position"]?.number }
        var baseHash: String? { values["base_hash"]?.string }
    }

    /// The hash before the first link.
    static let origin = String(repeating: "0", count: 64)

    static let entityName = "link"
    static let entity = Entity(
        name: entityName,
        attributes: ["position", "run_number", "through_run", "base_position"].map {
            Attribute(name: $0, affinity: .integer, declaredType: "INTEGER")
        } + ["kind", "hash", "base_hash"].map { Attribute(name: $0, affinity: .text, declaredType: "TEXT") },
        primaryKey: ["position"])

    /// The attributes of a run's record at its start. Others are added or changed when it ends.
    static let beginNames: Set<String> = [
        "number", "run", "mode", "store", "engine", "config", "config_sha256", "pid", "host", "user", "uid", "login",
        "sudo_user", "version", "as_of", "as_of_us", "started", "started_us", "undoes", "undo_archive", "undo_rules",
        "undo_tables", "plan_sha256", LedgerRow.storeRelative,
    ]

    /// The hash of a link: SHA-256 over the hash before it, a line end, the link's own values, a line end, and the record.
    static func hash(after previous: String, link: [String: StoreValue], record: String) -> String {
        HexText.text(SHA256.hash(data: Array("\(previous)\n\(LedgerRecord.text(link))\n\(record)".utf8)))
    }

    /// The record of a run that has begun and not ended, or has crashed, whatever its row says of an end.
    static func record(_ outcome: LedgerRun.Outcome, of run: [String: StoreValue]) -> String {
        var values = run.filter { beginNames.contains($0.key) }
        values["outcome"] = .text(outcome.rawValue)
        values["clock_believed"] = .integer(1)
        return LedgerRecord.text(values)
    }

    /// The record of a run with its rules, in their order.
    static func record(of run: [String: StoreValue], rules: [[String: StoreValue]]) -> String {
        ([run] + rules).map(LedgerRecord.text).joined(separator: "\n")
    }

    /// Adds a link for a run. To be called in the transaction that writes its rows.
    static func append(_ kind: Kind, run number: Int64, record: String, in writer: any StoreWriter) throws {
        try append(kind, ["run_number": .integer(number)], record: record, in: writer)
    }

    /// Adds the link that says which records were deleted.
    static func appendTrim(throughRun: Int64, last: Link, in writer: any StoreWriter) throws {
        let values: [String: StoreValue] = [
            "through_run": .integer(throughRun), "base_position": .integer(last.position),
            "base_hash": .text(last.hash),
        ]
        try append(.trimmed, values, record: "", in: writer)
    }

    private static func append(
        _ kind: Kind, _ values: [String: StoreValue], record: String, in writer: any StoreWriter
    ) throws {
        let last = try links(in: writer, ascending: false, limit: 1).first
        var values = values
        values["position"] = .integer(try RunLedger.number(after: last?.position ?? 0, in: writer))
        values["kind"] = .text(kind.rawValue)
        values["hash"] = .text(hash(after: last?.hash ?? origin, link: values, record: record))
        if case .rejected(let reason) = try writer.insert(entity: entityName, values: values, onConflict: .fail) {
            throw StoreError(
                .inputOutput, store: writer.name, message: "a link could not be added to the ledger: \(reason)")
        }
    }

    /// Rows of an entity of the ledger with all the attributes that they have, known here or not.
    static func rows(
        _ entity: String, where predicate: StorePredicate, order: [StoreSortDescriptor] = [], limit: Int? = nil,
        in reader: any StoreReader
    ) throws -> [[String: StoreValue]] {
        guard let names = try reader.entity(named: entity)?.attributes.map(\.name) else { return [] }
        return try reader.fetch(
            StoreFetchRequest(entity: entity, predicate: predicate, sortDescriptors: order, fetchLimit: limit),
            attributes: names
        ).map { Dictionary(zip(names, $0)) { first, _ in first } }
    }

    /// Links in order of position; empty if the ledger has no chain.
    static func links(
        in reader: any StoreReader, where predicate: StorePredicate = .all, ascending: Bool = true, limit: Int? = nil
    ) throws -> [Link] {
        try rows(
            entityName, where: predicate, order: [StoreSortDescriptor("position", ascending: ascending)], limit: limit,
            in: reader
        ).map { row in
            var values = row
            let hash = values.removeValue(forKey: "hash")
            return Link(values: values, hash: hash?.string ?? "")
        }
    }
}
