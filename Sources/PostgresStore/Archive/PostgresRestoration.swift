package import PriceStore

/// Inserts the rows of an archive into the store again; see docs/undo.md.
///
/// Rows are inserted by one statement where that is possible. If that fails, the rows are compared with the
/// store first, and if that is not enough, they are inserted one by one.
final class PostgresRestoration: Restoration {
    let rules: [String]
    let tables: [RestorableTable]
    let mayDiffer: Bool
    private let archive: ServerArchive
    private let writer: PostgresWriter
    private let isDistributed: Bool
    private let restored: RestoredRows
    private let triggers: FiredTriggers
    /// What the store has of the candles.
    private let candles: CandleStates
    private var steps: RestorationSteps
    /// The numbers of archived rows that were not restored, by table.
    private var skipped: [Int: Set<Int64>] = [:]

    init(_ archive: ServerArchive, _ choice: TriggerChoice?, _ writer: PostgresWriter) throws {
        self.archive = archive
        self.writer = writer
        rules = archive.rules
        restored = RestoredRows(archive, writer)
        candles = try CandleStates(archive, restored, writer)
        var tables = archive.parts.emptyCounts(of: archive.tables)
        candles.add(to: &tables)
        self.tables = tables
        triggers = try FiredTriggers(archive, choice, writer)
        mayDiffer = triggers.areFired || archive.tables.contains { !$0.newTypes.isEmpty }
        isDistributed = archive.tables.contains(where: \.target.isDistributed)
        steps = RestorationSteps(archive.parts, of: archive.tables)
    }

    func restoreNext(rows: Int) throws(StoreError) -> RestorationPart {
        let (batch, next) = steps.next(rows: rows)
        let before = skipped
        var part = RestorationPart()
        do {
            try writer.batch("restoring rows") {
                // It may be tried again.
                part = RestorationPart()
                skipped = before
                triggers.counts = [:]
                // The archive is removed one day: what is said to be restored must be on disk by then.
                if steps.isEnd(next) { try writer.execute("SET LOCAL synchronous_commit = on") }
                // What refuses a row must be known with it, not at the end.
                try writer.execute("SET CONSTRAINTS ALL IMMEDIATE")
                try triggers.leavingOut {
                    try RestorationSteps.carryOut(
                        batch, of: archive.tables, store: writer.name, &part, candles: candles
                    ) {
                        try restore($0, &$1)
                    } restoreCandles: {
                        try restoreCandles($0, &$1)
                    }
                }
                // A value would be changed to the type that a column has by now.
                try writer.refuseChangedSchema(
                    of: archive.tables.map(\.target), since: "the undo began: nothing of this batch is restored")
            }
        } catch {
            skipped = before
            throw error
        }
        part.byTriggers = triggers.counts
        steps.place = next
        part.hasMore = !steps.isEnd(next)
        return part
    }

    private func restore(_ step: RestorationStep, _ part: inout RestorationPart) throws {
        if let portion = step.portions.first, !archive.tables[portion.table].holdsRows {
            return try restoreReferences(portion, &part)
        }
        var known = try step.portions.map { try restoredBefore($0, &part) }
        // A row whose parent was skipped would belong to the row that uses the parent's key now.
        let hasSkippedParents = step.portions.contains { portion in
            archive.tables[portion.table].relationships.contains { !skippedParents($0).isEmpty }
        }
        // A worker refuses a row with an error that does not say it, so that the keys are looked at first.
        if try hasSkippedParents || isDistributed || !insertAll(step.portions, known) {
            try compare(step.portions, &known, &part)
            if try !insertAll(step.portions, known) { return try insertEach(step.portions, known, &part) }
        }
        for (portion, known) in zip(step.portions, known) {
            part.note(archive.tables[portion.table].table) { $0.restoredCount += portion.rows.count - known.count }
            try markRestored(portion, besides: known)
        }
    }

    // MARK: Tables without a key

