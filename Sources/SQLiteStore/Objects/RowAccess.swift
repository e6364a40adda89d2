import GRDB
import GRDBSQLite
public import PriceStore

/// Access to rows by request: fetch, count, sample and update.
extension SQLiteFile {
    /// The number of rows that a request finds.
    public func count(_ request: StoreFetchRequest) throws(StoreError) -> Int {
        try reading(request, "counting the rows of \(request.entity)") { scope, db in
            let rows: SQLFragment =
                "FROM \(scope.from())\(try condition(request.predicate, scope, db).whereClause)"
            guard request.fetchLimit != nil || request.fetchOffset > 0 else {
                return try count("SELECT count(*) \(rows)", db)
            }
            return try count("SELECT count(*) FROM (SELECT 1 \(rows)\(limits(request)))", db)
        }
    }

    /// The values of rows that a request finds.
    public func fetch(_ request: StoreFetchRequest, attributes: [String]) throws(StoreError) -> [[StoreValue]] {
        try reading(request, "reading the rows of \(request.entity)") { scope, db in
            try rows(select(attributes, request, scope, db), db)
        }
    }

    /// Figures of the rows that a request finds.
    public func figures(
        _ figures: [RowFigure], of request: StoreFetchRequest, groupedBy groups: [String]
    ) throws(StoreError) -> [[StoreValue]] {
        try reading(request, "reading figures of \(request.entity)") { scope, db in
            let named = groups + figures.compactMap(\.attribute)
            let query = RowFigure.query(figures, groupCount: groups.count)
            return try rows("\(query.start)\(select(named, request, scope, db))\(query.end)", db)
        }
    }

