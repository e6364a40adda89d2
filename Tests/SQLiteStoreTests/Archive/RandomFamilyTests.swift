import Foundation
import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Random tables whose rows refer to each other and to rows that are not there, with triggers that change and delete rows.
///
/// What is not refused is after an undo what it was before the run, in every value.
struct RandomFamilyTests {
    private static let trials = Trials(300, inPortionsOf: 30)

    @Test(arguments: trials.portions)
    func aFamilyIsAfterAnUndoWhatItWasBeforeTheRun(_ seeds: Range<UInt64>) {
        Self.trials.run(seeds, on: FamilyTrial.init, story: \.story) { trial, found in
            defer { found = trial.found }
            try trial.run()
        }
    }
}

private struct FamilyTrial: Choosing {
    private enum Key: CaseIterable { case integer, text, withoutRowID, unique }

    private struct Family {
        var name: String
        var key: Key
        var references: [(parent: String, action: String)] = []
    }

    var random: SeededRandom
    var statements: [String] = []
    var found: [String] = []
    private var families: [Family] = []
    private static let rowCount = 12

    init(seed: UInt64) throws {
        random = SeededRandom(seed &* 0x9E37_79B9)
        _ = random.next()
        makeFamilies()
        makeTriggers()
        makeRows()
    }

    var story: String { statements.map { "    " + $0 + ";" }.joined(separator: "\n") }

    // MARK: The store

    private mutating func makeFamilies() {
        let names = ["a", "b", "c"].prefix(pick([1, 1, 2, 3]))
        families = names.map { Family(name: $0, key: pick(Key.allCases)) }
        let actions = ["CASCADE", "SET NULL", "SET NULL", "SET DEFAULT", "NO ACTION"]
        for index in families.indices {
            for _ in 0..<pick([0, 1, 1, 2]) {
                families[index].references.append((pick(Array(names)), pick(actions)))
            }
        }
        statements = ["PRAGMA foreign_keys = OFF"]
        for family in families {
            let keyType =
                switch family.key {
                case .integer: "INTEGER PRIMARY KEY"
                case .text: "TEXT PRIMARY KEY"
                case .withoutRowID: "TEXT COLLATE NOCASE PRIMARY KEY"
                case .unique: "UNIQUE"
                }
            let references = family.references.enumerated().map { number, reference in
                "r\(number) REFERENCES \(reference.parent) (id) ON DELETE \(reference.action)"
                    + (chance(30) ? " DEFERRABLE INITIALLY DEFERRED" : "")
            }
            let columns = ["id \(keyType)", "at INTEGER", "v"] + references
            statements.append(
                "CREATE TABLE \(family.name) (\(columns.joined(separator: ", ")))"
                    + (family.key == .withoutRowID ? " WITHOUT ROWID" : ""))
        }
    }

    /// Triggers that delete rows of a table of their own, some of which change these rows before.
    private mutating func makeTriggers() {
        guard chance(40) else { return }
        let table = pick(families.map(\.name))
        statements += [
            "CREATE TABLE note (id INTEGER PRIMARY KEY, of, n INTEGER)",
            "CREATE TABLE mark (id INTEGER PRIMARY KEY, note INTEGER REFERENCES note ON DELETE SET NULL)",
        ]
        let remove = "DELETE FROM note WHERE of = OLD.id AND n <= 1"
        let body = pick([remove, remove, "UPDATE note SET n = n - 1 WHERE of = OLD.id; \(remove)"])
        let event = pick(["DELETE", "DELETE", "UPDATE"])
        // An undo changes references too, and must not delete again what it restored.
        let condition = event == "DELETE" ? "" : "WHEN OLD.r0 IS NOT NULL AND NEW.r0 IS NULL"
        guard event == "DELETE" || families.contains(where: { $0.name == table && !$0.references.isEmpty }) else {
            return
        }
        statements.append(
            "CREATE TRIGGER tidy \(pick(["AFTER", "AFTER/**/"])) \(event) ON \(table) \(condition) BEGIN \(body); END")
    }

    private mutating func makeRows() {
        let hasDangling = chance(15)
        for family in families {
            for number in 1...Self.rowCount {
                let references = family.references.map { reference -> String in
                    if chance(30) { return "NULL" }
                    let dangles = hasDangling && chance(15)
                    return id(of: reference.parent, dangles ? 99 : Int.random(in: 1...Self.rowCount, using: &random))
                }
                let value = pick(["NULL", "\(number)", "\(number).5", "'t\(number)'", "x'00'"])
                let row = [id(of: family.name, number), "\(chance(60) ? number : 100)", value] + references
                statements.append("INSERT INTO \(family.name) VALUES (\(row.joined(separator: ", ")))")
            }
        }
        guard statements.contains(where: { $0.hasPrefix("CREATE TABLE note") }) else { return }
        for number in 1...Self.rowCount {
            let of = id(of: families[0].name, number)
            statements.append("INSERT INTO note VALUES (\(number), \(of), 1)")
            statements.append("INSERT INTO mark VALUES (\(number), \(number))")
        }
    }

    private func id(of table: String, _ number: Int) -> String {
        let key = families.first { $0.name == table }?.key
        return key == .integer || key == .unique ? "\(number)" : "'K\(number)'"
    }

    // MARK: The trial

    mutating func run() throws {
        let store = try TemporaryStore(inMemory: true)
        try store.change { db in for statement in statements { try db.execute(sql: statement) } }
        let archived = try ArchivedStore(store)
        let before = try archived.contents()
        let open = try store.rows("PRAGMA foreign_key_check").sorted()
        let requests = try plan(store)
        guard !requests.isEmpty else { return }
        guard try archived.delete(requests, batchRows: pick([nil, 1, 3])) != nil else {
            if try archived.contents() != before {
                found.append("rows are deleted or changed, and there is no archive")
            }
            return
        }
        let outcome = try archived.undo(rows: pick([1, 3, 1000]))
        if outcome.total.skippedCount > 0 { found.append("skipped \(outcome.skipped.prefix(3))") }
        let after = try archived.contents()
        for (table, rows) in before {
            let missing = Set(rows).subtracting(after[table] ?? [])
            if !missing.isEmpty { found.append("\(table) lacks \(missing.sorted().prefix(3))") }
            let added = Set(after[table] ?? []).subtracting(rows)
            if !added.isEmpty { found.append("\(table) has new \(added.sorted().prefix(3))") }
        }
        if try store.rows("PRAGMA foreign_key_check").sorted() != open { found.append("other rows are left dangling") }
        if try archived.undo().total.restoredCount > 0 { found.append("a second undo restores rows") }
    }

    /// The requests that a run would carry out, each with those before it.
    private mutating func plan(_ store: TemporaryStore) throws -> [SurveyRequest] {
        let reader = try store.reader()
        var requests: [SurveyRequest] = []
        for family in families.shuffled(using: &random).prefix(pick([1, 2])) {
            var request = ArchivedStore.request(family.name)
            request.relationships = pick([.asDeclared, .asDeclared, .cascade, .nullify])
            request.preceding = requests.map { BatchDeleteRequest($0) }
            let survey = try reader.survey(request)
            guard survey.unsupported == nil, survey.related.obstacles.isEmpty,
                try reader.archiveObstacle(of: request) == nil
            else { continue }
            requests.append(request)
        }
        return requests
    }
}