    /// The rows of a table without a key that an undo has restored before: nothing else distinguishes them from equal ones.
    private func restoredBefore(_ portion: ArchivedRows, _ part: inout RestorationPart) throws -> Set<Int64> {
        let table = archive.tables[portion.table]
        guard table.key.isEmpty else { return [] }
        let rows = try Set(portion.rows.filter(restored.rows(of: table).contains))
        if !rows.isEmpty { part.note(table.table) { $0.presentCount += rows.count } }
        return rows
    }

    /// Remembers that rows without a key were restored, all but some.
    private func markRestored(_ portion: ArchivedRows, besides known: Set<Int64>) throws {
        let table = archive.tables[portion.table]
        guard table.key.isEmpty else { return }
        var first = portion.rows.lowerBound
        for end in known.sorted() + [portion.rows.upperBound + 1] {
            if first < end {
                try writer.execute(
                    "INSERT INTO \(archive.place.table("retention_restored")) VALUES (" + .bound(archive.run, "text")
                        + ", \(table.number), \(first), \(end - 1)) ON CONFLICT (run, table_number, first_row) DO UPDATE SET "
                        + "last_row = greatest(retention_restored.last_row, excluded.last_row)")
            }
            first = end + 1
        }
    }

    // MARK: All rows at once

    /// Inserts all rows of some portions except known ones; false: a row prevented it, and none is inserted.
    private func insertAll(_ portions: [ArchivedRows], _ known: [Set<Int64>]) throws -> Bool {
        let insertions = zip(portions, known).map {
            archive.tables[$0.table].insertion($0.rows, besides: $1.sorted(), isPart: portions.count > 1)
        }
        let expected = zip(portions, known).reduce(0) { $0 + $1.0.rows.count - $1.1.count }
        func own(_ count: Int) -> [(Int, TriggeredRows)] {
            guard portions.count > 1 else {
                return [(archive.tables[portions[0].table].target.number, TriggeredRows(insertedCount: count))]
            }
            // If it is not so, none of them stays.
            return zip(portions, known).map {
                (
                    archive.tables[$0.table].target.number,
                    TriggeredRows(insertedCount: $0.rows.count - $1.count)
                )
            }
        }
        return try attempt {
            try triggers.observing(
                {
                    guard insertions.count > 1 else { return try writer.execute(insertions[0]).changedCount }
                    // Keys are checked at the end of the statement, when all rows of a circle are there.
                    let parts = insertions.enumerated().map { "inserted_\($0) AS (" + $1 + ")" }
                    let counts = insertions.indices.map { "(SELECT count(*) FROM inserted_\($0))" }
                    return try writer.count(
                        "WITH " + .joined(parts, by: ", ", empty: .never)
                            + " SELECT \(counts.joined(separator: " + "))")
                }, own: own) == expected
        }
    }

    /// What refused the last attempt; nil: nothing did.
    private var failure: ServerFault?

    /// Carries out work that is undone if it says false, or if the store refuses a row of it.
    private func attempt(_ body: () throws -> Bool) throws -> Bool {
        struct IsUndone: Error {}
        failure = nil
        let counts = triggers.counts
        do {
            try writer.transaction(.normal) {
                do {
                    guard try body() else { throw IsUndone() }
                } catch let fault as ServerFault where fault.isAboutRow || isDistributed && fault.isOfWorker {
                    failure = fault
                    throw IsUndone()
                }
            }
            return true
        } catch is IsUndone {
            triggers.counts = counts
            return false
        }
    }

    // MARK: Compared with the store

    /// Finds the rows that the store has, those whose key another row uses, and their children.
    private func compare(
        _ portions: [ArchivedRows], _ known: inout [Set<Int64>], _ part: inout RestorationPart
    ) throws {
        for (index, portion) in portions.enumerated() {
            let table = archive.tables[portion.table]
            guard !table.key.isEmpty else { continue }
            let found = try writer.rows(
                "SELECT a.\(table.rowNumber), \(table.isEqual(archive.references(of: table))) FROM \(table.source) AS a "
                    + "\(table.join("a")) WHERE " + table.isIn(portion.rows))
            for row in found {
                guard let number = row[0].flatMap({ Int64($0) }) else { continue }
                known[index].insert(number)
                if row[1] == "t" {
                    part.note(table.table) { $0.presentCount += 1 }
                } else {
                    try skip(number, portion.table, "the store has another row with its key", &part)
                }
            }
        }
        while try skipChildren(portions, &known, &part) {}
    }

