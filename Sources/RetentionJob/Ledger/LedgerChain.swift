import Crypto
import PriceStore

/// The hash chain over the ledger: a link for everything that is written into it, each with a hash over the record and the
/// link before it.
///
/// A run has a link for its start and one for its end, because its record is completed when it ends; one that died has a
/// link for its start and one that says so. Links are never changed. Runs that were recorded before there was a chain have
/// none: the chain begins with its first link.
struct LedgerChain {
    /// What a link stands for.
    enum Kind: String {
        /// What is known of a run at its start.
        case begin
        /// The whole record of a run and its rules.
        case end
        /// A run that has no end.
        case crashed
        /// The ledger's own delete of old records, with the place and the hash of the last link that went.
        case trimmed
    }

    /// A link as it is stored.
    struct Link {
        var position: Int64
        /// The run; nil for ``Kind/trimmed``.
        var run: Int64?
        var kind: String
        var hash: String
        /// Of ``Kind/trimmed``: the newest run that went, and the last link that went.
        var throughRun: Int64?
        var basePosition: Int64?
        var baseHash: String?
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

    /// What a run's record holds at its start. The rest is added, or changes, when it ends.
    static let beginNames: Set<String> = [
        "number", "run", "mode", "store", "engine", "config", "config_sha256", "pid", "host", "user", "uid", "login",
        "sudo_user", "version", "as_of", "as_of_us", "started", "started_us",
    ]

    /// The hash of a link: SHA-256 over the hash before it, a line end, the kind, a line end, and the record.
    static func hash(after previous: String, kind: String, record: String) -> String {
        HexText.text(SHA256.hash(data: Array("\(previous)\n\(kind)\n\(record)".utf8)))
    }

    /// Adds a link for a run whose rows are as they are to stay. To be called in the transaction that wrote them.
    static func append(_ kind: Kind, run number: Int, in writer: any StoreWriter) throws {
        guard let record = try record(of: kind.rawValue, run: Int64(number), in: writer) else { return }
        try append(kind, ["run_number": .integer(Int64(number))], record: record, in: writer)
    }

    /// Adds the link that says which records went.
    static func appendTrim(throughRun: Int64, last: Link, in writer: any StoreWriter) throws {
        let values: [String: StoreValue] = [
            "through_run": .integer(throughRun), "base_position": .integer(last.position),
            "base_hash": .text(last.hash),
        ]
        try append(.trimmed, values, record: LedgerRecord.text(values), in: writer)
    }

    private static func append(
        _ kind: Kind, _ values: [String: StoreValue], record: String, in writer: any StoreWriter
    ) throws {
        let last = try links(in: writer, ascending: false, limit: 1).first
        var values = values
        values["position"] = .integer((last?.position ?? 0) + 1)
        values["kind"] = .text(kind.rawValue)
        values["hash"] = .text(hash(after: last?.hash ?? origin, kind: kind.rawValue, record: record))
        if case .rejected(let reason) = try writer.insert(entity: entityName, values: values, onConflict: .fail) {
            throw StoreError(.inputOutput, store: writer.name, message: "the ledger did not take a link: \(reason)")
        }
    }

    /// The record that a link of a run stands for, made of the rows as they are now; nil: the run is not there.
    static func record(of kind: String, run number: Int64, in reader: any StoreReader) throws -> String? {
        let isRun = Predicate.compare("number", .equal, .integer(number))
        guard var run = try rows(LedgerRow.runEntityName, where: isRun, in: reader).first else { return nil }
        switch Kind(rawValue: kind) {
        case .begin: run = run.filter { beginNames.contains($0.key) }
        case .crashed: run = run.filter { beginNames.contains($0.key) || $0.key == "outcome" }
        case .end, .trimmed, nil: break
        }
        var text = LedgerRecord.text(run)
        guard kind == Kind.end.rawValue else { return text }
        let rules = try rows(
            LedgerRow.ruleEntityName, where: .compare("run_number", .equal, .integer(number)),
            order: [SortDescriptor("position")], in: reader)
        for rule in rules { text += "\n" + LedgerRecord.text(rule) }
        return text
    }

    /// Rows with all the attributes that they have, known here or not.
    private static func rows(
        _ entity: String, where predicate: Predicate, order: [SortDescriptor] = [], in reader: any StoreReader
    ) throws -> [[String: StoreValue]] {
        guard let names = try reader.entity(named: entity)?.attributes.map(\.name) else { return [] }
        return try reader.fetch(
            FetchRequest(entity: entity, predicate: predicate, sortDescriptors: order), attributes: names
        ).map { Dictionary(zip(names, $0)) { first, _ in first } }
    }

    /// Links in the order of their places; none where the ledger has no chain.
    static func links(
        in reader: any StoreReader, where predicate: Predicate = .all, ascending: Bool = true, limit: Int? = nil
    ) throws -> [Link] {
        guard try reader.entity(named: entityName) != nil else { return [] }
        return try reader.fetch(
            FetchRequest(
                entity: entityName, predicate: predicate,
                sortDescriptors: [SortDescriptor("position", ascending: ascending)], fetchLimit: limit),
            attributes: ["position", "run_number", "kind", "hash", "through_run", "base_position", "base_hash"]
        ).map { row in
            Link(
                position: row[0].number ?? 0, run: row[1].number, kind: row[2].string ?? "", hash: row[3].string ?? "",
                throughRun: row[4].number, basePosition: row[5].number, baseHash: row[6].string)
        }
    }
}

extension StoreValue {
    /// The whole number, if it is one.
    var number: Int64? { if case .integer(let number) = self { number } else { nil } }
    /// The text, if it is one.
    var string: String? { if case .text(let text) = self { text } else { nil } }
}
