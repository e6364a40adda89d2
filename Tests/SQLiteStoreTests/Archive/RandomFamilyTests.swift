import Foundation
import GRDB
import PriceStore
import StoreConformance
import TestSupport
import Testing

@testable import SQLiteStore

/// Random tables with keys of all kinds, whose rows refer to each other and to rows that are not there, with triggers that
/// change, delete and copy rows. Between the run and the undo strangers take keys, and VACUUM renumbers rows.
struct RandomFamilyTests {
    private static let trials = Trials(600, inPortionsOf: 30)

    @Test(arguments: trials.portions)
    func everyRowComesBackOnceAndToItsOwnParent(_ seeds: Range<UInt64>) {
        Self.trials.run(seeds, on: FamilyTrial.init, story: \.story) { trial, found in
            defer { found = trial.found }
            try trial.run()
        }
    }
}

private struct FamilyTrial: Choosing {
    private struct Family {
        var name: String
        var key: String
        var references: [(parent: Int, action: String)] = []
        var rows: [Int] = []

        func id(_ number: Int) -> String { key.hasPrefix("TEXT") ? "'K\(number)'" : "\(number)" }
    }

    var random: SeededRandom
    var found: [String] = []
    private var statements = ["PRAGMA foreign_keys = OFF"]
    private var between: [String] = []
    private var families: [Family] = []
    /// A table that triggers keep in step with a family.
    private var mirror: String?
    private var hasStrangers = false
    private var isRenumbered: Bool { between.contains("VACUUM") }

    init(seed: UInt64) throws {
        random = SeededRandom(seed &* 0x9E37_79B9)
        _ = random.next()
        makeFamilies()
        let copies = chance(35)
        if copies { makeMirror() }
        makeRows()
        if !copies, chance(50) { makeTidyTrigger() }
    }

    var story: String { (statements + ["-- run"] + between).map { "    " + $0 + ";" }.joined(separator: "\n") }

    // MARK: The store

    private mutating func makeFamilies() {
        let keys = [
            "INTEGER PRIMARY KEY", "INTEGER UNIQUE", "UNIQUE", "TEXT PRIMARY KEY", "TEXT UNIQUE",
            "TEXT COLLATE NOCASE PRIMARY KEY",
        ]
        let actions = ["CASCADE", "CASCADE", "SET NULL", "SET NULL", "SET DEFAULT", "NO ACTION"]
        let count = pick([1, 1, 2, 3])
        for number in 0..<count {
            var family = Family(name: "t\(number)", key: pick(keys))
            for _ in 0..<pick([0, 1, 1, 2]) {
                family.references.append((Int.random(in: 0..<count, using: &random), pick(actions)))
            }
            families.append(family)
        }
        for family in families {
            let references = family.references.enumerated().map { number, reference in
                "r\(number) REFERENCES t\(reference.parent) (id) ON DELETE \(reference.action)"
                    + (chance(30) ? " DEFERRABLE INITIALLY DEFERRED" : "")
            }
            let first = chance(50) ? ["id \(family.key)", "at INTEGER"] : ["at INTEGER", "id \(family.key)"]
            statements.append(
                "CREATE TABLE \(family.name) (\((first + ["v"] + references).joined(separator: ", ")))"
                    + (family.key.contains("NOCASE") ? " WITHOUT ROWID" : ""))
        }
    }

    private mutating func makeMirror() {
        let name = pick(["a", "z"])
        let of = pick(families).name
        let columns = pick([
            "id PRIMARY KEY", "n INTEGER PRIMARY KEY, id", "id", "id REFERENCES \(of) (id) ON DELETE CASCADE",
        ])
        statements += [
            "CREATE TABLE \(name) (\(columns), note TEXT)",
            "CREATE TRIGGER gone \(pick(["BEFORE", "AFTER"])) DELETE ON \(of) BEGIN DELETE FROM \(name) WHERE id = OLD.id; END",
            "CREATE TRIGGER new AFTER INSERT ON \(of) BEGIN INSERT INTO \(name) (id) VALUES (NEW.id); END",
        ]
        mirror = name
    }