    /// Skips the rows whose parents were skipped, and returns whether there were any.
    private func skipChildren(
        _ portions: [ArchivedRows], _ known: inout [Set<Int64>], _ part: inout RestorationPart
    ) throws -> Bool {
        var hasFound = false
        for (index, portion) in portions.enumerated() {
            let table = archive.tables[portion.table]
            for relationship in table.relationships {
                for parent in skippedParents(relationship) {
                    let references = relationship.sourceAttributes.map { "a.\($0.quotedIdentifier)" }
                    let rows = try writer.rows(
                        "SELECT a.\(table.rowNumber) FROM \(table.source) AS a WHERE "
                            + .all([
                                table.isIn(portion.rows, besides: known[index].sorted()),
                                isSkipped(references, relationship, parent),
                            ]))
                    for number in rows.compactMap({ $0[0].flatMap { Int64($0) } }) {
                        known[index].insert(number)
                        hasFound = true
                        try skip(
                            number, portion.table, "its row of \(archive.tables[parent].table) was not restored", &part)
                    }
                }
            }
        }
        return hasFound
    }

    /// The tables of the archive with skipped rows that a relationship refers to.
    private func skippedParents(_ relationship: Relationship) -> [Int] {
        skipped.keys.sorted().filter { archive.tables[$0].table == relationship.destination }
    }

    /// The condition that values refer to a skipped row.
    private func isSkipped(_ values: [String], _ relationship: Relationship, _ parent: Int) -> SQLFragment {
        let table = archive.tables[parent]
        let same = zip(values, relationship.destinationAttributes).map { "\($0) = p.\($1.quotedIdentifier)" }
        return
            "EXISTS (SELECT 1 FROM \(table.source) AS p WHERE \(same.joined(separator: " AND ")) AND p.\(table.rowNumber) = ANY ("
            + RestorationTable.list(skipped[parent] ?? []) + "))"
    }

    private func skip(_ row: Int64, _ number: Int, _ reason: String, _ part: inout RestorationPart) throws {
        let table = archive.tables[number]
        skipped[number, default: []].insert(row)
        part.note(table.table) { $0.skippedCount += 1 }
        try list(row, table, reason, &part)
    }

    private func list(_ row: Int64, _ table: RestorationTable, _ reason: String, _ part: inout RestorationPart) throws {
        guard part.listsMore else { return }
        var key: [StoreValue] = [.integer(row)]
        if !table.key.isEmpty {
            let result = try writer.execute(
                "SELECT \(table.archivedKey.joined(separator: ", ")) FROM \(table.source) AS a WHERE "
                    + table.isIn(row...row))
            key = zip(result.rows.first ?? [], result.types).map { StoreValue($0, type: $1) }
        }
        part.skipped.append(SkippedRow(table: table.table, key: key, reason: reason))
    }

    // MARK: Row by row

    private struct Refused {
        var place: Int
        var row: Int64
        var reason: String
        /// What refused it; nil: a trigger ignores it.
        var fault: ServerFault?
        /// Whether it lacks a row that may come later.
        var lacksRow: Bool { fault?.code == "23503" }
    }

