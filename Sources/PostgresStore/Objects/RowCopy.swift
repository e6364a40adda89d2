package import PriceStore

/// Inserts many rows at once: COPY into a temporary table of texts, then one INSERT from there with the conflict rule.
extension PostgresWriter {
    /// Adds rows by COPY into a temporary table and one INSERT from there. It is nil if a row breaks a constraint: then nothing was added,
    /// and the rows must be inserted one by one.
    package func insert(
        entity: String, rows: [[String: StoreValue]], onConflict: ConflictPolicy
    ) throws(StoreError) -> RowsInserted? {
        do {
            // The statement does not say which row was not replaced.
            if try replaceable(onConflict, RowScope(try requireTable(entity))) != nil { return nil }
            var inserted = RowsInserted(savedCount: 0, ignoredCount: 0)
            try transaction(.normal) {
                let scope = RowScope(try requireTable(entity))
                for portion in Self.portions(rows) {
                    let saved = try copy(portion, scope, onConflict).changedCount
                    inserted.savedCount += saved
                    inserted.ignoredCount += portion.count - saved
                }
            }
            return inserted
        } catch {
            let storeError = StoreError(error, store: name, doing: "adding rows to \(entity)")
            // 21000: two rows have the same key, and one statement cannot replace a row twice.
            let isOfOneRow =
                [.constraint, .unsupported].contains(storeError.kind) || storeError.engineCode == "SQLSTATE 21000"
            guard storeError.engineCode != nil, isOfOneRow else { throw storeError }
            return nil
        }
    }

    /// Consecutive rows with the same attributes.
    private static func portions(_ rows: [[String: StoreValue]]) -> [ArraySlice<[String: StoreValue]>] {
        var portions: [ArraySlice<[String: StoreValue]>] = []
        var start = 0
        for index in rows.indices.dropFirst() where rows[index].keys != rows[start].keys {
            portions.append(rows[start..<index])
            start = index
        }
        if start < rows.count { portions.append(rows[start...]) }
        return portions
    }

    private func copy(
        _ rows: ArraySlice<[String: StoreValue]>, _ scope: RowScope, _ onConflict: ConflictPolicy
    ) throws -> ServerResult {
        let names = (rows.first?.keys).map { $0.sorted() } ?? []
        guard !names.isEmpty else {
            var result = ServerResult()
            for _ in rows {
                result.changedCount += try execute("INSERT INTO \(scope.table.sql) DEFAULT VALUES").changedCount
            }
            return result
        }
        let attributes = try names.map { try scope.attribute($0) }
        let table = "pg_temp.retention_new_\(names.count)"
        let columns = names.indices.map { "c\($0) text" }.joined(separator: ", ")
        try execute("CREATE TEMP TABLE IF NOT EXISTS retention_new_\(names.count) (n bigserial, \(columns))")
        var next = rows.startIndex
        try copy("COPY \(table) (\(names.indices.map { "c\($0)" }.joined(separator: ", "))) FROM STDIN") {
            guard next < rows.endIndex else { return nil }
            let end = min(next + 200, rows.endIndex)
            defer { next = end }
            return rows[next..<end].map { row in
                zip(names, attributes).map { name, attribute in
                    Self.copyText(Self.text(row[name] ?? .null, scope.table.type(attribute)))
                }.joined(separator: "\t") + "\n"
            }.joined()
        }
        let targets = attributes.map(\.name.quotedIdentifier).joined(separator: ", ")
        let expressions = zip(attributes, names.indices).map { attribute, index in
            return [.timestamp, .date].contains(scope.table.type(attribute))
                ? "(c\(index)::timestamptz)::\(attribute.declaredType)" : "c\(index)::\(attribute.declaredType)"
        }
        let result = try execute(
            "INSERT INTO \(scope.table.sql) AS \(RowScope.alias) (\(targets)) SELECT \(expressions.joined(separator: ", ")) FROM \(table) ORDER BY n"
                + (try conflictClause(onConflict, attributes.map(\.name), scope)))
        try execute("TRUNCATE \(table)")
        return result
    }

    private static func text(_ value: StoreValue, _ type: ColumnType) -> String? {
        if case .real(let number) = value, type == .integer, let whole = Int64(exactly: number) { return String(whole) }
        return value.serverText
    }

    /// A value in the text format of COPY.
    private static func copyText(_ value: String?) -> String {
        guard let value else { return "\\N" }
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
