@preconcurrency import Glibc
import PriceStore

/// The rows of a rule, counted by kind.
extension SurveyRows {
    /// Counts the rows.
    ///
    /// One pass assigns every row to one of a few groups: readable or why not, expired, matching the filter, kept, another rule's. With a
    /// date index or a BRIN index, only expired and unreadable rows are read; if all rows must be counted, the server counts them.
    func count(_ guards: TableGuards?, into survey: inout Findings) throws {
        let notKept = try request.notSpared.map { try session.condition($0, scope) } ?? .always
        let others = try request.notPreceding(scope, session)
        if filter == .always, notKept == .always, others == .always, let guards, guards.countObstacle == nil,
            let groups = try readGroupsByPartition()
        {
            return try fill(&survey, from: groups)
        }
        let isIndexed = scope.isTable && scope.table.dateIndex(request.date) != nil
        let isPartial = (isIndexed || isInBlocks) && date.reading == .ordered
        let isExact = [.timestamptz, .integer].contains(date.type)
        if isPartial, isIndexed, isExact, filter == .always, notKept == .always, others == .always {
            // The index counts the certain rows. Only the doubtful ones are read.
            let doubtful = try readGroups(notKept: notKept, others: others, among: date.mayBeUnreadable)
                .filter { !$0.isReadable }
            let countsChunks = isByChunks && guards?.countObstacle == nil
            let expired = try countsChunks ? expiredChunks() : expiredGroup()
            try fill(&survey, from: doubtful + [expired])
        } else {
            let groups = try readGroups(
                notKept: notKept, others: others,
                among: isPartial ? date.mayMatter(before: cutoff) : .always)
            try fill(&survey, from: groups)
        }
        if isPartial { try completePartial(&survey) }
    }

    /// Whether only a BRIN index finds the dates. It gives them in no order.
    private var isInBlocks: Bool { scope.isTable && scope.table.blockIndex(request.date) != nil }

    /// Corrects the ends of the rows. Local times that a clock change skips are later than those after them, so an end among them is
    /// searched for again.
    func correctEnds(into survey: inout Findings) throws {
        guard date.type == .timestamp, !date.date.zone.isUTC else { return }
        func end(_ instant: Instant?, _ condition: @autoclosure () throws -> SQLFragment, newest: Bool) throws
            -> Instant?
        {
            guard let instant, let skip = date.date.zone.skip(at: instant) else { return instant }
            let times = newest ? skip : skip.upperBound..<2 * skip.upperBound - skip.lowerBound
            func isBeside(_ sign: String, _ seconds: Int64) -> SQLFragment {
                "\(date.column) \(sign) " + .bound(Instant(unixSeconds: seconds).serverText, "timestamp")
            }
            let other = try edge(
                .all([condition(), isBeside(">=", times.lowerBound), isBeside("<", times.upperBound)]),
                ascending: !newest)
            let ends = [instant, other].compactMap(\.self)
            return newest ? ends.max() : ends.min()
        }
        let readable = date.readable()
        survey.dates.oldest = try end(survey.dates.oldest, .all([readable, filter]), newest: false)
        survey.dates.newest = try end(survey.dates.newest, .all([readable, filter]), newest: true)
        survey.dates.newestOfEntity = try end(survey.dates.newestOfEntity, readable, newest: true)
        survey.dates.newestExpired = try end(
            survey.dates.newestExpired,
            .all([session.condition(request.expired, scope), request.notPreceding(scope, session)]),
            newest: true)
    }

    /// The rows before the cutoff as one group, counted from the index alone if the table is vacuumed.
    ///
    /// - Parameters:
    ///   - part: the condition of the rows to count.
    ///   - rowCount: the number of the other rows.
    ///   - ends: tables with the first and the last of the other rows; empty if unknown.
    private func expiredGroup(
        counting part: SQLFragment = .always, besides rowCount: Int = 0, in ends: [Leaf] = []
    ) throws -> SurveyGroup {
        let expired = date.readable(before: cutoff)
        func ask(_ what: String, _ condition: SQLFragment) -> SQLFragment {
            "SELECT \(what) FROM \(scope.from)" + condition.whereClause
        }
        func edge(_ function: String) -> SQLFragment {
            let edge = "\(function)(\(date.column))"
            guard !ends.isEmpty else { return ask(edge, expired) }
            let others = ends.map { " UNION ALL SELECT \(edge) FROM \($0.sql) AS \(RowScope.alias)" }.joined()
            return "SELECT \(function)(edge) FROM (" + ask("\(edge) AS edge", .all([expired, part]))
                + "\(others)) AS edges"
        }
        let figures: [NamedSQL] = [
            ("rows", "(" + ask("count(*) + \(rowCount)", .all([expired, part])) + ")"),
            ("least", "(" + edge("min") + ")"), ("most", "(" + edge("max") + ")"),
        ]
        let query = "SELECT *, \(self.ends) FROM (SELECT " + SQLFragment.columns(figures) + ") AS expired"
        let row = try session.onlyRow(query)
        return try wholeGroup(row, code: 7, rowCount: row.int("rows"))
    }