    /// Inserts the rows that are left one by one and skips the others.
    ///
    /// A child can be inserted before its parent turns out to be refused: the row that has the parent's key would get it. So an
    /// attempt in which a row was refused is rolled back, and the next one is made without that row and its children.
    private func insertEach(
        _ portions: [ArchivedRows], _ known: [Set<Int64>], _ part: inout RestorationPart
    ) throws {
        var known = known
        while true {
            var refused: [Refused] = []
            var isInserted = try attempt {
                refused = try insertLeft(portions, known)
                return refused.isEmpty
            }
            guard isInserted || !refused.isEmpty else {
                throw failure ?? ServerFault(code: nil, message: "rows are not inserted", isConnectionLost: false)
            }
            let others = refused.filter { !$0.lacksRow }
            // Rows that wait for each other come together.
            if !isInserted, others.isEmpty { isInserted = try insertAll(portions, known) }
            guard !isInserted else {
                for (portion, known) in zip(portions, known) {
                    part.note(archive.tables[portion.table].table) {
                        $0.restoredCount += portion.rows.count - known.count
                    }
                    try markRestored(portion, besides: known)
                }
                return
            }
            for row in others.isEmpty ? refused : others {
                known[row.place].insert(row.row)
                try skip(row.row, portions[row.place].table, row.reason, &part)
            }
            while try skipChildren(portions, &known, &part) {}
        }
    }

    /// Inserts the rows that are left one by one, as often as that helps, and returns those that were refused.
    private func insertLeft(_ portions: [ArchivedRows], _ known: [Set<Int64>]) throws -> [Refused] {
        var waiting: [(place: Int, row: Int64)] = []
        for (place, portion) in portions.enumerated() {
            waiting += portion.rows.reversed().filter { !known[place].contains($0) }.map { (place, $0) }
        }
        while true {
            var refused: [Refused] = []
            for (place, row) in waiting {
                let table = archive.tables[portions[place].table]
                let isInserted = try attempt {
                    try triggers.observing(
                        { try writer.execute(table.insertion(row...row)).changedCount },
                        own: { [(table.target.number, TriggeredRows(insertedCount: $0))] }) == 1
                }
                guard !isInserted else { continue }
                refused.append(
                    Refused(
                        place: place, row: row, reason: failure.map(Self.reason) ?? "a trigger ignores it",
                        fault: failure))
            }
            // Another row can be what a row waits for: its parent.
            guard refused.contains(where: { $0.fault?.mayPass ?? false }), refused.count < waiting.count else {
                return refused
            }
            waiting = refused.map { ($0.place, $0.row) }
        }
    }

    /// Why a row was refused, as a clause.
    private static func reason(_ fault: ServerFault) -> String {
        switch fault.code {
        case "23503": "a row that it refers to is not in the store"
        case "P0001": "a trigger refuses it: \(fault.message)"
        default: "the store refuses it: \(fault.message)"
        }
    }

    // MARK: Candles

    /// Gives candles the values that they had before rows were added to them, and deletes those that were made then.
    private func restoreCandles(_ portion: ArchivedRows, _ part: inout RestorationPart) throws {
        let table = archive.tables[portion.table]
        func change(_ statement: SQLFragment) throws -> [Int64] {
            try writer.rows(statement).compactMap { $0[0].flatMap { Int64($0) } }
        }
        let deleted = try table.candleDeletes(portion.rows).flatMap(change)
        let restored = try table.candleUpdates(portion.rows).flatMap(change)
        guard try deleted.count + restored.count == writer.count(table.candleCount(portion.rows)) else {
            throw StoreError.candlesCannotBeRestored(
                table.table, "one of them was changed during the undo, or is there more than once", store: writer.name)
        }
        // One that an earlier transaction of the run has changed, too, counts there.
        let repeated = candles.repeated[portion.table] ?? []
        part.note(table.table) {
            $0.deletedCandleCount += deleted.count { !repeated.contains($0) }
            $0.restoredCandleCount += restored.count { !repeated.contains($0) }
        }
    }

    // MARK: References

