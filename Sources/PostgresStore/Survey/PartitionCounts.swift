import PriceStore

extension PostgresConnection {
    /// The groups of a partitioned table; nil: its rows must be looked at one by one.
    ///
    /// Where the bounds of partitions prove that all of their rows are expired, or that none is, they need only be counted,
    /// and the remaining ones not even that unless somebody asks for a share of all.
    func readGroupsByPartition(_ rows: SurveyRows) throws -> [SurveyGroup]? {
        let table = rows.scope.table
        guard table.isPartitioned, !table.isDistributed, rows.scope.isTable, rows.date.reading == .ordered else {
            return nil
        }
        let attribute = try rows.scope.attribute(rows.request.date.name, store: name)
        let leaves = try leaves(of: table)
        guard !leaves.contains(where: \.isForeign) else { return nil }
        let codes = try provedCodes(leaves.filter { $0.rangeColumn == attribute.name }, rows)
        guard !codes.isEmpty else { return nil }
        let (column, isIndexed) = (attribute.name.quotedIdentifier, table.dateIndex(attribute) != nil)

        var groups: [SurveyGroup] = []
        for leaf in leaves where codes[leaf.number] == nil {
            var part = rows
            part.scope = RowScope(table, source: leaf.sql)
            groups += try readGroups(part, notKept: .always, others: .always, among: .always)
        }
        let expired = leaves.filter { codes[$0.number] == 7 }
        groups.append(try wholeGroup(expired, 7, column, rows.date, isIndexed: isIndexed))
        let isExpired = groups.contains { $0.isExpired && !$0.isEmpty }
        let isCounted =
            rows.request.countsAllRows || isExpired && rows.request.countsKeptRows
            || groups.contains { $0.isDoubtful && !$0.isEmpty }
        let kept = leaves.filter { codes[$0.number] == 0 }
        groups.append(
            try wholeGroup(kept, 0, column, rows.date, isIndexed: isIndexed, isCounted: isCounted))
        return groups
    }

    /// What the bounds of partitions prove about all of their rows, as ``DateSQL/code(before:)`` says it, by number.
    private func provedCodes(_ leaves: [Leaf], _ rows: SurveyRows) throws -> [Int: Int] {
        let bounds = leaves.map { PartitionBounds($0.bounds) }
        let areExpired = try areTrue(rows.date.isWhollyBefore(rows.cutoff), of: bounds, rows.date)
        let areKept = try areTrue(rows.date.isWhollyReadableAfter(rows.cutoff), of: bounds, rows.date)
        var codes: [Int: Int] = [:]
        for (index, leaf) in leaves.enumerated() where areExpired[index] || areKept[index] {
            codes[leaf.number] = areKept[index] ? 0 : 7
        }
        return codes
    }

    /// All rows of partitions as one group, counted by one statement whose parts the server's processes may share. With an
    /// index the least and the greatest date come from there.
    private func wholeGroup(
        _ leaves: [Leaf], _ code: Int, _ column: String, _ date: DateSQL, isIndexed: Bool, isCounted: Bool = true
    ) throws -> SurveyGroup {
        guard !leaves.isEmpty else {
            return SurveyGroup(
                code: code, matches: true, isFree: true, isOwn: true, rowCount: 0, least: .null, newestValue: .null)
        }
        func each(_ columns: String) -> String {
            let parts = leaves.enumerated().map { "SELECT \($0) AS place, \(columns) FROM \($1.sql)" }
            return "(" + parts.joined(separator: " UNION ALL ") + ") AS each"
        }
        let counts = isCounted ? "(SELECT array_agg(found ORDER BY place) FROM \(each("count(*) AS found")))" : "NULL"
        let edges = "min(\(column)) AS least, max(\(column)) AS most"
        let figures =
            isIndexed
            ? "\(counts) AS counts, (SELECT min(least) FROM \(each("min(\(column)) AS least"))) AS least, "
                + "(SELECT max(most) FROM \(each("max(\(column)) AS most"))) AS most"
            : "array_agg(found ORDER BY place) AS counts, min(least) AS least, max(most) AS most FROM "
                + each("count(*) AS found, " + edges)
        let result = try execute(
            "SELECT counts, least, most, \(date.instantSQL("least")), \(date.instantSQL("most")) FROM (SELECT \(figures)) AS whole"
        )
        var group = wholeGroup(result, code: code, date)
        group.rowCount = result.rows.first?[0].map { list in
            let counts = ServerArray.elements(list).map { $0.flatMap { Int($0) } ?? 0 }
            for (leaf, count) in zip(leaves, counts) {
                catalog.leafCounts[leaf.number] = count
            }
            return counts.reduce(0, +)
        }
        return group
    }
}