    /// The same for a hypertable. All rows of wholly expired chunks are counted, table by table.
    private func expiredChunks() throws -> SurveyGroup {
        let chunks = try Chunks(of: scope.table, date, session)
        let places = try chunks.expired(before: cutoff)
        let dropped = places.map { chunks.all[$0] }
        var counts: [Int: Int] = [:]
        for start in stride(from: 0, to: dropped.count, by: 500) {
            let portion = dropped[start..<min(start + 500, dropped.count)]
            let parts = portion.map { "SELECT \($0.oid) AS chunk, count(*) AS found FROM \($0.sql)" }
            for row in try session.rows(SQLFragment(parts.joined(separator: " UNION ALL "))) {
                counts[try row.int("chunk")] = try row.int("found")
            }
        }
        let whole = counts.values.reduce(0, +)
        // The first and the last date need not be searched for in all chunks.
        let filled = dropped.filter { counts[$0.oid] != 0 }
        let ends = filled.filter { [filled.first?.bounds, filled.last?.bounds].contains($0.bounds) }
        let (others, areOldest) = try chunks.outside(places)
        return try expiredGroup(counting: others, besides: whole, in: areOldest ? ends : [])
    }

    /// The instants of the columns `least` and `most`, for ``wholeGroup(_:code:rowCount:)``.
    var ends: String { "\(date.instantSQL("least")) AS oldest, \(date.instantSQL("most")) AS newest" }

    /// A group of rows of one kind, from a row with their least and greatest value and the instants of both.
    func wholeGroup(_ row: ServerRow, code: Int, rowCount: Int?) throws -> SurveyGroup {
        SurveyGroup(
            code: code, rowCount: rowCount, least: try row.value("least"), newestValue: try row.value("most"),
            oldest: date.instant(try row.value("oldest")),
            newest: date.instant(try row.value("newest")))
    }

    /// The rows, grouped by the code of their date and by the conditions that they meet.
    ///
    /// The server groups by conditions and not by the code. It would expect a group for each value of an expression over a column, and
    /// would not read the table in parallel.
    func readGroups(notKept: SQLFragment, others: SQLFragment, among: SQLFragment) throws -> [SurveyGroup] {
        let candidate =
            date.reading == .parsed
            ? "span.s"
            : date.reading == .never ? "NULL::int8" : date.newestCandidate
        let order = date.reading == .never ? "NULL::int8" : self.order
        let codes = date.codes(before: cutoff)
        let flags = [filter, notKept, others]
        var conditions: [SQLFragment] = []
        func name(_ condition: SQLFragment) -> String {
            guard condition != .always else { return "TRUE" }
            conditions.append("(" + condition + ") IS TRUE AS c\(conditions.count)")
            return "c\(conditions.count - 1)"
        }
        let code = DateSQL.code(codes.map { (SQLFragment(name($0.condition)), $0.code) })
        let names = zip(flags, ["matches", "free", "own"]).map { "\(name($0)) AS \($1)" }.joined(separator: ", ")
        let kinds =
            "SELECT " + .joined(conditions, by: ", ")
            + ", count(*) AS rows, min(\(order)) AS least, max(\(order)) AS most, max(" + candidate
            + ") AS candidate FROM " + from + among.whereClause
            + " GROUP BY \(conditions.indices.map { "\($0 + 1)" }.joined(separator: ", "))"
        let query =
            "SELECT " + code + " AS code, \(names), sum(rows)::int8 AS rows, min(least) AS least, max(most) AS most, "
            + "max(candidate) AS candidate FROM (" + kinds + ") AS kinds GROUP BY 1, 2, 3, 4"
        let value = date.instantSQL
        let result = try session.execute(
            "SELECT *, CASE WHEN code IN (0, 5, 6, 7) THEN \(value("least")) END AS oldest, "
                + "CASE WHEN code IN (0, 5, 6, 7) THEN \(value("most")) END AS newest FROM (" + query + ") AS groups")
        return try result.rows.map { row in
            SurveyGroup(
                code: try row.int("code"), matches: try row.isTrue("matches"), isFree: try row.isTrue("free"),
                isOwn: try row.isTrue("own"), rowCount: try row.int("rows"), least: try row.value("least"),
                newestValue: try row.value("candidate"), oldest: date.instant(try row.value("oldest")),
                newest: date.instant(try row.value("newest")))
        }
    }

