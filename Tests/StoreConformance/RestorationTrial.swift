package import PriceStore
package import TestSupport

/// A run with an archive, an undo that may be stopped and goes on, and another undo, which has nothing to do.
package struct RestorationTrial {
    /// Rows of a batch; nil: as many as the engine likes.
    package var batchRows: Int?
    /// The engine's own names of how each rule deletes.
    package var methods: [String?] = []
    /// Rows of a part of the undo.
    package var rows = 1000
    /// After so many parts the undo is stopped once; nil: not.
    package var parts: Int?
    /// Whether each rule is undone by itself, the last one first.
    package var isByRule = false
    /// Tables that are not restored.
    package var left: Set<String> = []
    /// Whether rows refer to rows that are not there: then others may be skipped.
    package var hasDangling = false
    /// What is wrong, a line each.
    package private(set) var found: [String] = []
    /// What was restored.
    package private(set) var seen: Set<String> = []

    package init<T: Choosing>(_ choices: inout T) {
        batchRows = choices.pick([nil, nil, 1, 3, 20])
        rows = choices.pick([1, 2, 7, 1000])
        if choices.chance(50) { parts = choices.pick([1, 2, 3, 4]) }
        isByRule = choices.chance(30)
    }

    package mutating func run<Fixture: ArchivedFixture>(
        _ requests: [SurveyRequest], on fixture: Fixture, _ writer: Fixture.Writer? = nil
    ) throws {
        let before = try fixture.contents(without: left)
        guard try fixture.delete(requests, methods: methods, batchRows: batchRows, on: writer) != nil else {
            if try fixture.contents(without: left) != before {
                found.append("rows are deleted, and there is no archive")
            }
            seen.insert("nothing")
            return
        }
        let deleted = try fixture.contents(without: left)
        let prediction = try fixture.reader().restorable(fixture.request())
        if try fixture.contents(without: left) != deleted { found.append("the survey changed the store") }
        if let parts { try fixture.undo(rows: rows, parts: parts) }
        let isByRule = isByRule && parts == nil && !hasDangling
        let outcome = try isByRule ? fixture.undoEachRule(of: requests, rows: rows) : fixture.undo(rows: rows)
        let after = try fixture.contents(without: left)
        compare(before, after, allowed: hasDangling ? outcome.skipped : [])
        if !hasDangling, outcome.total.skippedCount + outcome.total.skippedReferenceCount > 0 {
            found.append("skipped \(outcome.skipped.prefix(3))")
        }
        for table in prediction where !hasDangling && table.conflictCount + table.presentCount > 0 {
            found.append("the survey of \(table.table) finds rows that are gone: \(table)")
        }
        if outcome.total.restoredCount > 0 { seen.insert("rows") }
        if outcome.total.referenceCount > 0 { seen.insert("references") }
        if outcome.tables.values.count(where: { $0.restoredCount > 0 }) > 1 { seen.insert("several tables") }

        let again = try fixture.undo(rows: rows)
        if try fixture.contents(without: left) != after { found.append("a second undo changes rows") }
        if again.total.restoredCount + again.total.referenceCount > 0 {
            found.append("a second undo restores rows: \(again.tables)")
        }
        if again.total.skippedCount != outcome.total.skippedCount {
            found.append("a second undo skips other rows: \(again.skipped.prefix(3))")
        }
        guard !hasDangling else { return }
        let third = try fixture.undoEachRule(of: requests, rows: rows)
        if try third.total.leftCount + third.total.restoredCount + third.total.referenceCount > 0
            || fixture.contents(without: left) != after
        {
            found.append("an undo of one rule after that does something: \(third)")
        }
    }

    /// Compares all tables; rows that were skipped may be missing.
    private mutating func compare(_ before: [String: [String]], _ after: [String: [String]], allowed: [SkippedRow]) {
        for (name, rows) in before.sorted(by: { $0.key < $1.key }) where after[name] != rows {
            let now = after[name] ?? []
            let (missing, added) = (Set(rows).subtracting(now), Set(now).subtracting(rows))
            let skips = allowed.filter { $0.table == name }.count
            // A reference to a row that was skipped is not restored either.
            if allowed.isEmpty || added.count > missing.count || missing.count > skips + added.count {
                found.append(
                    "\(name) lacks \(missing.prefix(3)), has new \(added.prefix(3)); \(skips) skipped, by \(methods)"
                )
            }
        }
    }
}
