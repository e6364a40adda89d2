public import PriceStore

extension PostgresStore {
    /// What a rule would find and delete.
    public func survey(_ request: SurveyRequest) throws(StoreError) -> Survey {
        try run("counting the rows of \(request.entity)") { try findings(of: request).survey }
    }

    /// Answers a survey request from one state of the database.
    func findings(of request: SurveyRequest) throws -> Findings {
        let findings = try snapshot {
            catalog.leaves = [:]
            defer { catalog.leaves = nil }
            var survey = Findings()
            let scope = try scope(request.entity)
            if let reason = try unsupported(scope.table, request) {
                survey.unsupported = reason
                return survey
            }
            let rows = SurveyRows(
                scope: scope, date: try scope.date(request.date, store: name),
                filter: try condition(request.filter, scope), request: request)
            if let reason = try rowSecurityObstacle(rows) {
                survey.unsupported = reason
                return survey
            }
            try beginKnowing()
            let guards = try guards(of: scope.table)
            try count(rows, guards, into: &survey)
            try chooseTechnique(rows, guards, into: &survey)
            if survey.expiredAloneCount > 0 { try note(survey.expiredAloneCount, rows) }
            if survey.expiredAloneCount > 0, try relationshipsAreInPlay(request) {
                try foresee(request, rows, into: &survey)
            }
            return survey
        }
        surveys[request] = findings
        return findings
    }

    /// Why rows cannot be deleted from a table, or nil.
    private func unsupported(_ table: PostgresTable, _ request: SurveyRequest) throws -> String? {
        switch table.entity.kind {
        case .view: return "\(table.name) is a view: name the table that holds its rows"
        case .virtual: return "\(table.name) is a foreign table: its rows are another server's"
        case .table: break
        }
        let attribute = try RowScope(table).attribute(request.date.name, store: name)
        let isDate = table.type(attribute).isDate
        if isDate != (request.date.encoding == .native) {
            return isDate
                ? "\(table.name).\(attribute.name) is a date of the server's own (native), not "
                    + "\(request.date.encoding.rawValue)"
                : "\(table.name).\(attribute.name) is not a date type of the server; native needs one"
        }
        if table.isPartitioned, let foreign = try leaves(of: table).first(where: \.isForeign) {
            return
                "the partition \(foreign.name) of \(table.name) is a foreign table: a delete on two servers cannot be "
                + "one transaction; give the other server a policy of its own and name the other partitions in rules"
        }
        if request.wantsObjectIDs, table.entity.primaryKey.isEmpty {
            return "\(table.name) has no primary key, which digest: true needs to distinguish the deleted rows"
        }
        if table.isDistributed, let key = table.entity.incomingRelationships.first {
            return
                "\(key.source) refers to \(table.name), which is distributed: what its foreign keys cascade to cannot be "
                + "predicted or counted"
        }
        return nil
    }

    private func chooseTechnique(_ rows: SurveyRows, _ guards: TableGuards?, into survey: inout Findings) throws {
        let table = rows.scope.table
        let attribute = try rows.scope.attribute(rows.request.date.name, store: name)
        let index = rows.date.reading == .ordered ? table.dateIndex(attribute) : nil
        // Blocks can be walked in real tables only, one after another, each by its own name.
        survey.techniqueObstacles[.windows] = table.windowObstacle ?? guards?.leafObstacle
        survey.techniqueObstacles[.partitions] = try partitionObstacle(rows.request, rows.date, rows.scope, guards)
        let byBlocks: [Technique] = survey.techniqueObstacles[.windows] == nil ? [.windows] : []
        let byDate: [Technique] = rows.date.reading == .ordered ? [.range] : []
        var possible = index == nil ? byBlocks + byDate : byDate + byBlocks
        if possible.isEmpty { possible = [.whole] }
        survey.isInDateOrder = index != nil && !table.isDistributed
        survey.index = index?.name
        if survey.techniqueObstacles[.partitions] == nil { possible.insert(.partitions, at: 0) }
        survey.possibleTechniques = possible
        survey.technique = possible[0]
        guard survey.expiredAloneCount > 0 else { return }
        var reasons: [String] = []
        if guards != nil, let obstacle = survey.techniqueObstacles[.partitions] {
            reasons.append("nothing is dropped as a whole, since \(obstacle)")
        }
        if table.isHypertable {
            let aggregates = TimescaleSQL.continuousAggregates(schema: table.schema, relation: table.relation)
            let names = try self.rows(aggregates).compactMap { $0[0] }
            if let warning = TimescaleSQL.warning(ofAggregates: names) { reasons.append(warning) }
        }
        survey.reason = reasons.isEmpty ? nil : reasons.joined(separator: "; ")
    }
}

/// The rows that a survey looks at, as pieces of SQL.
struct SurveyRows {
    var scope: RowScope
    let date: DateSQL
    let filter: SQLFragment
    let request: SurveyRequest

    var cutoff: Instant { request.cutoff }
    /// The rows for a FROM clause, with the parts of their dates where these are taken apart.
    var from: SQLFragment {
        date.reading == .parsed
            ? "\(scope.from) LEFT JOIN LATERAL " + CivilSQL(date).query + " AS span ON TRUE" : SQLFragment(scope.from)
    }
    /// What rows are ordered by: the column, or the beginning of its span.
    var order: String { date.reading == .parsed ? "span.s" : date.column }
}