    private func fill(_ survey: inout Findings, from groups: [SurveyGroup]) throws {
        let groups = groups.filter { !$0.isEmpty }
        func sum(_ isIncluded: (SurveyGroup) -> Bool) -> Int {
            groups.filter(isIncluded).compactMap(\.rowCount).reduce(0, +)
        }
        let matching = groups.filter(\.matches)
        let isCounted = !groups.contains { $0.rowCount == nil }
        survey.rowCount = isCounted ? sum(\.matches) : nil
        survey.readableCount = isCounted ? sum { $0.matches && $0.isReadable } : nil
        let inRange = sum { $0.matches && $0.isExpired }
        survey.expiredAloneCount = sum { $0.matches && $0.isExpired && $0.isFree }
        survey.expiredCount = sum { $0.matches && $0.isExpired && $0.isFree && $0.isOwn }
        survey.kept.byRuleCount = inRange - survey.expiredAloneCount
        survey.leavesReadableRows =
            groups.contains { $0.isReadable && !($0.matches && $0.isExpired && $0.isFree) }
        survey.dates.oldest = matching.filter(\.isReadable).compactMap(\.oldest).min()
        survey.dates.newest = matching.filter(\.isReadable).compactMap(\.newest).max()
        survey.dates.newestOfEntity = groups.filter(\.isReadable).compactMap(\.newest).max()
        let gone = matching.filter { $0.isExpired && $0.isFree && $0.isOwn }
        survey.dates.newestExpired = gone.compactMap(\.newest).max()
        if gone.count == 1, let low = gone[0].least.serverText, let high = gone[0].newestValue.serverText {
            survey.ends = DateEnds(low: low, high: high, rowCount: survey.expiredCount)
        }
        survey.dates.newestValue =
            date.type.isDate
            ? groups.compactMap(\.newest).max().map(text) : newestValue(groups.map(\.newestValue))
        for (index, reason) in DateSQL.unreadableReasons.enumerated() {
            let number = sum { $0.matches && $0.code == index + 1 }
            guard number > 0 else { continue }
            let least = matching.filter { $0.code == index + 1 }.map(\.least).first { !$0.isNull }
            let value = reason == .null ? .null : try least.map(example) ?? readExample(index + 1)
            survey.unreadable.append(.init(reason: reason, rowCount: number, example: value))
        }
    }

    /// Adds the rows that a partial count leaves out: those that are neither expired nor unreadable.
    private func completePartial(_ survey: inout Findings) throws {
        let readable = date.readable()
        // The groups contain the rows before the cutoff.
        let rest = date.readable(from: cutoff)
        let newestLeft = try edge(rest)
        survey.dates.newestOfEntity = newestLeft ?? survey.dates.newestOfEntity
        survey.dates.oldest = try survey.dates.oldest ?? edge(.all([readable, filter]), ascending: true)
        survey.dates.newest =
            filter == .always
            ? survey.dates.newestOfEntity : try edge(.all([rest, filter])) ?? survey.dates.newest
        if date.type.isDate {
            let isReadable = filter == .always && survey.unreadable.allSatisfy { $0.reason == .null }
            let newest = isReadable ? survey.dates.newestOfEntity : try edge(date.isFinite)
            survey.dates.newestValue = newest.map(text)
        }
        if date.date.encoding.isNumeric {
            // An index has NULL first in this order.
            let isThere = SQLFragment("\(date.column) IS NOT NULL")
            survey.dates.newestValue = try last(.all([isThere, date.isCandidate]))?.value(at: 0)
        }
        // It may begin before the cutoff: a day that has not ended then.
        if newestLeft != nil { survey.leavesReadableRows = true }
        let isExpired = survey.expiredAloneCount + survey.kept.byRuleCount > 0
        // Doubtful values are judged by their share of all rows.
        let isDoubtful = survey.unreadable.contains { [.wrongType, .notADate].contains($0.reason) }
        guard isDoubtful || request.counts.all || isExpired && request.counts.kept else {
            survey.rowCount = nil
            survey.readableCount = nil
            return
        }
        let rowCount = try session.count("SELECT count(*) FROM \(scope.from)" + filter.whereClause)
        survey.rowCount = rowCount
        survey.readableCount = rowCount - survey.unreadableCount
    }

    /// The oldest or newest date of some rows, by the index.
    private func edge(_ condition: SQLFragment, ascending: Bool = false) throws -> Instant? {
        try last(condition, ascending: ascending).flatMap { date.instant(try $0.value("edge")) }
    }

