import PriceStore

/// A table of an archive, the table of the store to which its rows return, and the SQL for that.
///
/// In SQL, `a` is a row of the archive, `m` a row of the store, and `r` a row of a table with the old values of references or candles.
struct RestorationTable: RestorableSource {
    let kind: ArchivedKind
    /// Its number in the archive.
    let number: Int
    /// The table of the store.
    let target: PostgresTable
    /// The archive's table in SQL.
    let source: String
    /// The column with the numbers of the archive's rows, in SQL.
    let rowNumber: String
    /// The columns that identify a row of the store; empty if none do.
    let key: [String]
    let columns: [String]
    /// The references of the rows to other tables.
    let relationships: [Relationship]
    /// The names of the triggers that a restoration of rows, references or candles fires.
    let triggers: [String]

    var table: String { target.name }

    private var written: [String] { columns.filter { target.entity.attribute(named: $0)?.isGenerated == false } }

    // MARK: Names

    /// Whether two lists of values have the same text. Unlike `=`, this works for every type.
    static func same(_ a: [String], _ b: [String]) -> String {
        "\(text(a)) = \(text(b))"
    }

    static func text(_ values: [String]) -> String { "ROW(\(values.joined(separator: ", ")))::text" }

    /// The names of the key's columns in the archive, in SQL.
    var archivedKey: [String] {
        holdsRows ? key.map(\.quotedIdentifier) : key.indices.map { "key_\($0 + 1)" }
    }

    /// A way in which two rows can have the same key: some of its columns are NULL in both. An index serves `=` and `IS NULL`.
    struct SameKey {
        var equal: [String] = []
        var keptIsNull: [String] = []
        var storedIsNull: [String] = []

        var condition: String { (equal + keptIsNull + storedIsNull).joined(separator: " AND ") }
    }

    /// All ways in which an archived row and the store's row `m` can have the same key. There is one if no column can be NULL.
    func sameKeys(_ a: String) -> [SameKey] {
        zip(archivedKey, key).reduce([SameKey()]) { ways, part in
            let (kept, stored) = ("\(a).\(part.0)", "m.\(part.1.quotedIdentifier)")
            let isRequired = target.entity.attribute(named: part.1)?.isRequired == true
            return ways.flatMap { way in
                var (equal, null) = (way, way)
                equal.equal.append("\(kept) = \(stored)")
                null.keptIsNull.append("\(kept) IS NULL")
                null.storedIsNull.append("\(stored) IS NULL")
                return isRequired ? [equal] : [equal, null]
            }
        }
    }

    func isSameKey(_ a: String) -> String {
        "(\(sameKeys(a).map(\.condition).joined(separator: " OR ")))"
    }

    /// Joins the archived row `a` with the store's row `m` that has its key.
    func join(_ a: String) -> String {
        let ways = sameKeys(a).map(\.condition)
        guard ways.count > 1 else { return "JOIN \(target.sql) AS m ON \(isSameKey(a))" }
        let rows = ways.map { "SELECT * FROM \(target.sql) AS m WHERE \($0)" }
        return "CROSS JOIN LATERAL (\(rows.joined(separator: " UNION ALL "))) AS m"
    }

    /// The number of rows `m` that have the key of the archived row `a` and meet a condition.
    func rowCount(_ a: String, where condition: String) -> String {
        let ways = sameKeys(a).map { way in
            let found = (way.equal + way.storedIsNull + [condition]).joined(separator: " AND ")
            let count = "(SELECT count(*) FROM \(target.sql) AS m WHERE \(found))"
            return way.keptIsNull.isEmpty
                ? count : "CASE WHEN \(way.keptIsNull.joined(separator: " AND ")) THEN \(count) ELSE 0 END"
        }
        return "(\(ways.joined(separator: " + ")))"
    }

    // MARK: Rows

    func insertion(_ rows: ClosedRange<Int64>, besides known: [Int64] = [], isPart: Bool = false) -> SQLFragment {
        let names = written.map(\.quotedIdentifier).joined(separator: ", ")
        let values = written.map { "a.\($0.quotedIdentifier)" }.joined(separator: ", ")
        return
            "INSERT INTO \(target.sql) (\(names)) OVERRIDING SYSTEM VALUE SELECT \(values) FROM \(source) AS a WHERE "
            + isIn(rows, besides: known) + (isPart ? " RETURNING 1" : "")
    }

    /// The condition that a row of the archive is in a range, and is not one of some rows.
    func isIn(_ rows: ClosedRange<Int64>, besides known: [Int64] = [], alias: String = "a") -> SQLFragment {
        let isIn =
            "\(alias).\(rowNumber) BETWEEN " + SQLFragment.bound("\(rows.lowerBound)", "int8") + " AND "
            + .bound("\(rows.upperBound)", "int8")
        return known.isEmpty ? isIn : isIn + " AND \(alias).\(rowNumber) <> ALL (" + .list(known, "int8") + ")"
    }