    /// Gives references that were cleared their old values, where nobody has changed them since.
    private func restoreReferences(_ portion: ArchivedRows, _ part: inout RestorationPart) throws {
        let table = archive.tables[portion.table]
        let isOwnRowSkipped = isOwnRowSkipped(table)
        var changed: Set<String> = []
        var obstacles: [Int64: String] = [:]
        for update in table.referenceUpdates {
            let isBlocked = refersToSkipped(table, update)
            func restore(_ rows: ClosedRange<Int64>) throws -> Bool {
                var found: [String] = []
                let isDone = try attempt {
                    found = try triggers.observing(
                        {
                            try writer.rows(table.update(update, rows, unless: .any([isOwnRowSkipped, isBlocked])))
                                .compactMap { $0[0] }
                        }, own: { [(table.target.number, TriggeredRows(changedCount: $0.count))] })
                    return true
                }
                if isDone { changed.formUnion(found) }
                return isDone
            }
            if try !restore(portion.rows) {
                for row in portion.rows where try !restore(row...row) { obstacles[row] = failure.map(Self.reason) }
            }
            let left = try writer.rows(table.left(update, portion.rows, isBlocked: isBlocked, unless: isOwnRowSkipped))
            for row in left {
                guard let number = row[0].flatMap({ Int64($0) }) else { continue }
                obstacles[number] =
                    row[1] == "t" ? "its row is not in the store" : "the row that it refers to was not restored"
            }
        }
        part.note(table.table) { $0.referenceCount += changed.count }
        for (row, obstacle) in obstacles.sorted(by: { $0.key < $1.key }) {
            part.note(table.table) { $0.skippedReferenceCount += 1 }
            try list(row, table, "its reference is not restored: \(obstacle)", &part)
        }
    }

    /// The condition that a reference belongs to a row that was skipped.
    private func isOwnRowSkipped(_ table: RestorationTable) -> SQLFragment {
        .any(
            archive.tables.enumerated().filter { number, rows in
                rows.holdsRows && rows.target.number == table.target.number && skipped[number] != nil
            }.map { number, rows in
                let same = zip(rows.archivedKey, table.archivedKey).map { "s.\($0) = r.\($1)" }
                return
                    "EXISTS (SELECT 1 FROM \(rows.source) AS s WHERE \(same.joined(separator: " AND ")) AND s.\(rows.rowNumber) = ANY ("
                    + RestorationTable.list(skipped[number] ?? []) + "))"
            })
    }

    /// The condition that a reference refers to a row that was skipped.
    private func refersToSkipped(_ table: RestorationTable, _ update: RestorationTable.ReferenceUpdate) -> SQLFragment {
        guard let relationship = update.relationship,
            relationship.sourceAttributes.allSatisfy(table.columns.contains)
        else { return .never }
        let old = relationship.sourceAttributes.map { table.reference($0, "old") }
        return .any(skippedParents(relationship).map { isSkipped(old, relationship, $0) })
    }
}

extension ServerFault {
    /// Whether the server refuses a row, so that others may be taken. A trigger may give it a state of its own: only what is
    /// about the connection, resources, locks, rights of the session, and the statement itself is not about a row.
    fileprivate var isAboutRow: Bool {
        guard let code, !isConnectionLost else { return false }
        return code == "42501"
            || !["08", "0A", "25", "26", "28", "34", "3B", "3D", "40", "42", "53", "54", "55", "57", "58", "F0", "XX"]
                .contains(code.prefix(2))
    }

    /// Whether a worker has refused a row: the coordinator reports this as an internal error.
    fileprivate var isOfWorker: Bool { code == "XX000" && !isConnectionLost && !message.contains("connection") }

    /// Whether the row may be taken later, when others are there.
    fileprivate var mayPass: Bool { code == "23503" || !["22", "23"].contains(code?.prefix(2)) }
}

extension ServerArchive {
    /// Compares all rows with the store.
    fileprivate func counts(_ connection: PostgresConnection) throws -> [RestorableTable] {
        var counts = parts.emptyCounts(of: tables)
        let restored = RestoredRows(self, connection)
        let candles = try CandleStates(self, restored, connection)
        candles.add(to: &counts)
        for (number, table) in tables.enumerated() where !table.holdsCandles {
            guard let index = counts.firstIndex(where: { $0.table == table.table }) else { continue }
            for rows in parts.joinedRows(of: number) {
                if !table.holdsRows {
                    let row =
                        try connection.rows(references(table, rows)).first?.map { $0.flatMap { Int($0) } ?? 0 } ?? []
                    guard row.count == 2 else { continue }
                    counts[index].referenceCount += row[0]
                    counts[index].skippedReferenceCount += row[1]
                } else if table.key.isEmpty {
                    counts[index].presentCount += try restored.rows(of: table).count(where: rows.contains)
                } else {
                    let row =
                        try connection.rows(
                            "SELECT count(*), count(*) FILTER (WHERE \(table.isEqual(references(of: table)))) FROM \(table.source) AS a "
                                + "\(table.join("a")) WHERE " + table.isIn(rows)
                        ).first?.map { $0.flatMap { Int($0) } ?? 0 } ?? []
                    guard row.count == 2 else { continue }
                    counts[index].presentCount += row[1]
                    counts[index].conflictCount += row[0] - row[1]
                }
            }
        }
        candles.removeFreed(from: &counts)
        return counts
    }

