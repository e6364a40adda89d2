/// What the SQL text of a trigger says: when it fires, and what SQLite does not report of its statements; see ``TriggerBody``.
struct TriggerText {
    enum Event: String {
        case delete = "DELETE"
        case insert = "INSERT"
        case update = "UPDATE"
    }

    /// A change of rows of a table, with its name in lower case.
    struct Change: Hashable {
        var event: Event
        var table: String
        /// The columns that an update sets, in lower case, or nil for any.
        var columns: Set<String>?

        /// Inserts of rows, which may also take the place of others.
        static func writes(into table: String, replacing: Bool = true) -> [Change] {
            (replacing ? [.insert, .update] : [.insert]).map { Change(event: $0, table: table.folded) }
        }

        /// Whether it may change one of the columns, in lower case, or delete their row.
        func concerns(_ names: some Sequence<String>) -> Bool { columns?.isDisjoint(with: names) != true }
    }

    /// The event that fires the trigger, or nil if the text cannot be read and any event may.
    let event: Event?
    /// The columns of `UPDATE OF`, in lower case; empty means all.
    let columns: [String]
    /// The text after the table's name.
    let body: String

    init(_ definition: String) {
        var scanner = SchemaText.Scanner(definition)
        var words: [String] = []
        while let token = scanner.next(), token.uppercased() != "ON" { words.append(token) }
        // CREATE TRIGGER and the name come first.
        let head = words.dropFirst(3)
        let place = head.firstIndex { Event(rawValue: $0.uppercased()) != nil }
        event = place.flatMap { Event(rawValue: words[$0].uppercased()) }
        columns = words.dropFirst((place ?? words.count) + 2).filter { $0 != "," }.map {
            SchemaText.name($0).folded
        }
        // The table's name may have several parts.
        _ = scanner.next()
        var rest = scanner
        while let token = rest.next(), !["FOR", "WHEN", "BEGIN"].contains(token.uppercased()) { scanner = rest }
        body = scanner.rest
    }

    func fires(on event: Event) -> Bool { self.event == nil || self.event == event }

    func fires(on change: Change) -> Bool {
        fires(on: change.event) && (change.event != .update || columns.isEmpty || change.concerns(columns))
    }

    /// Whether it may refuse a change: `RAISE`. The word may also be in a text or a comment.
    var mayRaise: Bool { body.mentions("RAISE") }

    /// Whether it may silently skip the row for which it runs: `RAISE(IGNORE)`.
    var skipsRows: Bool {
        let words = SchemaText.words(body)
        return words.indices.contains { words[$0] == "RAISE" && words[$0...].prefix(3).last == "IGNORE" }
    }

    /// Whether one of its writes may delete conflicting rows.
    var replaces: Bool {
        let words = SchemaText.words(body)
        return words.indices.contains { index in
            let next = words[index...].dropFirst().first
            return words[index] == "REPLACE" && next != "(" && (next == "INTO" || index > 0 && words[index - 1] == "OR")
        }
    }
}
