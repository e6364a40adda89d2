import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Random tables with keys of all kinds, whose rows refer to each other and are copied by triggers. Between the run and the undo
/// strangers take keys and VACUUM renumbers rows.
struct RandomPlaceTests {
    private static let trials = Trials(300, inPortionsOf: 30)

    @Test(arguments: trials.portions)
    func everyRowComesBackOnceAndToItsOwnParent(_ seeds: Range<UInt64>) {
        Self.trials.run(seeds, on: PlaceTrial.init, story: \.story) { trial, found in
            defer { found = trial.found }
            try trial.run()
        }
    }
}

private struct PlaceTrial {
    private var random: SeededRandom
    private var sql: [String] = []
    private var between: [String] = []
    private var hasStrangers = false
    private var tables: [(name: String, parent: Int?)] = []
    private let rows: Int
    var found: [String] = []

    var story: String { (sql + ["-- run"] + between).map { "    " + $0 + ";" }.joined(separator: "\n") }

    init(seed: UInt64) throws {
        random = SeededRandom(seed &* 0x9E37_79B9)
        _ = random.next()
        rows = [1, 2, 7, 1000].randomElement(using: &random) ?? 1
        makeTables()
        if chance(50) { makeMirror() }
        let count = Int.random(in: 2...14, using: &random)
        for row in 1...count { addRow(row) }
        makeChanges(count)
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func makeTables() {
        for number in 0..<Int.random(in: 1...3, using: &random) {
            let key =
                ["INTEGER PRIMARY KEY", "INTEGER UNIQUE", "TEXT PRIMARY KEY", "TEXT UNIQUE"]
                .randomElement(using: &random) ?? ""
            var parent: Int?
            if chance(number == 0 ? 50 : 80) { parent = Int.random(in: 0...number, using: &random) }
            let action = ["CASCADE", "CASCADE", "SET NULL"].randomElement(using: &random) ?? ""
            let up = parent.map { " REFERENCES t\($0)(id) ON DELETE \(action)" } ?? ""
            let order = chance(50) ? "id \(key), at INTEGER" : "at INTEGER, id \(key)"
            sql.append("CREATE TABLE t\(number) (\(order), x TEXT, up\(up))")
            tables.append(("t\(number)", parent))
        }
    }

    /// A table that triggers keep in step with another one.
    private mutating func makeMirror() {
        let name = chance(50) ? "a" : "z"
        let of = tables[Int.random(in: 0..<tables.count, using: &random)].name
        switch Int.random(in: 0..<4, using: &random) {
        case 0: sql.append("CREATE TABLE \(name) (id PRIMARY KEY, note TEXT)")
        case 1: sql.append("CREATE TABLE \(name) (n INTEGER PRIMARY KEY, id, note TEXT)")
        case 2: sql.append("CREATE TABLE \(name) (id, note TEXT)")
        default: sql.append("CREATE TABLE \(name) (id REFERENCES \(of)(id) ON DELETE CASCADE, note TEXT)")
        }
        let event = chance(50) ? "BEFORE" : "AFTER"
        sql.append("CREATE TRIGGER gone \(event) DELETE ON \(of) BEGIN DELETE FROM \(name) WHERE id = OLD.id; END")
        sql.append("CREATE TRIGGER new AFTER INSERT ON \(of) BEGIN INSERT INTO \(name) (id) VALUES (NEW.id); END")
        tables.append((name, nil))
    }

    private mutating func addRow(_ row: Int) {
        for table in tables where table.name.hasPrefix("t") && chance(85) {
            var up = "NULL"
            if let parent = table.parent, chance(60) {
                up = "(SELECT id FROM t\(parent) WHERE id <> \(row) ORDER BY id LIMIT 1 OFFSET \(row % 3))"
            }
            let at = chance(60) ? Int.random(in: 1...19, using: &random) : 90
            let x = chance(30) ? "same" : "x\(row)"
            sql.append("INSERT INTO \(table.name) (id, at, x, up) VALUES (\(row), \(at), '\(x)', \(up))")
        }
        if let mirror = tables.last?.name, !mirror.hasPrefix("t"), chance(40) {
            sql.append("UPDATE \(mirror) SET note = 'by hand \(row)' WHERE id = \(row)")
        }
    }

    private mutating func makeChanges(_ count: Int) {
        if chance(40) {
            hasStrangers = true
            for table in tables where table.name.hasPrefix("t") && chance(60) {
                let id = Int.random(in: 1...(count + 2), using: &random)
                between.append("INSERT OR IGNORE INTO \(table.name) (id, at, x) VALUES (\(id), 99, 'stranger')")
            }
        }
        if chance(30) { between.append("VACUUM") }
    }

    /// The rows of all tables by their values, without rowids that are no columns.
    private func contents(_ archived: ArchivedStore) throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        for table in tables { found[table.name] = try archived.store.rows("SELECT * FROM \(table.name)").sorted() }
        return found
    }