    /// The condition that the store's row `m` has the archived values. A cleared reference may have its old value again.
    func isEqual(_ references: [RestorationTable]) -> String {
        let cleared = Set(references.flatMap(\.columns))
        func archived(_ column: String) -> String { "a.\(column.quotedIdentifier)" }
        func stored(_ column: String) -> String { "m.\(column.quotedIdentifier)" }
        let plain = written.filter { !cleared.contains($0) }
        var parts = [Self.same(plain.map(archived), plain.map(stored))]
        for column in written where cleared.contains(column) {
            var either = [Self.same([archived(column)], [stored(column)])]
            for table in references where table.columns.contains(column) {
                let old = table.reference(column, "old")
                either.append(
                    "EXISTS (SELECT 1 FROM \(table.source) AS r WHERE \(table.isSameKey("r")) AND "
                        + "\(Self.same([old], [stored(column)])))")
            }
            parts.append("(\(either.joined(separator: " OR ")))")
        }
        return parts.joined(separator: " AND ")
    }

    /// Finds a row of a range that the store does not have.
    func missing(_ rows: ClosedRange<Int64>, _ references: [RestorationTable]) -> SQLFragment {
        "SELECT 1 FROM \(source) AS a WHERE " + isIn(rows)
            + " AND \(rowCount("a", where: isEqual(references))) = 0 LIMIT 1"
    }

    /// The numbers of archived rows of a condition that the store has already. If the archive has more equal rows than the store, those
    /// with the highest numbers count as stored, because they are restored first.
    func stored(_ condition: SQLFragment) -> SQLFragment {
        let values = Self.text(written.map { "a.\($0.quotedIdentifier)" })
        let stored = Self.text(written.map { "m.\($0.quotedIdentifier)" })
        return
            "SELECT a.number FROM (SELECT \(rowNumber) AS number, \(values) AS v, row_number() OVER (PARTITION BY \(values) "
            + "ORDER BY \(rowNumber) DESC) AS place FROM \(source) AS a WHERE " + condition
            + ") AS a JOIN (SELECT \(stored) AS v, count(*) AS copies FROM \(target.sql) AS m GROUP BY 1) AS m USING (v) "
            + "WHERE a.place <= m.copies"
    }

    // MARK: References

    /// References of a row that are restored together.
    struct ReferenceUpdate {
        /// The relationship; nil for a column of no relationship.
        var relationship: Relationship?
        var columns: [String]
    }

    /// One update for each relationship.
    var referenceUpdates: [ReferenceUpdate] {
        var rest = columns
        var updates: [ReferenceUpdate] = []
        for relationship in relationships {
            let own = columns.filter(relationship.sourceAttributes.contains)
            guard !own.isEmpty else { continue }
            updates.append(ReferenceUpdate(relationship: relationship, columns: own))
            rest.removeAll(where: own.contains)
        }
        return updates + rest.map { ReferenceUpdate(relationship: nil, columns: [$0]) }
    }

    /// An old or new value of a reference.
    func reference(_ column: String, _ prefix: String) -> String {
        "r.\(prefix)_\(columns.prefix { $0 != column }.count + 1)"
    }

    /// Whether references were cleared and have not changed since. A reference that has its old value again is left alone.
    func isCleared(_ update: ReferenceUpdate) -> String {
        let unchanged = update.columns.map { column in
            let stored = ["m.\(column.quotedIdentifier)"]
            return
                "(\(Self.same(stored, [reference(column, "new")])) OR \(Self.same(stored, [reference(column, "old")])))"
        }
        let stored = update.columns.map { "m.\($0.quotedIdentifier)" }
        return (unchanged + ["NOT \(Self.same(stored, update.columns.map { reference($0, "old") }))"])
            .joined(separator: " AND ")
    }

    /// Whether the store has no row `m` of a reference. Only rows with a primary key have archived references.
    var isMissing: String { "num_nulls(\(key.map { "m.\($0.quotedIdentifier)" }.joined(separator: ", "))) > 0" }

    /// The condition that `s`, a row of another table of the archive, is the row of a reference.
    func isOwnRow(of rows: RestorationTable) -> String {
        zip(rows.archivedKey, archivedKey).map { "s.\($0) = r.\($1)" }.joined(separator: " AND ")
    }

    func wasCleared(_ update: ReferenceUpdate) -> String {
        "NOT " + Self.same(update.columns.map { reference($0, "old") }, update.columns.map { reference($0, "new") })
    }

    /// Restores the old values of references that have not changed since. Returns the numbers of their rows.
    func update(_ update: ReferenceUpdate, _ rows: ClosedRange<Int64>, unless blocked: SQLFragment) -> SQLFragment {
        let values = update.columns.map { "\($0.quotedIdentifier) = \(reference($0, "old"))" }.joined(separator: ", ")
        return "UPDATE \(target.sql) AS m SET \(values) FROM \(source) AS r WHERE \(isSameKey("r")) AND "
            + SQLFragment.all([isIn(rows, alias: "r"), SQLFragment(isCleared(update)), "NOT (" + blocked + ")"])
            + " RETURNING r.\(rowNumber)"
    }

    /// The numbers of the rows whose references stay cleared: the row is missing, or its reference refers to a skipped row.
    func left(
        _ update: ReferenceUpdate, _ rows: ClosedRange<Int64>, isBlocked: SQLFragment,
        unless ownRowIsSkipped: SQLFragment
    ) -> SQLFragment {
        return
            "SELECT r.\(rowNumber) AS number, \(isMissing) AS is_missing FROM \(source) AS r LEFT JOIN \(target.sql) AS m ON \(isSameKey("r")) WHERE "
            + SQLFragment.all([
                isIn(rows, alias: "r"), SQLFragment(wasCleared(update)), "NOT (" + ownRowIsSkipped + ")",
                "(\(isMissing) OR \(isCleared(update)) AND (" + isBlocked + "))",
            ])
    }
}
