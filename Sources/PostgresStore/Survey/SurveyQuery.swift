package import PriceStore

extension PostgresDatabase {
    /// What a rule would find and delete.
    package func survey(_ request: SurveyRequest) throws(StoreError) -> Survey {
        try run("counting the rows of \(request.entity)") {
            try SurveyQuery(session: self, request: request).findings().answer
        }
    }
}

/// The answer to a survey request, from one state of the database.
struct SurveyQuery {
    let session: PostgresDatabase
    let request: SurveyRequest

    func findings() throws -> Findings {
        let table = try session.requireTable(request.entity)
        return try session.snapshot(of: table.entity.kind == .table ? table.sql : nil) {
            (session.catalog.partitions, session.catalog.chunks) = ([:], [:])
            defer { (session.catalog.partitions, session.catalog.chunks) = (nil, nil) }
            var survey = Findings()
            let scope = try session.scope(request.entity)
            if let reason = try unsupported(scope.table) {
                survey.unsupported = reason
                return survey
            }
            let rows = SurveyRows(
                session: session, scope: scope, date: try scope.date(request.date),
                filter: try session.condition(request.filter, scope), request: request)
            let guards = try session.guards(of: scope.table)
            try rows.count(guards, into: &survey)
            if let reason = try rows.compressedObstacle(survey) {
                (survey.unsupported, survey.remedy) = (reason, TimescaleSQL.decompression)
                return survey
            }
            try rows.correctEnds(into: &survey)
            try chooseMethod(rows, guards, into: &survey)
            try describe(rows, into: &survey)
            if survey.expiredAloneCount > 0, try session.relationshipsAreInPlay(request) {
                try followRelationships(rows, into: &survey)
            }
            if let thinning = request.thinningBeforeCutoff, survey.kept.byRuleCount > 0 {
                survey.kept.byTier = try session.thinnedRows(thinning, scope).counts
            }
            try survey.survey.countHeld(request) { try session.count($0) }
            return survey
        }
    }

    /// Why rows cannot be deleted from a table; nil if they can.
    private func unsupported(_ table: PostgresTable) throws -> String? {
        switch table.entity.kind {
        case .view: return "\(table.name) is a view: name the table that holds its rows"
        case .virtual: return "\(table.name) is a foreign table: its rows are on another server"
        case .table: break
        }
        let attribute = try RowScope(table).attribute(request.date.name)
        let isDate = table.type(attribute).isDate
        if isDate != (request.date.encoding == .native) {
            return isDate
                ? "\(table.name).\(attribute.name) is a date of the server's own (native), not "
                    + "\(request.date.encoding.rawValue)"
                : "\(table.name).\(attribute.name) is not a date type of the server; native needs one"
        }
        if table.localRows != nil, let foreign = try foreignPartitions(table).first,
            request.deleting.archiveRule != nil || request.deleting.rollup != nil || request.deleting.maxRows != nil
                || !table.entity.incomingRelationships.isEmpty
        {
            return
                "the partition \(foreign) of \(table.name) is a foreign table. Beside it rows are only deleted: without an archive, "
                + "candles, `max_rows` and rows that refer to them"
        }
        if table.isHypertable, table.chunkColumn == nil {
            return
                "the chunks of \(table.name) are ranges of a partitioning function, and TimescaleDB leaves out rows between "
                + "two dates where the function changes their order"
        }
        if table.isColumnar { return Self.columnar(table.name) }
        let keepers = request.ownKeepers + request.keepers.others
        let thins = keepers.contains(where: \.isThinning)
        if thins, table.isDistributed {
            return "\(table.name) is distributed, and Citus does not compare rows with those of their bucket (thin)"
        }
        if thins, table.entity.primaryKey.isEmpty {
            return "\(table.name) has no primary key, which thin needs to distinguish rows of one date"
        }
        if table.isDistributed, let key = table.entity.incomingRelationships.first {
            return
                "\(key.source) refers to \(table.name), which is distributed: what its foreign keys cascade to cannot be "
                + "predicted or counted"
        }
        if !table.entity.incomingRelationships.isEmpty,
            try !session.exists("SELECT 1 WHERE current_setting('track_counts')::bool")
        {
            return
                "the server does not count changed rows (track_counts is off), so it would be unknown how many rows a delete changes in "
                + "other tables"
        }
        if !request.keepers.holds.isEmpty,
            let reason = try ReachOfDelete(of: table, request.relationships.followed, session).changeBehind()
        {
            return "rows under a hold could change unnoticed: " + reason
        }
        let reach = try ReachOfDelete(of: table, request.relationships, session)
        if request.relationships != .deny, let circle = reach.circle { return circle.leadsBack }
        let referring = try reach.keys.compactMap { try session.table($0.source) }
        return try session.rowSecurityObstacle([table] + referring) ?? hypertableObstacle(table, reach)
            ?? session.identityObstacle(table)
    }