    /// The last value of some rows, and its instant as `edge`, by the index. A BRIN index gives no order, so the last days are looked at
    /// first.
    private func last(_ condition: SQLFragment, ascending: Bool = false) throws -> ServerRow? {
        func query(_ condition: SQLFragment) -> SQLFragment {
            "SELECT found, \(date.instantSQL("found")) AS edge FROM (SELECT \(date.column) AS found FROM "
                + "\(scope.from)" + condition.whereClause
                + " ORDER BY 1 \(ascending ? "ASC" : "DESC") LIMIT 1) AS edges"
        }
        for days in isInBlocks ? [1, 30, 1000] as [Int64] : [] {
            let (now, span) = (Instant(unixSeconds: Int64(time(nil))), days * 86_400_000_000)
            let near =
                ascending
                ? date.readable(before: cutoff.advanced(byMicroseconds: span))
                : date.readable(from: now.advanced(byMicroseconds: -span))
            if let found = try session.row(query(.all([condition, near]))) { return found }
        }
        return try session.row(query(condition))
    }

    private func text(of instant: Instant) -> StoreValue {
        date.date.encoding.value(of: instant, zone: date.date.zone)
    }

    private func newestValue(_ values: [StoreValue]) -> StoreValue? {
        values.compactMap { CandleNumber($0) }.max().map { example($0.storeValue) }
    }

    /// A value as the column holds it. For texts the instant was compared.
    private func example(_ value: StoreValue) -> StoreValue {
        guard date.reading == .parsed, case .integer(let start) = value else { return value }
        return text(of: Instant(microseconds: start))
    }

    private func readExample(_ code: Int) throws -> StoreValue {
        try session.onlyRow(
            "SELECT \(date.column) FROM " + from
                + SQLFragment.all([filter, DateSQL.code(date.codes(before: cutoff)) + " = \(code)"]).whereClause
                + " LIMIT 1"
        ).value(at: 0)
    }
}

/// Rows of one kind, counted.
struct SurveyGroup {
    var code: Int
    var matches = true
    /// Whether `keepLast` does not spare them.
    var isFree = true
    /// Whether no earlier rule deletes them.
    var isOwn = true
    /// Nil if not counted. Such a group has all rows of some partitions, and its dates come from their indexes.
    var rowCount: Int?
    var least = StoreValue.null
    var newestValue = StoreValue.null
    var oldest: Instant?
    var newest: Instant?

    var isReadable: Bool { code == 0 || code == 7 }
    var isExpired: Bool { code == 7 }
    var isEmpty: Bool { rowCount.map { $0 == 0 } ?? least.isNull }
    /// Whether its values do not have the format.
    var isDoubtful: Bool { code == 2 || code == 3 }
}

extension DateSQL {
    /// The value for ``instant(_:)``, from a value of the column or of ``SurveyRows/order``.
    func instantSQL(_ value: String) -> String {
        guard reading == .ordered, type.isDate else { return value }
        return "(extract(epoch FROM \(value)) * 1000000)::int8"
    }

    /// The first instant of a value of ``instantSQL(_:)``.
    func instant(_ value: StoreValue) -> Instant? {
        switch (reading, value) {
        case (.parsed, .integer(let start)): return Instant(microseconds: start)
        case (.ordered, .integer(let microseconds)) where self.type == .timestamptz:
            return Instant(microseconds: microseconds)
        case (.ordered, .integer(let microseconds)) where self.type.isDate:
            // The server counts local microseconds.
            return date.zone.instant(
                of: Instant(microseconds: microseconds).civil, self.type == .date ? .first : .last)
        case (.ordered, _): return date.encoding.read(value, zone: date.zone).start
        default: return nil
        }
    }

    /// The rows that may be unreadable or before an instant, for an index; it may include others. Only for ordered columns.
    func mayMatter(before cutoff: Instant) -> SQLFragment { .any([mayBeUnreadable, wideBefore(cutoff)]) }

    /// The rows whose date may be invalid, for an index; it may include others. Only for ordered columns.
    var mayBeUnreadable: SQLFragment {
        var parts = ["\(column) IS NULL", bound(.less, .start(date.earliest))]
        if type.isDate { parts.append("\(column) >= \(Self.endOfDates)") }
        if type == .real || type == .numeric { parts.append("\(column) >= 'Infinity'") }
        if let latest = date.latest { parts.append(bound(.greater, .end(latest))) }
        return .any(parts + untrusted.map { "\(column) = " + $0 })
    }

    private func wideBefore(_ cutoff: Instant) -> SQLFragment {
        guard type == .numeric else {
            // A hole in the local times before it matters only to the exact condition.
            return type == .timestamp
                ? "\(column) < "
                    + .bound(
                        Instant(microseconds: LocalRange(before: cutoff, zone: date.zone).end).serverText, "timestamp")
                : bound(.less, .cutoff(cutoff))
        }
        let number = date.encoding.cutoffBound(cutoff)
        return "\(column) <= greatest(" + .bound("\(number.integer)", "numeric") + ", "
            + .bound(number.real.serverText, "float8") + "::numeric)"
    }
}