    /// A trigger that deletes rows of a table of its own, and changes some of them before.
    private mutating func makeTidyTrigger() {
        let family = pick(families)
        let event = pick(["DELETE", "DELETE", "UPDATE"])
        guard event == "DELETE" || !family.references.isEmpty else { return }
        let remove = "DELETE FROM note WHERE of = OLD.id AND n <= 1"
        let body = pick([remove, remove, "UPDATE note SET n = n - 1 WHERE of = OLD.id; \(remove)"])
        // An undo changes references too, and must not delete again what it restored.
        let condition = event == "DELETE" ? "" : "WHEN OLD.r0 IS NOT NULL AND NEW.r0 IS NULL"
        statements += [
            "CREATE TABLE note (id INTEGER PRIMARY KEY, of, n INTEGER)",
            "CREATE TABLE mark (id INTEGER PRIMARY KEY, note INTEGER REFERENCES note ON DELETE SET NULL)",
            "CREATE TRIGGER tidy \(pick(["AFTER", "AFTER/**/"])) \(event) ON \(family.name) \(condition) BEGIN \(body); END",
        ]
        for number in family.rows {
            statements.append("INSERT INTO note VALUES (\(number), \(family.id(number)), 1)")
            statements.append("INSERT INTO mark VALUES (\(number), \(number))")
        }
    }

    private mutating func makeRows() {
        let count = Int.random(in: 2...14, using: &random)
        for index in families.indices { families[index].rows = (1...count).filter { _ in chance(85) } }
        let dangles = chance(15)
        for family in families {
            for number in family.rows {
                let references = family.references.map { reference -> String in
                    let parent = families[reference.parent]
                    if chance(30) || parent.rows.isEmpty { return "NULL" }
                    return parent.id(dangles && chance(15) ? 99 : pick(parent.rows))
                }
                let at = chance(60) ? Int.random(in: 1...19, using: &random) : 90
                let value = pick(["NULL", "'same'", "\(number)", "\(number).5", "'t\(number)'", "x'00'"])
                let row = [family.id(number), "\(at)", value] + references
                let names = ["id", "at", "v"] + family.references.indices.map { "r\($0)" }
                statements.append(
                    "INSERT INTO \(family.name) (\(names.joined(separator: ", "))) VALUES (\(row.joined(separator: ", ")))"
                )
                guard let mirror, chance(40) else { continue }
                statements.append("UPDATE \(mirror) SET note = 'by hand \(number)' WHERE id = \(family.id(number))")
            }
        }
        if !dangles { makeChanges(count) }
    }

    private mutating func makeChanges(_ count: Int) {
        let some = chance(40)
        for family in families where some && chance(60) {
            let id = family.id(Int.random(in: 1...(count + 2), using: &random))
            between.append("INSERT OR IGNORE INTO \(family.name) (id, at, v) VALUES (\(id), 99, 'stranger')")
        }
        hasStrangers = !between.isEmpty
        if chance(30) { between.append("VACUUM") }
    }

    // MARK: The trial

    /// The rows of all tables; those that VACUUM renumbers without rowids that are no columns.
    private func contents(_ archived: ArchivedStore) throws -> [String: [String]] {
        let contents = try archived.contents()
        guard isRenumbered else { return contents }
        return try Dictionary(
            uniqueKeysWithValues: contents.keys.map { ($0, try archived.store.rows("SELECT * FROM \($0)").sorted()) })
    }

    /// Each row that refers to one, with the values of that one.
    private func relatives(_ archived: ArchivedStore) throws -> Set<String> {
        var found: Set<String> = []
        for child in families {
            for (number, reference) in child.references.enumerated() {
                found.formUnion(
                    try archived.store.rows(
                        """
                        SELECT '\(child.name)', \(number), c.id, c.at, p.id, p.at, p.v FROM \(child.name) AS c
                        JOIN t\(reference.parent) AS p ON c.r\(number) = p.id
                        """))
            }
        }
        return found
    }