    /// Why the effects of foreign keys on the rows of a hypertable cannot be determined; nil if they can.
    private func hypertableObstacle(_ table: PostgresTable, _ reach: ReachOfDelete) throws -> String? {
        for key in reach.keys {
            guard let source = try session.table(key.source), source.isHypertable else { continue }
            guard [.noAction, .restrict].contains(key.deleteRule) else {
                return
                    "\(source.name), a hypertable, refers to \(key.destination): what its foreign key deletes or changes there "
                    + "cannot be counted, and continuous aggregates may miss it. Declare the key without an action, and "
                    + "give \(source.name) a rule of its own"
            }
        }
        guard !reach.keys.isEmpty else { return nil }
        for name in Set(reach.keys.map(\.source) + [table.name]).sorted() {
            guard let part = try session.table(name), part.isHypertable,
                try session.exists(TimescaleSQL.compressedChunks(part))
            else { continue }
            return "\(name) has compressed chunks, and the server does not say which of their rows foreign keys concern"
        }
        return nil
    }

    private static func columnar(_ name: String) -> String {
        "\(name) is stored by columns (columnar), and the server cannot delete single rows of it: divide it into partitions by "
            + "date, which can be dropped"
    }

    /// Describes the parts of a table: what is dropped, what cannot be deleted, and what the server's own jobs do with the rows.
    private func describe(_ rows: SurveyRows, into survey: inout Findings) throws {
        let table = rows.scope.table
        if table.localRows != nil {
            let names = try foreignPartitions(table)
            survey.notes.append(
                "\(names.count.counted("foreign partition", "is", "are")) left out (\(names.joined(separator: ", "))): give "
                    + "their server a policy of its own")
        }
        // Chunks, and what aggregates lack, are those of the table, also beside pending rows.
        guard rows.scope.isTable || table.isHypertable else { return }
        var rows = rows
        rows.scope = RowScope(table)
        let aggregates = Aggregates(session: session, table: table)
        if table.isHypertable {
            survey.notes = try aggregates.notes(rows.date) + aggregates.serverRetention(rows)
        } else if table.isPartitioned {
            survey.notes = try detached(table)
        }
        guard survey.expiredAloneCount > 0 else { return }
        if table.isHypertable {
            try judgeChunks(rows, into: &survey)
            if survey.unsupported == nil {
                survey.losses.aggregates = try aggregates.loss(rows, expiredCount: survey.expiredAloneCount)
            }
        } else if table.isPartitioned, rows.date.reading == .ordered {
            try judgePartitions(rows, into: &survey)
        }
    }

    private func foreignPartitions(_ table: PostgresTable) throws -> [String] {
        try session.leaves(of: table).filter(\.isForeign).map(\.name)
    }

