import PriceStore

extension PostgresConnection {
    /// The groups of a partitioned table, partition by partition; nil: its rows must be looked at one by one.
    ///
    /// Where the bounds of a partition prove that all of its rows are expired, or that none is, they need only be counted.
    func readGroupsByPartition(_ rows: SurveyRows) throws -> [SurveyGroup]? {
        let table = rows.scope.table
        guard table.isPartitioned, rows.scope.isTable, rows.date.reading == .ordered else { return nil }
        let column = try rows.scope.attribute(rows.request.date.name, store: name).name
        let leaves = try leaves(of: table)
        let bounded = leaves.compactMap { leaf in
            leaf.rangeColumn == column ? PartitionBounds(leaf.bounds).map { (leaf, $0) } : nil
        }
        guard !bounded.isEmpty, !leaves.contains(where: \.isForeign) else { return nil }
        let proofs =
            try self.rows(
                "SELECT "
                    + .joined(
                        bounded.flatMap {
                            [
                                rows.date.isWhollyBefore(rows.cutoff, $0.1),
                                rows.date.isWhollyReadableAfter(rows.cutoff, $0.1),
                            ]
                        }, by: ", ", empty: .never)
            ).first ?? []
        var codes: [Int: Int] = [:]
        for (index, entry) in bounded.enumerated() {
            if proofs[2 * index] == "t" { codes[entry.0.number] = 7 }
            if proofs[2 * index + 1] == "t" { codes[entry.0.number] = 0 }
        }
        guard !codes.isEmpty else { return nil }
        return try leaves.flatMap { leaf in
            guard let code = codes[leaf.number] else {
                var part = rows
                part.scope = RowScope(table, source: leaf.sql)
                return try readGroups(part, notKept: .always, others: .always, among: .always)
            }
            return try [wholeGroup(leaf, code, column.quotedIdentifier, rows.date)]
        }
    }

    /// All rows of a partition as one group. The least and the greatest date come from its index, if there is one.
    private func wholeGroup(_ leaf: Leaf, _ code: Int, _ column: String, _ date: DateSQL) throws -> SurveyGroup {
        let result = try execute(
            "SELECT rows, least, most, \(date.instantSQL("least")), \(date.instantSQL("most")) FROM (SELECT "
                + "(SELECT count(*) FROM \(leaf.sql)) AS rows, (SELECT min(\(column)) FROM \(leaf.sql)) AS least, "
                + "(SELECT max(\(column)) FROM \(leaf.sql)) AS most) AS whole")
        return wholeGroup(result, code: code, date)
    }
}
