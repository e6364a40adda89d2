import PriceStore

extension SurveyRows {
    /// The groups of a partitioned table; nil if its rows must be read one by one.
    ///
    /// If the bounds of a partition prove that all of its rows are expired, or that none is, its rows need only be counted. Rows that stay
    /// are counted only if a share of all rows is requested.
    func readGroupsByPartition() throws -> [SurveyGroup]? {
        let table = scope.table
        guard table.isPartitioned, !table.isDistributed, scope.isTable, date.reading == .ordered else {
            return nil
        }
        let attribute = try scope.attribute(request.date.name)
        let leaves = try session.leaves(of: table)
        let partitions = try session.partitions(of: table)
        let codes = try provedCodes(leaves, leaves.map { partitions.bounds(of: $0, by: attribute.name) })
        guard !codes.isEmpty else { return nil }
        let (column, isIndexed) = (attribute.name.quotedIdentifier, table.dateIndex(request.date) != nil)

        var groups: [SurveyGroup] = []
        for leaf in leaves where codes[leaf.oid] == nil {
            var part = self
            part.scope = RowScope(table, source: leaf.sql)
            groups += try part.readGroups(notKept: .always, others: .always, among: .always)
        }
        let expired = leaves.filter { codes[$0.oid] == 7 }
        groups.append(try wholeGroup(expired, 7, column, isIndexed: isIndexed))
        let found = groups.filter { !$0.isEmpty }
        let isCounted =
            request.counts.all || found.contains(where: \.isExpired) && request.counts.kept
            || found.contains(where: \.isDoubtful)
        let kept = leaves.filter { codes[$0.oid] == 0 }
        groups.append(try wholeGroup(kept, 0, column, isIndexed: isIndexed, isCounted: isCounted))
        return groups
    }

    /// The code of ``DateSQL/codes(before:)`` that the bounds of a partition prove for all of its rows, by `oid`.
    private func provedCodes(_ leaves: [Leaf], _ bounds: [PartitionBounds?]) throws -> [Int: Int] {
        let areExpired = try date.areTrue(date.isWhollyBefore(cutoff), of: bounds, session)
        let areKept = try date.areTrue(date.isWhollyReadableAfter(cutoff), of: bounds, session)
        var codes: [Int: Int] = [:]
        for (index, leaf) in leaves.enumerated() where areExpired[index] || areKept[index] {
            codes[leaf.oid] = areKept[index] ? 0 : 7
        }
        return codes
    }

    /// All rows of some partitions as one group. The server may count the parts of the statement in parallel. With an index, it gives the
    /// least and the greatest date.
    private func wholeGroup(
        _ leaves: [Leaf], _ code: Int, _ column: String, isIndexed: Bool, isCounted: Bool = true
    ) throws -> SurveyGroup {
        guard !leaves.isEmpty else { return SurveyGroup(code: code, rowCount: 0) }
        func each(_ columns: String) -> String {
            let parts = leaves.map { "SELECT \(columns) FROM \($0.sql)" }
            return "(" + parts.joined(separator: " UNION ALL ") + ") AS each"
        }
        let count = isCounted ? "(SELECT sum(found)::int8 FROM \(each("count(*) AS found")))" : "NULL"
        let edges = "min(\(column)) AS least, max(\(column)) AS most"
        let figures =
            isIndexed
            ? "\(count) AS rows, (SELECT min(least) FROM \(each("min(\(column)) AS least"))) AS least, "
                + "(SELECT max(most) FROM \(each("max(\(column)) AS most"))) AS most"
            : "sum(found)::int8 AS rows, min(least) AS least, max(most) AS most FROM "
                + each("count(*) AS found, " + edges)
        let row = try session.onlyRow("SELECT *, \(ends) FROM (SELECT \(figures)) AS whole")
        return try wholeGroup(row, code: code, rowCount: row.optionalInt("rows"))
    }
}