    /// Counts the rows whose references can be restored, and those that are nowhere, with archived rows in the place of
    /// those that are not in the store.
    private func references(_ table: RestorationTable, _ rows: ClosedRange<Int64>) -> SQLFragment {
        let first = (table.key.first ?? "").quotedIdentifier
        let own = tables.filter { $0.holdsRows && $0.target.number == table.target.number }.map { rows in
            let same = zip(rows.archivedKey, table.archivedKey).map { "s.\($0) = r.\($1)" }
            return "EXISTS (SELECT 1 FROM \(rows.source) AS s WHERE \(same.joined(separator: " AND ")))"
        }
        let isArchived = "(\((own + ["FALSE"]).joined(separator: " OR ")))"
        let changes = table.referenceUpdates.map {
            "\(table.wasCleared($0)) AND (m.\(first) IS NULL AND \(isArchived) OR m.\(first) IS NOT NULL AND \(table.isCleared($0)))"
        }
        let wasCleared = table.referenceUpdates.map(table.wasCleared).joined(separator: " OR ")
        return
            "SELECT count(*) FILTER (WHERE \(changes.map { "(\($0))" }.joined(separator: " OR "))), "
            + "count(*) FILTER (WHERE m.\(first) IS NULL AND NOT \(isArchived) AND (\(wasCleared))) "
            + "FROM \(table.source) AS r LEFT JOIN \(table.target.sql) AS m ON \(table.isSameKey("r")) WHERE "
            + table.isIn(rows, alias: "r")
    }
}

/// The rows of tables without a key that an undo has restored before, and that the store still has: nothing else
/// distinguishes them from equal ones.
final class RestoredRows {
    private let archive: ServerArchive
    private let connection: PostgresConnection
    private var found: [Int: Set<Int64>] = [:]

    init(_ archive: ServerArchive, _ connection: PostgresConnection) {
        self.archive = archive
        self.connection = connection
    }

    /// The numbers of the rows of a table, as they were when it was first asked for.
    func rows(of table: RestorationTable) throws -> Set<Int64> {
        if let found = found[table.number] { return found }
        let done =
            "FROM \(archive.place.table("retention_restored")) AS done WHERE done.run = "
            + SQLFragment.bound(archive.run, "text")
            + " AND done.table_number = \(table.number)"
        let isRestored =
            "EXISTS (SELECT 1 " + done + " AND a.\(table.rowNumber) BETWEEN done.first_row AND done.last_row)"
        let rows = try connection.exists("SELECT 1 " + done) ? connection.rows(table.stored(isRestored)) : []
        let numbers = Set(rows.compactMap { $0[0].flatMap { Int64($0) } })
        found[table.number] = numbers
        return numbers
    }
}

extension PostgresDatabase {
    /// What an archive holds for each table, compared with the store as it is.
    package func restorable(_ request: RestorationRequest) throws(StoreError) -> [RestorableTable] {
        try run("comparing the archive with the store") {
            let archive = try ServerArchive(request, self)
            _ = try FiredTriggers(archive, request.triggers, self)
            return try archive.counts(self)
        }
    }
}

extension PostgresWriter {
    /// The restoration of what a run deleted.
    package func restoration(of request: RestorationRequest) throws(StoreError) -> any Restoration {
        try run("reading the archive") {
            try PostgresRestoration(ServerArchive(request, self), request.triggers, self)
        }
    }
}