    /// Sentences that name the partitions whose concurrent detachment was interrupted: no statement on the table sees their rows.
    private func detached(_ table: PostgresTable) throws -> [String] {
        try session.rows(
            "SELECT n.nspname, c.relname, pn.nspname AS parent_schema, p.relname AS parent_name FROM pg_inherits i "
                + "JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
                + "JOIN pg_class p ON p.oid = i.inhparent JOIN pg_namespace pn ON pn.oid = p.relnamespace "
                + "WHERE i.inhdetachpending AND i.inhparent IN (SELECT relid FROM pg_partition_tree(\(table.oid))) ORDER BY 2"
        ).map { row in
            "the partition \(try row.text("relname")) is not wholly detached, and its rows are not seen: ALTER TABLE "
                + "\(try row.relation("parent_schema", "parent_name")) DETACH PARTITION \(try row.relation("nspname", "relname")) FINALIZE"
        }
    }

    /// Describes the chunks to drop, and the compressed or frozen chunks whose rows are deleted.
    private func judgeChunks(_ rows: SurveyRows, into survey: inout Findings) throws {
        let table = rows.scope.table
        let chunks = try Chunks(of: table, rows.date, session)
        let deletion = try session.condition(rows.request.expired, rows.scope)
        var frozen = chunks.all.filter(\.isFrozen)
        if !frozen.isEmpty, rows.isByChunks {
            let areReached = try rows.date.areTrue(
                rows.date.mayBeBefore(rows.cutoff), of: frozen.map(\.bounds), session)
            frozen = zip(frozen, areReached).filter { $0.bounds == nil || $1 }.map(\.0)
        }
        if !frozen.isEmpty {
            let count = try session.count(
                "SELECT count(*) FROM \(rows.scope.from)"
                    + SQLFragment.all([deletion, RowScope.isIn(frozen.map(\.oid))]).whereClause)
            // Conditions on the date may exclude chunks; others do not.
            if count > 0 || rows.filter == .always {
                let names = "such as " + frozen.prefix(3).map(\.name).joined(separator: ", ")
                survey.unsupported =
                    count > 0
                    ? "\(count.counted("expired row", "is", "are")) in frozen chunks (\(names)), which the server does not change"
                    : "the server refuses a delete that reaches frozen chunks (\(names)), although they have no expired rows"
                survey.remedy =
                    "unfreeze them with _timescaledb_functions.unfreeze_chunk, or leave their rows out with `where`"
                return
            }
        }
        var dropped: [Leaf] = []
        if survey.method == .partitions {
            dropped = try chunks.expired(before: rows.cutoff).map { chunks.all[$0] }
            tellDropped(dropped.count, of: "chunk", into: &survey)
        }
        let parts = try CompressedChunks(session: session, scope: rows.scope, date: rows.date).parts(
            before: rows.cutoff, besides: Set(dropped.map(\.oid)))
        if let excess = parts.excess, let limit = parts.limit {
            survey.unsupported =
                "the server would decompress \(excess) rows of a compressed chunk in one statement, and "
                + "timescaledb.max_tuples_decompressed_per_dml_transaction allows \(limit)"
            let setting = "ALTER ROLE … SET timescaledb.max_tuples_decompressed_per_dml_transaction = \(excess)"
            survey.remedy = "raise that limit for the user of the job (\(setting))"
            if rows.isByChunks { survey.remedy? += ", or choose a cutoff at the end of a chunk (`align`)" }
        }
    }

    private func tellDropped(_ count: Int, of part: String, into survey: inout Findings) {
        guard count > 0 else { return }
        survey.reason =
            "\(count.counted(part, "is", "are")) dropped, and rows outside \(count == 1 ? "it" : "them") are deleted one by one"
    }

    /// Describes the partitions to drop, and the columnar ones whose rows would have to be deleted.
    private func judgePartitions(_ rows: SurveyRows, into survey: inout Findings) throws {
        let table = rows.scope.table
        let dropped =
            survey.method == .partitions
            ? try session.expired(session.partitions(of: table), rows.request.expired.dateRange) : []
        tellDropped(dropped.count, of: "partition", into: &survey)
        for leaf in try session.leaves(of: table)
        where leaf.isColumnar && !dropped.contains(where: { $0.leaves.contains(leaf) }) {
            let part = RowScope(table, source: leaf.sql)
            let found = try session.count(
                "SELECT count(*) FROM \(part.from)" + session.condition(rows.request.expired, part).whereClause)
            if found > 0 {
                survey.unsupported =
                    "\(found.counted("expired row", "is", "are")) in \(leaf.name): " + Self.columnar(leaf.name)
                return
            }
        }
    }