    mutating func run() throws {
        let archived = try ArchivedStore(TemporaryStore(inMemory: true))
        let store = archived.store
        try store.change { db in for statement in statements { try db.execute(sql: statement) } }
        let (before, relativesBefore) = (try contents(archived), try relatives(archived))
        let open = try store.rows("PRAGMA foreign_key_check").sorted()
        let requests = try plan(store)
        guard !requests.isEmpty else { return }
        guard try archived.delete(requests, batchRows: pick([nil, 1, 3])) != nil else {
            if try contents(archived) != before { found.append("rows are deleted or changed, and there is no archive") }
            return
        }
        try store.change { db in for statement in between { try db.execute(sql: statement) } }
        let (amidst, relativesAmidst) = (try contents(archived), try relatives(archived))
        let survey = try store.reader().restorable(archived.request())
        let rows = pick([1, 2, 3, 7, 1000])
        var triggers: TriggerChoice? = mirror == nil ? nil : .skip
        // A row that is skipped is not known to the undo of another rule.
        let isByRule = !hasStrangers && chance(40)
        let outcome: RestorationOutcome
        do {
            outcome =
                try isByRule
                ? archived.undoEachRule(of: requests, rows: rows, triggers: triggers)
                : archived.undo(rows: rows, triggers: triggers)
        } catch let error as StoreError where "\(error)".contains("--triggers skip") {
            // The rules before it may have been undone.
            guard !isByRule else { return }
            if try contents(archived) != amidst { found.append("an undo that is refused changes rows") }
            triggers = .skip
            outcome = try archived.undo(rows: rows, triggers: triggers)
        }
        let after = try contents(archived)

        let adopted = try relatives(archived).subtracting(relativesBefore).subtracting(relativesAmidst)
        if !adopted.isEmpty { found.append("rows belong to others than before: \(adopted.prefix(3))") }
        if hasStrangers {
            let total = outcome.total
            if total.restoredCount + total.presentCount + total.skippedCount
                != survey.reduce(0, { $0 + $1.archivedCount })
            {
                found.append("rows are neither restored nor skipped: \(outcome.tables)")
            }
        } else {
            let lost = outcome.total.skippedReferenceCount
            for (name, rows) in before {
                if after[name] != rows, lost == 0 {
                    found.append("\(name) was \(rows), and is \(after[name] ?? []) after \(amidst[name] ?? [])")
                }
                if Set(after[name] ?? []).count != after[name]?.count, Set(rows).count == rows.count {
                    found.append("\(name) has rows twice")
                }
            }
            if outcome.total.skippedCount > 0 { found.append("skipped \(outcome.skipped.prefix(3))") }
            if lost > 0, !isRenumbered { found.append("references skipped \(outcome.skipped.prefix(3))") }
            for table in survey where table.restorableCount != outcome.tables[table.table]?.restoredCount ?? 0 {
                found.append("the survey of \(table.table) is \(table), and the undo \(outcome.tables)")
            }
        }
        if try store.rows("PRAGMA foreign_key_check").sorted() != open { found.append("other rows are left dangling") }
        let again = try archived.undo(rows: rows, triggers: triggers)
        if try contents(archived) != after { found.append("a second undo changes rows: \(again.tables)") }
        if again.total.restoredCount + again.total.referenceCount > 0 {
            found.append("a second undo restores: \(again.tables)")
        }
        if again.skipped.count != outcome.skipped.count {
            found.append("a second undo skips other rows: \(outcome.skipped), then \(again.skipped)")
        }
        guard !hasStrangers else { return }
        let third = try archived.undoEachRule(of: requests, rows: rows, triggers: triggers)
        if try third.total.restoredCount + third.total.referenceCount + third.total.skippedCount > 0
            || contents(archived) != after
        {
            found.append("an undo of one rule after that does something: \(third)")
        }
    }

    /// The requests that a run would carry out, each with those before it.
    private mutating func plan(_ store: TemporaryStore) throws -> [SurveyRequest] {
        let reader = try store.reader()
        var requests: [SurveyRequest] = []
        for family in families.shuffled(using: &random).prefix(pick([1, 2, 3])) {
            var request = ArchivedStore.request(family.name)
            request.relationships = pick([.asDeclared, .asDeclared, .asDeclared, .cascade, .nullify])
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
