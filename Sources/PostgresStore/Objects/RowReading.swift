public import PriceStore

extension PostgresDatabase {
    /// The number of rows that a request finds.
    public func count(_ request: StoreFetchRequest) throws(StoreError) -> Int {
        try run("counting the rows of \(request.entity)") {
            let scope = try scope(request.entity)
            _ = try order(request, scope)
            let condition = try condition(request.predicate, scope)
            guard request.fetchLimit != nil || request.fetchOffset > 0 else {
                return try count("SELECT count(*) FROM \(scope.from)" + condition.whereClause)
            }
            return try count(
                "SELECT count(*) FROM (SELECT 1 FROM \(scope.from)" + condition.whereClause + limits(request)
                    + ") AS limited")
        }
    }

    /// The values of rows that a request finds.
    public func fetch(_ request: StoreFetchRequest, attributes: [String]) throws(StoreError) -> [[StoreValue]] {
        try run("reading the rows of \(request.entity)") {
            let scope = try scope(request.entity)
            return try rows(select(request, attributes, key: [], scope)).map { $0.values(at: attributes.indices) }
        }
    }

    /// Figures of the rows that a request finds.
    public func figures(
        _ figures: [RowFigure], of request: StoreFetchRequest, groupedBy groups: [String]
    ) throws(StoreError) -> [[StoreValue]] {
        try run("reading figures of \(request.entity)") {
            let scope = try scope(request.entity)
            let named = groups + figures.compactMap(\.attribute)
            let query = RowFigure.query(figures, groupCount: groups.count)
            let found = try select(request, named, key: [], scope)
            return try rows(SQLFragment(query.start) + found + SQLFragment(query.end)).map {
                $0.values(at: 0..<groups.count + figures.count)
            }
        }
    }

    /// The rows that a request finds, with their identities. The table must have a primary key.
    public func fetchRows(_ request: StoreFetchRequest, attributes: [String]) throws(StoreError) -> [StoredRow] {
        try run("reading the rows of \(request.entity)") {
            let scope = try scope(request.entity)
            let key = try requireKey(scope)
            return try rows(select(request, attributes, key: key, scope)).map { row in
                StoredRow(
                    objectID: objectID(scope, row.values(at: key.indices)),
                    values: row.values(at: key.count..<key.count + attributes.count))
            }
        }
    }

    private func select(
        _ request: StoreFetchRequest, _ attributes: [String], key: [String], _ scope: RowScope
    ) throws -> SQLFragment {
        let columns = try key + attributes.map { scope.column(try scope.attribute($0).name) }
        let query =
            "SELECT \(columns.isEmpty ? "NULL" : columns.joined(separator: ", ")) FROM \(scope.from)"
            + (try condition(request.predicate, scope)).whereClause
        return query + (try order(request, scope)) + limits(request)
    }

    /// Some distinct values of an attribute: from the first rows and, by the key, from the last ones.
    package func sample(entity: String, attribute: String, limit: Int) throws(StoreError) -> [StoreValue] {
        try run("sampling \(entity)") {
            let scope = try scope(entity)
            let column = scope.column(try scope.attribute(attribute).name)
            var found: [StoreValue] = []
            for direction in scope.key.isEmpty ? [""] : ["ASC", "DESC"] {
                var query: SQLFragment = "SELECT \(column) FROM \(scope.from) WHERE \(column) IS NOT NULL"
                if let key = scope.key.first { query += " ORDER BY \(key) \(direction)" }
                for row in try rows(query + " LIMIT \(max(1, limit / 2))") {
                    let value = row.value(at: 0)
                    if !found.contains(value) { found.append(value) }
                }
            }
            return found
        }
    }
}
