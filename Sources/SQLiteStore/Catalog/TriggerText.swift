/// What the text of a trigger says: when it fires and what it changes.
///
/// The words that begin a change are reserved in SQL: unless they are quoted, they stand for nothing else.
struct TriggerText {
    enum Event: String {
        case delete = "DELETE"
        case insert = "INSERT"
        case update = "UPDATE"
    }

    /// A change of rows of a table, whose name is in lower case.
    struct Change: Hashable {
        var event: Event
        var table: String
        /// The columns that an update sets, in lower case; nil: they are not known.
        var columns: Set<String>?

        /// Those of the columns that it sets to NULL.
        var cleared: Set<String> = []

        /// Whether it may have a row of a table refer to another one by a column; both in lower case.
        func mayRefer(by column: String, of table: String) -> Bool {
            self.table == table
                && (event == .insert || event == .update && concerns([column]) && !cleared.contains(column))
        }

        /// Whether it may change one of some columns, in lower case, or delete their row.
        func concerns(_ names: some Sequence<String>) -> Bool { columns?.isDisjoint(with: names) != true }
    }

    /// What sets it off; nil: the text cannot be read, so anything may.
    let event: Event?
    /// Whether it runs before the row changes. BEFORE is what SQLite takes where no word says so.
    let isBefore: Bool
    /// The columns of `UPDATE OF`, in lower case; empty: all.
    let columns: [String]
    /// What follows the table's name.
    let body: String

    init(_ definition: String) {
        var scanner = SchemaText.Scanner(definition)
        var words: [String] = []
        while let token = scanner.next(), token.uppercased() != "ON" { words.append(token) }
        // CREATE TRIGGER and the name come first.
        let head = words.dropFirst(3)
        let place = head.firstIndex { Event(rawValue: $0.uppercased()) != nil }
        event = place.flatMap { Event(rawValue: words[$0].uppercased()) }
        isBefore = !head.prefix { Event(rawValue: $0.uppercased()) == nil }.contains {
            ["AFTER", "INSTEAD"].contains($0.uppercased())
        }
        columns = words.dropFirst((place ?? words.count) + 2).filter { $0 != "," }.map {
            SchemaText.name($0).folded
        }
        _ = scanner.next()
        body = scanner.rest
    }

    func fires(on event: Event) -> Bool { self.event == nil || self.event == event }

    /// Whether a change of its table sets it off.
    func fires(on change: Change) -> Bool {
        fires(on: change.event) && (change.event != .update || columns.isEmpty || change.concerns(columns))
    }

