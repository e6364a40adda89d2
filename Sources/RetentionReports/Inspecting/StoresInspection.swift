import PriceStore
import RetentionJob

/// What is in many stores: a line for each, and what differs from most of them.
package struct StoresInspection {
    /// What is in one store.
    package struct Store {
        var name: String
        var sizeBytes: Int64?
        var rows = 0
        var oldest: Instant?
        var newest: Instant?
        /// The attributes of each entity.
        var shape: [String: [String]]?
        var trouble = ""

        package init(_ inspection: StoreInspection) {
            (name, sizeBytes) = (inspection.store, inspection.sizeBytes)
            let (entities, dates) = (inspection.entities, inspection.entities.flatMap(\.dates))
            rows = entities.compactMap(\.rowCount).reduce(0, +)
            (oldest, newest) = (dates.compactMap(\.oldest).min(), dates.compactMap(\.newest).max())
            shape = Dictionary(firstOf: entities.map { ($0.entity.name, $0.entity.attributes.map(\.name)) })
            trouble = entities.compactMap { $0.trouble.map { "not all could be read: \($0)" } }.first ?? ""
        }

        /// Makes it of a store that cannot be read.
        package init(_ name: String, trouble: String) { (self.name, self.trouble) = (name, trouble) }
    }

    private let title: String
    private let stores: [Store]

    package init(_ title: String, _ stores: [Store]) { (self.title, self.stores) = (title, stores) }

    /// The text, ending with a line end.
    package func text(_ layout: TextLayout = TextLayout()) -> String {
        let shapes = Dictionary(grouping: stores.compactMap(\.shape)) { $0 }
        let usual = shapes.max { ($0.value.count, $1.key.count) < ($1.value.count, $0.key.count) }?.key ?? [:]
        let table = TextTable(
            columns: [
                .init("STORE"), .init("SIZE", .right), .init("ROWS", .right), .init("OLDEST (UTC)"),
                .init("NEWEST (UTC)"),
            ],
            rows: stores.map { store in
                let differences = [store.trouble] + (store.shape.map { Self.differences($0, from: usual) } ?? [])
                let message = differences.filter { !$0.isEmpty }.joined(separator: "; ")
                return .init(
                    cells: [
                        store.name, store.sizeBytes.map(Figures.bytes) ?? "",
                        store.shape == nil ? "" : Figures.grouped(store.rows), Review.time(store.oldest),
                        Review.time(store.newest),
                    ].map(SafeText.line), messages: [SafeText.line(message)],
                    style: message.isEmpty ? .plain : .caution)
            })
        let facts = [
            Figures.count(stores.count, "store"), Figures.bytes(stores.compactMap(\.sizeBytes).reduce(0, +)),
            Figures.count(stores.reduce(0) { $0 + $1.rows }, "row"),
        ]
        let names = usual.keys.sorted().joined(separator: ", ")
        let lines = layout.heading("inspect", [title] + facts) + layout.note("Most have", names, .plain)
        return (lines + [""] + table.lines(layout)).joined(separator: "\n") + "\n"
    }

    /// What a store has not as most have it.
    private static func differences(_ shape: [String: [String]], from usual: [String: [String]]) -> [String] {
        Set(shape.keys).union(usual.keys).sorted().flatMap { name -> [String] in
            guard let own = shape[name] else { return ["no \(name)"] }
            guard let other = usual[name] else { return ["also \(name)"] }
            return other.filter { !own.contains($0) }.map { "\(name) without \($0)" }
                + own.filter { !other.contains($0) }.map { "\(name) with \($0)" }
        }
    }
}