    private func chooseMethod(_ rows: SurveyRows, _ guards: TableGuards?, into survey: inout Findings) throws {
        let table = rows.scope.table
        let index = rows.date.reading == .ordered ? table.dateIndex(request.date) : nil
        // Blocks can be read only in real tables, one after another, each by its own name.
        let obstacle =
            rows.request.deleting.rollup != nil
            ? "rows become candles in the order of their dates" : table.windowObstacle ?? guards?.leafObstacle
        survey.methodObstacles[.windows] = obstacle
        survey.methodObstacles[.partitions] = try partitionObstacle(rows, guards)
        let byBlocks: [DeleteMethod] = obstacle == nil ? [.windows] : []
        let byDate: [DeleteMethod] = rows.date.reading == .ordered && table.localRows == nil ? [.range] : []
        var possible = index == nil ? byBlocks + byDate : byDate + byBlocks
        if possible.isEmpty, table.localRows != nil, let obstacle {
            survey.unsupported =
                "\(table.name) has foreign partitions, and the others cannot be read one by one, because \(obstacle)"
        }
        if possible.isEmpty { possible = [.whole] }
        survey.index.isInDateOrder = index != nil
        let keepsRows = !(request.ownKeepers + request.keepers.others).isEmpty
        survey.findsKeptRowsAgain = keepsRows && table.entity.primaryKey.isEmpty
        if survey.findsKeptRowsAgain { survey.firstBatchRows = Findings.manyRows }
        if table.isDistributed { survey.firstBatchRows = try session.isInUseByOthers() ? Findings.manyRows : 2_000_000 }
        survey.index.name = index?.name ?? (rows.date.reading == .ordered ? table.blockIndex(request.date)?.name : nil)
        if survey.methodObstacles[.partitions] == nil { possible.insert(.partitions, at: 0) }
        survey.possibleMethods = possible
        survey.method = possible[0]
        guard survey.expiredAloneCount > 0 else { return }
        if guards != nil, let obstacle = survey.methodObstacles[.partitions] {
            survey.reason = "nothing is dropped as a whole, because \(obstacle)"
        }
    }
}

extension SurveyRequest {
    /// The condition that no earlier rule deletes a row. Such rows are counted for that rule.
    func notPreceding(_ scope: RowScope, _ session: PostgresDatabase) throws -> SQLFragment {
        .all(
            try preceding.compactMap { earlier in
                let (own, predicate) = (try session.scope(earlier.fetchRequest.entity), earlier.fetchRequest.predicate)
                guard let isRow = try session.isRow(of: own.table, among: scope.table),
                    isRow == .always
                        || predicate.allAttributeNames.allSatisfy({ scope.table.entity.attribute(named: $0) != nil })
                else { return nil }
                return "(" + .all([isRow, try session.condition(predicate, own)]) + ") IS NOT TRUE"
            })
    }
}

/// The rows that a survey reads, as pieces of SQL.
struct SurveyRows {
    let session: PostgresDatabase
    var scope: RowScope
    let date: DateSQL
    let filter: SQLFragment
    let request: SurveyRequest

    var cutoff: Instant { request.cutoff }

    /// Whether the date of the rule is the column that divides the table into chunks.
    var isByChunks: Bool {
        scope.table.chunkColumn.map { scope.table.entity.attribute(named: request.date.name)?.name == $0 } ?? false
    }

    /// The rows for a FROM clause, with the parsed parts of their dates if needed.
    var from: SQLFragment {
        date.reading == .parsed
            ? "\(scope.from) LEFT JOIN LATERAL " + CivilSQL(date).query + " AS span ON TRUE" : SQLFragment(scope.from)
    }
    /// The order of the rows: by the column, or by the start of its span.
    var order: String { date.reading == .parsed ? "span.s" : date.column }
}