    /// Whether its statements name one of some columns, in lower case.
    func names(anyOf columns: Set<String>) -> Bool {
        var scanner = SchemaText.Scanner(body)
        while let token = scanner.next() {
            // An operator needs no space beside it.
            let words = token.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "$") }
            if columns.contains(SchemaText.name(token).folded)
                || words.contains(where: { columns.contains(String($0).folded) })
            {
                return true
            }
        }
        return false
    }

    /// Whether its statements read a table or a view, its name in lower case.
    func reads(_ table: String) -> Bool {
        var scanner = SchemaText.Scanner(body)
        var (isSource, before) = (false, "")
        while let token = scanner.next() {
            let word = token.uppercased()
            switch word {
            case "FROM", "JOIN": isSource = true
            case "WHERE", "SET", "GROUP", "ORDER", "LIMIT", "SELECT", "VALUES", "ON", "USING", "WHEN", ";":
                isSource = false
            default:
                let names = [SchemaText.name(token)] + token.split(separator: ".").map { SchemaText.name(String($0)) }
                if isSource || before == "IN", names.contains(where: { $0.folded == table }) { return true }
            }
            before = word
        }
        return false
    }

    /// Whether it may pass over the row for which it runs, and say nothing: `RAISE(IGNORE)`.
    var skipsRows: Bool {
        var scanner = SchemaText.Scanner(body)
        var words: [String] = []
        while let token = scanner.next() { words.append(token.uppercased()) }
        return words.indices.contains { words[$0].hasSuffix("RAISE") && words[$0...].prefix(3).last == "IGNORE" }
    }

    /// Whether a delete fires it: its table loses rows, loses references, or gets the candles.
    func isFired(on table: String, _ losing: Set<String>, _ clears: [Change], _ target: String?) -> Bool {
        fires(on: .delete) && losing.contains(table) || clears.contains { $0.table == table && fires(on: $0) }
            || fires(on: .insert) && target?.folded == table
    }

    /// Why rows cannot be deleted in their order with it, if it runs before a row is deleted or changed, as a sentence; nil: they can.
    ///
    /// - Parameters:
    ///   - chain: it, and the triggers that it sets off.
    ///   - related: the tables whose rows are deleted or changed before those of its own, and views.
    func obstacleBefore(
        named name: String, of table: String, _ chain: [TriggerText], related: Set<String>
    ) -> String? {
        let start = "the trigger \(name) of \(table) runs before a row is deleted or changed, and"
        if skipsRows { return "\(start) may skip the row (RAISE(IGNORE)). Use RAISE(ABORT), or remove the trigger" }
        let read = related.sorted().first { table in chain.contains { $0.reads(table) } }
        guard fires(on: .delete), let read else { return nil }
        return "\(start) reads \(read), whose rows may be deleted or changed first. Make it an AFTER trigger"
    }

    /// The update of a table by the first SET among some tokens.
    private static func update(of table: String, _ tokens: ArraySlice<String>) -> Change {
        var change = Change(event: .update, table: table)
        guard let start = tokens.firstIndex(where: { $0.uppercased() == "SET" }) else { return change }
        var (assignments, depth, before): ([String], Int, String) = ([""], 0, "")
        for token in tokens[(start + 1)...] {
            let word = token.uppercased()
            if depth == 0,
                token == ";" || ["WHERE", "RETURNING", "END"].contains(word) || word == "FROM" && before != "DISTINCT"
            {
                break
            }
            // An operator needs no space beside it.
            let isQuoted = token.first.map { "\"'`[".contains($0) } ?? false
            let parts = isQuoted ? [] : word.split { !($0.isLetter || $0.isNumber || $0 == "_") }
            depth +=
                (word == "(" ? 1 : word == ")" ? -1 : 0) + parts.count { $0 == "CASE" } - parts.count { $0 == "END" }
            before = word
            if token == ",", depth == 0 { assignments.append("") } else { assignments[assignments.count - 1] += token }
        }
        for assignment in assignments {
            guard let sign = assignment.firstIndex(of: "=") else { return Change(event: .update, table: table) }
            var list = assignment[..<sign]
            // A list of columns gets the values of a row.
            if list.hasPrefix("(") { list = list.dropFirst().dropLast() }
            let names = list.split(separator: ",").map { SchemaText.name(String($0)).folded }
            // These names change the key of the row, whatever its column is called.
            guard Set(names).isDisjoint(with: ["rowid", "_rowid_", "oid"]) else {
                return Change(event: .update, table: table)
            }
            change.columns = (change.columns ?? []).union(names)
            // The last assignment to a column counts.
            change.cleared.subtract(names)
            if assignment[sign...].uppercased() == "=NULL" { change.cleared.formUnion(names) }
        }
        return change
    }

    /// The changes that its statements make, and whether they may replace rows; nil: that is not known.
    var effects: (changes: [Change], replaces: Bool)? {
        guard event != nil else { return nil }
        var scanner = SchemaText.Scanner(body)
        var tokens: [String] = []
        while let token = scanner.next() { tokens.append(token) }
        let words = tokens.map { $0.uppercased() }
        func word(_ index: Int) -> String { words.indices.contains(index) ? words[index] : "" }
        var changes: [Change] = []
        var (replaces, isRead) = (false, true)
        func add(_ event: Event, _ index: Int) {
            guard tokens.indices.contains(index) else { return isRead = false }
            let table = SchemaText.name(tokens[index]).folded
            changes.append(
                event == .update ? Self.update(of: table, tokens[index...]) : Change(event: event, table: table))
        }
        for index in words.indices {
            switch words[index] {
            case "INTO":
                replaces = replaces || word(index - 1) == "REPLACE"
                add(.insert, index + 1)
            case "DELETE" where word(index + 1) == "FROM": add(.delete, index + 2)
            case "UPDATE" where word(index + 1) == "SET":
                // What an INSERT does on a conflict.
                guard let table = changes.last(where: { $0.event == .insert })?.table else { return nil }
                changes.append(Self.update(of: table, tokens[index...]))
            case "UPDATE" where word(index + 1) == "OR":
                replaces = replaces || word(index + 2) == "REPLACE"
                add(.update, index + 3)
            case "UPDATE": add(.update, index + 1)
            default: break
            }
        }
        return isRead ? (changes, replaces) : nil
    }
}
