import PriceStore

/// The values of a distributed table's column that one group of shards holds.
struct ShardGroup: Hashable {
    /// The number of the group's shard in the table.
    let shard: Int64
    /// The condition that rows are in it.
    let condition: SQLFragment
}

extension BatchDelete {
    /// Deletes rows of a distributed table, one group of shards after another and in each the oldest first.
    ///
    /// Each statement names the values of the distribution column that are in one shard, so that the coordinator sends it
    /// there alone, and a batch is a transaction of one server. Only values that are there at the first batch are gone
    /// through; rows of others are found when those that are left are counted.
    mutating func shardByShard() throws -> BatchContinuation? {
        if request.continuation == nil {
            connection.shardGroups[scope.table.number] = try connection.readShardGroups(scope, condition)
        }
        let groups = connection.shardGroups[scope.table.number] ?? []
        var place = request.continuation?.position ?? []
        guard !groups.isEmpty else {
            return try inDateOrder(condition, from: place).map { BatchContinuation(position: $0) }
        }
        var index = 0
        if case .integer(let shard)? = place.first {
            index = groups.firstIndex { $0.shard >= shard } ?? groups.count
            place.removeFirst()
        }
        guard index < groups.count else { return nil }
        if let next = try inDateOrder(.all([condition, groups[index].condition]), from: place) {
            return BatchContinuation(position: [.integer(groups[index].shard)] + next)
        }
        guard index + 1 < groups.count else { return nil }
        return BatchContinuation(position: [.integer(groups[index + 1].shard)])
    }
}

extension PostgresConnection {
    /// The groups of shards that hold rows of a condition; empty: all are to be gone through at once, as in a table that
    /// is not spread by the values of a column, or by too many.
    func readShardGroups(_ scope: RowScope, _ condition: SQLFragment) throws -> [ShardGroup] {
        let limit = 10_000
        guard let name = try rows(CitusSQL.distributionColumn(scope.table.number)).first?[0],
            let attribute = scope.table.entity.attribute(named: name), let type = scope.table.typeNames[attribute.name]
        else { return [] }
        let column = scope.column(attribute.name)
        let values = try rows(
            "SELECT DISTINCT \(column)::text FROM \(scope.from)" + condition.whereClause + " LIMIT \(limit)")
        guard values.count < limit else { return [] }
        var groups: [(shard: Int64, values: [String?])] = []
        for row in try rows(CitusSQL.shards(scope.table.number, values: values.map { $0[0] }, type: type)) {
            guard let shard = row[0].flatMap({ Int64($0) }) else { return [] }
            if groups.last?.shard != shard { groups.append((shard, [])) }
            groups[groups.count - 1].values.append(row[1])
        }
        return groups.map { shard, values in
            ShardGroup(
                shard: shard,
                condition: "\(column) = ANY (" + .bound(ServerArray.text(values), "\(type)[]") + ")")
        }
    }
}