    /// The space of the rows that a request finds, as ``RowSpace`` computes it; nil for an entity of a Core Data model, which may share its
    /// table, and for a table with more columns than a function of SQLite can have arguments.
    package func compactBytes(of request: StoreFetchRequest) throws(StoreError) -> Int? {
        try reading(request, "measuring the rows of \(request.entity)") { scope, db in
            let table = scope.table
            let names = table.entity.attributes.map(\.name)
            guard table.entity.kind == .table, table.entity.model == nil, names.count <= SpaceFunction.mostColumns
            else { return nil }
            let found = try select(
                names, key: [table.rowID.map { "\(RowScope.alias).\($0.quotedIdentifier)" } ?? "0"], request, scope,
                db)
            let values = (0...names.count).map { "c\($0)" }.list
            let isWide = try row("PRAGMA main.encoding", db) != [.text("UTF-8")]
            var reserved: Int32 = -1
            try requireResult(
                sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved))
            let empty = RowSpace(
                of: table, page: try pragma("page_size", db), reserved: Int(reserved), isWide: isWide)
            let function = try SpaceFunction(empty, db)
            _ = try row("WITH found (\(values)) AS (\(found)) SELECT \(SpaceFunction.name)(\(values)) FROM found", db)
            return function.space.bytes
        }
    }

    /// The rows of a query in SQL, which must only read.
    public func query(_ sql: String, _ arguments: [StoreValue]) throws(StoreError) -> [[StoreValue]] {
        try run("executing the query") { db in
            // Some pragmas have an effect when they are compiled.
            var words = SchemaText.Scanner(sql)
            let isQuery = ["SELECT", "WITH", "VALUES"].contains(words.next()?.uppercased())
            do {
                guard try isQuery && unboundStatement(sql, db).isReadonly else {
                    throw failure(
                        .unsupported, "the statement is not a query",
                        hint: "a query begins with SELECT, WITH or VALUES and changes nothing; changes are requests")
                }
                return try rows(SQLFragment(sql, arguments), db)
            } catch let error as DatabaseError {
                // Several statements, or another number of arguments.
                guard error.resultCode == .SQLITE_MISUSE else { throw error }
                let said = error.message ?? "the query is not complete"
                let isMany = said.hasPrefix("Multiple statements")
                throw failure(.unsupported, isMany ? "the query has several statements" : said)
            }
        }
    }

    /// The rows that a request finds, with their identities.
    public func fetchRows(
        _ request: StoreFetchRequest, attributes: [String]
    ) throws(StoreError) -> [StoredRow] {
        try reading(request, "reading the rows of \(request.entity)") { scope, db in
            let key = scope.identity
            guard !key.isEmpty else { throw keyless(scope.table) }
            return try rows(select(attributes, key: key, request, scope, db), db).map { row in
                StoredRow(
                    objectID: objectID(scope, Array(row[..<key.count])),
                    values: Array(row[key.count...]))
            }
        }
    }

    /// Reads rows of a request. A rule that thins finds its picks with several statements, which must see the same state as the request.
    private func reading<T>(
        _ request: StoreFetchRequest, _ what: String, _ body: (RowScope, Database) throws -> T
    ) throws(StoreError) -> T {
        try run(what) { db in
            func read() throws -> T { try body(scope(of: request, db), db) }
            return request.predicate.isThinning ? try snapshot(db, read) : try read()
        }
    }

    /// The query for attributes of the rows that a request finds, after the columns of a key.
    private func select(
        _ attributes: [String], key: [String] = [], _ request: StoreFetchRequest, _ scope: RowScope, _ db: Database
    ) throws -> SQLFragment {
        let columns = try key + attributes.map { try scope.column($0, store: name) }
        let condition = try condition(request.predicate, scope, db).whereClause
        let order = try order(request.sortDescriptors, scope)
        // A view's rows have no key to break ties by.
        return """
            SELECT \(columns.isEmpty ? "NULL" : columns.list) FROM \(scope.from())\(condition)\
            \(order.isEmpty ? "" : " ORDER BY " + order)\(limits(request))
            """
    }

    /// Distinct values of an attribute, from the first rows, the last rows and between.
    package func sample(entity: String, attribute: String, limit: Int) throws(StoreError) -> [StoreValue] {
        try run("sampling \(entity)") { db in
            let scope = try scope(entity, db)
            let attribute = try scope.attribute(attribute, store: name)
            let column = scope.column(attribute)
            let select = "SELECT \(column) FROM \(scope.from()) WHERE \(column) IS NOT NULL"
            var found: [StoreValue] = []
            func add(_ end: SQLFragment, upTo count: Int) throws {
                let most = found.count + count
                for row in try rows("\(select)\(end)", db) where found.count < most && !found.contains(row[0]) {
                    found.append(row[0])
                }
            }
            // The first and last rows show a change of format in the life of a store. Many rows may have the same value.
            let part = max(1, limit / 3)
            for direction in scope.key.isEmpty ? [""] : ["ASC", "DESC"] {
                let order = scope.key.first.map { " ORDER BY \($0) \(direction)" } ?? ""
                try add("\(order) LIMIT \(part * 4)", upTo: part)
            }
            // The least and greatest values, if an index gives them. Values that mean "no date" are mostly there.
            if scope.table.dateAccess(attribute, filter: .all) != nil {
                for direction in ["ASC", "DESC"] {
                    try add(" ORDER BY \(column) \(direction) LIMIT 2", upTo: 2)
                }
            }
            let rowIDs = try limit > found.count ? rowIDs(of: scope.table, db) : nil
            for place in rowIDs?.spread(over: limit - found.count) ?? [] {
                try add(" AND \(scope.key[0]) >= \(bound: place) ORDER BY \(scope.key[0]) LIMIT 1", upTo: 1)
            }
            return found
        }
    }
}

extension SQLiteFile {
    /// The LIMIT and OFFSET of a request, or an empty fragment if it has none.
    func limits(_ request: StoreFetchRequest) -> SQLFragment {
        guard request.fetchLimit != nil || request.fetchOffset > 0 else { return "" }
        // A negative limit means no limit in SQLite, but 0 rows here.
        let limit = request.fetchLimit.map { max(0, $0) } ?? -1
        return " LIMIT \(bound: limit) OFFSET \(bound: max(0, request.fetchOffset))"
    }
}
