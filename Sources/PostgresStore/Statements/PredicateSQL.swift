import PriceStore

extension PostgresDatabase {
    /// The rows of an entity for a statement: the table, or what a rehearsal uses instead.
    func scope(_ entity: String) throws -> RowScope {
        let table = try requireTable(entity)
        return RowScope(table, source: shadows[table.oid]?.source)
    }

    /// A predicate as an SQL condition on the rows of a scope.
    func condition(_ predicate: StorePredicate, _ scope: RowScope) throws -> SQLFragment {
        switch predicate {
        case .all: return .always
        case .compare(let name, let comparison, let value):
            let attribute = try scope.attribute(name)
            return "\(scope.column(attribute.name)) \(comparison.sql) " + (try bound(value, attribute, scope))
        case .between(let name, let low, let high):
            let attribute = try scope.attribute(name)
            return "\(scope.column(attribute.name)) BETWEEN " + (try bound(low, attribute, scope)) + " AND "
                + (try bound(high, attribute, scope))
        case .begins(let name, let text):
            return try search(name, scope) { "starts_with(\($0), " + .bound(text, "text") + ")" }
        case .contains(let name, let text):
            return try search(name, scope) { "strpos(\($0), " + .bound(text, "text") + ") > 0" }
        case .isIn(_, let values) where values.isEmpty: return .never
        case .isIn(let name, let values):
            let attribute = try scope.attribute(name)
            return "\(scope.column(attribute.name)) IN ("
                + .joined(try values.map { try bound($0, attribute, scope) }, by: ", ") + ")"
        case .isNull(let name):
            return "\(scope.column(try scope.attribute(name).name)) IS NULL"
        case .isNotNull(let name):
            return "\(scope.column(try scope.attribute(name).name)) IS NOT NULL"
        case .and(let parts): return .all(try parts.map { try condition($0, scope) })
        case .or(let parts):
            if let keeper = Keeper(predicate), let among = keeper.among, case .newest(let keepLast) = keeper.kept {
                return try notKept(keepLast, among: condition(among, scope), scope)
            }
            return .any(try parts.map { try condition($0, scope) })
        case .not(let part): return "NOT (" + (try condition(part, scope)) + ")"
        case .notTrue(let part): return "(" + (try condition(part, scope)) + ") IS NOT TRUE"
        case .date(let range):
            let date = try scope.date(range.date)
            // It is NULL for a NULL date, which does not matter in a conjunction.
            return date.readable(from: range.from, before: range.before)
        case .declaredDate:
            return try condition(predicate.withDeclaredDates(of: scope.table.entity, store: name), scope)
        case .dateCompare(let date, let comparison, let instant):
            return try scope.date(date).readable(comparison, instant)
        case .spares(let spared):
            return switch spared.kind {
            case .notKept(let keepLast): try notKept(keepLast, scope)
            case .notPicked(let thinning): try notPicked(thinning, scope)
            case .notHeld(let holds, let rule): try Holds(session: self, all: holds).areSpared(by: rule, scope)
            }
        case .key(let range): return try keyCondition(range, scope)
        case .objectIDs(let ids): return try keyCondition(ids, scope)
        }
    }

    /// A value for a comparison with a column. Its type neither changes the column's type nor loses digits.
    ///
    /// - Throws: ``StoreError`` of kind `unsupported` if a numeric column is compared with another kind of value.
    func bound(_ value: StoreValue, _ attribute: Attribute, _ scope: RowScope) throws(StoreError) -> SQLFragment {
        let type = scope.table.type(attribute)
        switch (type, value) {
        case (_, .null): return .bound(nil, scope.table.valueType(attribute))
        case (.text, _): return .bound(value.serverText, "text")
        case (.integer, .integer): return .bound(value.serverText, "int8")
        case (.integer, .real(let number)):
            // An integer column is compared with a fraction as `numeric`, not as an integer.
            return .bound(number.serverText, number.isFinite ? "numeric" : "float8")
        case (.real, .integer), (.real, .real): return .bound(value.serverText, "float8")
        case (.numeric, .integer), (.numeric, .real): return .bound(value.serverText, "numeric")
        case (.integer, .text(let text)), (.real, .text(let text)), (.numeric, .text(let text)):
            guard Double(text)?.isFinite == true, text.utf8.allSatisfy({ $0 < 58 || $0 == 69 || $0 == 101 }) else {
                throw StoreError(
                    .unsupported, store: name,
                    message: "\(scope.table.name).\(attribute.name) holds numbers and is compared with a text")
            }
            return .bound(text, type == .real ? "float8" : "numeric")
        default: return .bound(value.serverText, scope.table.enumTypes[attribute.name])
        }
    }

    /// A search in a text, byte by byte, regardless of the column's collation.
    private func search(
        _ name: String, _ scope: RowScope, _ condition: (String) -> SQLFragment
    ) throws -> SQLFragment {
        let attribute = try scope.attribute(name)
        let column = scope.column(attribute.name)
        guard scope.table.type(attribute) == .text else {
            return "CASE WHEN \(column) IS NOT NULL THEN FALSE END"
        }
        return condition("\(column)::text COLLATE \"C\"")
    }

    private func keyCondition(_ range: KeyRange, _ scope: RowScope) throws -> SQLFragment {
        let key = try requireKey(scope)
        func side(_ values: [StoreValue]) throws -> SQLFragment {
            let parts = try zip(scope.keyAttributes, values).map { try bound($1, $0, scope) }
            return "(" + .joined(parts, by: ", ") + ")"
        }
        let columns = "(\(key.joined(separator: ", ")))"
        var parts: [SQLFragment] = []
        if let after = range.after { parts.append("\(columns) > " + (try side(after))) }
        if let through = range.through { parts.append("\(columns) <= " + (try side(through))) }
        return .all(parts)
    }

    func requireKey(_ scope: RowScope) throws(StoreError) -> [String] {
        guard !scope.key.isEmpty else {
            throw StoreError(
                .unsupported, store: name,
                message: "\(scope.table.name) has no primary key, so that its rows cannot be distinguished")
        }
        return scope.key
    }

    /// The condition that a row is one of some rows.
    func keyCondition(_ ids: [ObjectID], _ scope: RowScope) throws -> SQLFragment {
        guard !ids.isEmpty else { return .never }
        let key = try requireKey(scope)
        for id in ids {
            guard id.entity == scope.table.name, id.storeIdentifier == nil || id.storeIdentifier == storeIdentifier,
                id.key.count == key.count
            else {
                throw StoreError(
                    .unsupported, store: name,
                    message: "an object ID of \(id.entity) is not one of \(scope.table.name) in this store",
                    hint: "make one request for each entity of each store")
            }
        }
        let lists = scope.keyAttributes.enumerated().map { place, attribute in
            SQLFragment.list(ids.map { $0.key[place].serverText }, scope.table.valueType(attribute))
        }
        return "(\(key.joined(separator: ", "))) IN (SELECT * FROM unnest(" + .joined(lists, by: ", ") + "))"
    }

    func objectID(_ scope: RowScope, _ key: [StoreValue]) -> ObjectID {
        ObjectID(entity: scope.table.name, key: key, storeIdentifier: storeIdentifier)
    }
}

extension StorePredicate {
    /// The date range without a lower end that the predicate demands; nil if it demands none.
    var dateRange: DateRange? {
        switch self {
        case .date(let range) where range.from == nil: range
        case .and(let parts): parts.lazy.compactMap(\.dateRange).first
        default: nil
        }
    }
}