    /// Each row that refers to one, with the values of that one.
    private func families(_ archived: ArchivedStore) throws -> Set<String> {
        var found: Set<String> = []
        for table in tables {
            guard let parent = table.parent else { continue }
            found.formUnion(
                try archived.store.rows(
                    """
                    SELECT '\(table.name)', c.id, c.at, p.id, p.at, p.x FROM \(table.name) AS c JOIN t\(parent) AS p ON c.up = p.id
                    """))
        }
        return found
    }

    mutating func run() throws {
        let archived = try ArchivedStore(TemporaryStore(inMemory: true))
        try archived.store.change { db in for statement in sql { try db.execute(sql: statement) } }
        let (before, familiesBefore) = (try contents(archived), try families(archived))
        let names = tables.map(\.name).filter { $0.hasPrefix("t") }
        var requests = names.map(ArchivedStore.request)
        if chance(40) { requests = Array(requests.prefix(1)) }
        do {
            let reader = try archived.store.reader()
            for request in requests where try reader.survey(request).unsupported != nil { return }
        }
        let batchRows = [nil, 1, 3].randomElement(using: &random) ?? nil
        guard try archived.delete(requests, batchRows: batchRows) != nil else { return }
        try archived.store.change { db in for statement in between { try db.execute(sql: statement) } }
        let familiesAmidst = try families(archived)
        let amidst = try contents(archived)
        let survey = try archived.store.reader().restorable(archived.request())
        let outcome = try archived.undo(rows: rows, triggers: .skip)
        let (after, familiesAfter) = (try contents(archived), try families(archived))

        let strangers = familiesAfter.subtracting(familiesBefore).subtracting(familiesAmidst)
        if !strangers.isEmpty { found.append("rows belong to others than before: \(strangers.prefix(3))") }
        if !hasStrangers {
            let lost = outcome.total.skippedReferenceCount
            for (name, rows) in before where after[name] != rows && lost == 0 {
                found.append("\(name) was \(rows), and is \(after[name] ?? []) after \(amidst[name] ?? [])")
            }
            if outcome.total.skippedCount > 0 { found.append("skipped \(outcome.skipped.prefix(3))") }
            if lost > 0, !between.contains("VACUUM") { found.append("references skipped \(outcome.skipped.prefix(3))") }
            for table in survey where table.restorableCount != outcome.tables[table.table]?.restoredCount ?? 0 {
                found.append("the survey of \(table.table) is \(table), and the undo \(outcome.tables)")
            }
        } else if outcome.total.restoredCount + outcome.total.presentCount + outcome.total.skippedCount
            != survey.reduce(0, { $0 + $1.archivedCount })
        {
            found.append("rows are neither restored nor skipped: \(outcome.tables)")
        }
        for (name, rows) in after
        where !hasStrangers && Set(rows).count != rows.count
            && Set(before[name] ?? []).count == (before[name] ?? []).count
        {
            found.append("\(name) has rows twice")
        }
        let again = try archived.undo(rows: rows, triggers: .skip)
        if try contents(archived) != after { found.append("a second undo changes rows: \(again.tables)") }
        if again.total.restoredCount + again.total.referenceCount > 0 {
            found.append("a second undo restores: \(again.tables)")
        }
        if again.skipped.count != outcome.skipped.count { found.append("a second undo skips other rows") }
        if try archived.store.rows("PRAGMA foreign_key_check") != [] { found.append("rows are left dangling") }
    }
}
