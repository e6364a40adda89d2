import GRDB
import PriceStore

/// What a delete of objects does to the rows at the other ends of their relationships.
///
/// The rows that go are noted in the temporary tables of a ``DoomedRows``, by step and wave: wave 0 holds the rows that
/// a request names, each further wave those that cascades add. A dry run and a run follow the same statements.
struct ObjectGraph {
    let schema: CoreDataSchema
    /// The entity that the request names.
    let entity: CoreDataEntity
    /// What the request makes of the rows that point at rows which go.
    let relationships: BatchDeleteRequest.RelationshipRule
    let doomed: DoomedRows
    /// The step of the request.
    let step: Int
    let connection: SQLiteConnection
    let db: Database

    /// What happens at the other end of a link.
    ///
    /// A request's own word takes the place of the declared rule where rows at the other end point at the rows that it
    /// names; a reference of those rows themselves keeps its rule.
    func rule(of link: ModelLink) -> ManagedRelationship.DeleteRule {
        guard isOwn(link) else { return link.relationship.deleteRule }
        if case .own = link.storage, link.back == nil { return link.relationship.deleteRule }
        switch relationships {
        case .asDeclared: return link.relationship.deleteRule
        case .cascade: return .cascade
        case .nullify: return .nullify
        case .deny: return .deny
        }
    }

    /// Whether a link is that of rows which the request's entity has; see ``links(of:wave:)``.
    private func isOwn(_ link: ModelLink) -> Bool {
        link.table == entity.table && Set(link.numbers).isSubset(of: entity.numbers)
    }

    /// Adds the rows that go by cascades, wave by wave.
    func cascade() throws {
        var frontier: Set<String> = [entity.table]
        var wave = 0
        while !frontier.isEmpty {
            var reached: Set<String> = []
            for table in frontier.sorted() {
                let isHere = "doomed.step = \(step) AND doomed.wave = \(wave)"
                var rows: [(String, String)] = []
                for link in links(of: table, wave: wave) where rule(of: link) == .cascade {
                    rows += try ends(of: link, isHere).map { (link.destinationTable, $0) }
                }
                if relationships == .cascade, table == entity.table {
                    for link in schema.oneWayLinks(to: table) {
                        rows += try oneWay(link, isHere, .own).map { (link.table, $0) }
                    }
                }
                for (other, text) in rows {
                    let target = try connection.doomedObjects(other, doomed, db)
                    try execute(
                        "INSERT OR IGNORE INTO temp.\(target) SELECT child.Z_PK, \(step), \(wave + 1)" + text)
                    if db.changesCount > 0 { reached.insert(other) }
                }
            }
            frontier = reached
            wave += 1
        }
    }

    /// A reference that rows which stay lose, and the `FROM … WHERE …` of those rows, as `child`.
    struct Nullification {
        var table: String
        var reference: ModelLink.Reference
        /// The rows while those that go are still there.
        var rows: String
        /// The same rows, for less, once they are gone; nil: then nobody could tell them any more.
        var rowsAfterwards: String?
    }

    /// What rows that stay lose.
    func nullifications() throws -> [Nullification] {
        var found: [Nullification] = []
        for table in try losingTables() {
            for link in links(of: table) {
                guard let pointing = link.pointing else { continue }
                switch rule(of: link) {
                case .noAction, .deny: continue
                case .nullify: break
                // What a cascade takes has no reference left to lose; the way back of a one-to-one may differ.
                case .cascade where link.back == nil: continue
                case .cascade: break
                }
                let isHere = "doomed.step = \(step)"
                found.append(
                    Nullification(
                        table: link.destinationTable, reference: pointing,
                        rows: try pointingBack(link, pointing, isHere, staying: true),
                        rowsAfterwards: link.coversTable ? try pointingBack(link, pointing, isHere) : nil))
            }
            guard relationships == .nullify, table == entity.table else { continue }
            for link in schema.oneWayLinks(to: table) {
                guard case .own(let reference) = link.storage else { continue }
                for rows in try oneWay(link, "doomed.step = \(step)", .own, staying: true) {
                    found.append(Nullification(table: link.table, reference: reference, rows: rows))
                }
            }
        }
        return found
    }

    /// The links whose declaring rows are counted at the other end: a to-one reference to rows that hold many.
    func countedLinks() throws -> [ModelLink] {
        try losingTables().flatMap { links(of: $0) }.filter { link in
            guard case .own = link.storage, link.inverse?.isToMany == true else { return false }
            return rule(of: link) == .nullify
        }
    }

    /// The links of rows that go, which are kept in tables of pairs.
    func pairedLinks() throws -> [ModelLink] {
        try losingTables().flatMap { links(of: $0) }.filter { link in
            guard case .pairs = link.storage else { return false }
            return rule(of: link) != .noAction
        }
    }

    /// One-way tables of pairs that other entities keep and that name rows which go.
    func foreignPairs() throws -> [(table: String, column: String, doomed: String)] {
        var found: [(String, String, String)] = []
        for table in try losingTables() {
            for link in schema.oneWayLinks(to: table) {
                guard case .pairs(let pairs, _, let other) = link.storage else { continue }
                found += try other.map { (pairs, $0, try connection.doomedObjects(table, doomed, db)) }
            }
        }
        return found
    }

    /// Whether, by the model alone, a relationship can forbid the delete, or a cascade can lead to one of some tables.
    func canMatter(_ tables: Set<String>) -> Bool {
        guard relationships != .deny, schema.unprovenReferences.isEmpty, schema.oneWayLinks(to: entity.table).isEmpty
        else { return true }
        var seen: Set<ModelLink> = []
        var waiting = links(of: entity.table, wave: 0)
        while let link = waiting.popLast() {
            guard seen.insert(link).inserted else { continue }
            switch rule(of: link) {
            case .noAction: break
            case .deny: return true
            case .nullify: if link.inverse?.isOptional == false { return true }
            case .cascade:
                guard !tables.contains(link.destinationTable),
                    schema.oneWayLinks(to: link.destinationTable).isEmpty
                else { return true }
                waiting += schema.links[link.destinationTable] ?? []
            }
        }
        return false
    }

    // MARK: What stands in the way

    /// Relationships that forbid the delete, with the rows that stand in the way.
    func obstacles() throws -> [Survey.Obstacle] {
        try denials() + mandatory() + dangling() + unproven()
    }

    /// Rows of a store without a model that stay and hold a key that goes in a column that may be a reference.
    private func unproven() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for (table, column) in schema.unprovenReferences {
            for losing in try losingTables() {
                let doomed = try connection.doomedObjects(losing, doomed, db)
                let number = try count([
                    " FROM temp.\(doomed) AS doomed CROSS JOIN main.\(table.quotedIdentifier) AS child WHERE "
                        + "child.\(column.quotedIdentifier) = doomed.k0 AND doomed.step = \(step) AND "
                        + (try stays(table))
                ])
                guard number > 0 else { continue }
                found.append(
                    Survey.Obstacle(
                        relationship: Relationship(
                            source: table, sourceAttributes: [column], destination: losing, destinationAttributes: [],
                            deleteRule: .noAction, isIndexed: true), rowCount: number, objection: .unproven))
            }
        }
        return found
    }

    /// Deny rules of the entity and of all entities that its cascades reach: they forbid a batch delete even if no row
    /// matches. Source: the error 134060 of Apple's framework.
    func denials() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        var seen: Set<ModelLink> = []
        var waiting = links(of: entity.table, wave: 0)
        while let link = waiting.popLast() {
            guard seen.insert(link).inserted else { continue }
            switch rule(of: link) {
            case .deny:
                let number = try count(
                    try ends(of: link, "doomed.step = \(step) AND " + (try stays(link.destinationTable))))
                if number > 0 || relationships != .deny || link.relationship.deleteRule == .deny {
                    found.append(link.obstacle(.denyRule, rowCount: number))
                }
            case .cascade:
                guard let destination = schema.entity(link.relationship.destination) else { continue }
                waiting += schema.links(of: destination)
            case .nullify, .noAction: break
            }
        }
        return found.sorted {
            ($0.relationship.source, $0.relationship.sourceAttributes.first ?? "")
                < ($1.relationship.source, $1.relationship.sourceAttributes.first ?? "")
        }
    }

    /// Rows that stay and must have an other end that goes.
    private func mandatory() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for table in try losingTables() {
            for link in links(of: table) where rule(of: link) == .nullify {
                guard let inverse = link.inverse, !inverse.isOptional else { continue }
                let number = try count(
                    try ends(of: link, "doomed.step = \(step) AND " + (try stays(link.destinationTable))))
                if number > 0 { found.append(link.obstacle(.mandatoryInverse, rowCount: number)) }
            }
        }
        return found
    }

    /// Rows that stay and point at rows that go, by a relationship without a way back: nothing would clear it.
    private func dangling() throws -> [Survey.Obstacle] {
        var found: [Survey.Obstacle] = []
        for table in try losingTables() {
            for link in schema.oneWayLinks(to: table) {
                guard case .own = link.storage, let part = forbidden(of: table) else { continue }
                let number = try count(try oneWay(link, "doomed.step = \(step)", part, staying: true))
                if number > 0 { found.append(link.obstacle(.noInverse, rowCount: number)) }
            }
        }
        return found
    }

    /// Whether rows that go must not be parted: one must have the other, and only a common batch takes both.
    func mustGoTogether() throws -> Bool {
        for table in try losingTables() {
            for link in links(of: table) {
                let mustStay: Bool
                switch rule(of: link) {
                case .nullify: mustStay = link.inverse?.isOptional == false
                case .deny: mustStay = true
                case .cascade, .noAction: mustStay = false
                }
                guard mustStay else { continue }
                let other = try connection.doomedObjects(link.destinationTable, doomed, db)
                // A row that went by the cascade of its other end is always in the same batch.
                let condition =
                    "doomed.step = \(step) AND EXISTS (SELECT 1 FROM temp.\(other) AS own WHERE own.k0 = child.Z_PK "
                    + "AND own.step = \(step)"
                    + (link.inverse?.deleteRule == .cascade ? " AND own.wave >= doomed.wave)" : ")")
                for rows in try ends(of: link, condition)
                where try connection.row(SQLFragment("SELECT 1" + rows + " LIMIT 1"), db) != nil {
                    return true
                }
            }
            for link in schema.oneWayLinks(to: table) {
                guard case .own = link.storage, let part = forbidden(of: table) else { continue }
                let other = try connection.doomedObjects(link.table, doomed, db)
                let condition =
                    "doomed.step = \(step) AND EXISTS (SELECT 1 FROM temp.\(other) AS own WHERE own.k0 = child.Z_PK "
                    + "AND own.step = \(step))"
                for rows in try oneWay(link, condition, part)
                where try connection.row(SQLFragment("SELECT 1" + rows + " LIMIT 1"), db) != nil {
                    return true
                }
            }
        }
        return false
    }

    // MARK: Pieces of SQL

    /// The tables that lose rows in the step.
    func losingTables() throws -> [String] {
        try schema.tables.filter { $0 != entity.table && doomed.tables[$0.lowercased()] != nil }
            .filter { table in
                let name = try connection.doomedObjects(table, doomed, db)
                return try connection.row(
                    SQLFragment("SELECT 1 FROM temp.\(name) WHERE step = \(step) LIMIT 1"), db) != nil
            } + [entity.table]
    }

    /// The links of a table's rows; in wave 0 only those of the named entity. A link that rows of the named entity share
    /// with others is parted, because a request's own word is for the former.
    private func links(of table: String, wave: Int = 1) -> [ModelLink] {
        guard table == entity.table else { return schema.links[table] ?? [] }
        let parted = (schema.links[table] ?? []).flatMap { link in
            let own = link.numbers.filter(entity.numbers.contains)
            guard relationships != .asDeclared, !own.isEmpty, own.count < link.numbers.count else { return [link] }
            return [own, link.numbers.filter { !own.contains($0) }].map { numbers in
                var part = link
                part.numbers = numbers
                part.coversTable = false
                return part
            }
        }
        return wave == 0 ? parted.filter { !Set($0.numbers).isDisjoint(with: entity.numbers) } : parted
    }

    /// Which rows of a table that go are meant.
    private enum Part {
        /// All of them.
        case all
        /// Those of the named entity.
        case own
        /// Those of other entities.
        case others
    }

    /// The rows that nothing may point at by a one-way relationship; nil: none, the request clears or follows it.
    private func forbidden(of table: String) -> Part? {
        guard table == entity.table, relationships == .nullify || relationships == .cascade else { return .all }
        return entity.sharesTable ? .others : nil
    }

    /// `FROM … WHERE …` of the rows at the other end (as `child`) of rows that go (as `doomed`). The order is forced:
    /// from the few to the many.
    func ends(of link: ModelLink, _ condition: String) throws -> [String] {
        let child = "main." + link.destinationTable.quotedIdentifier
        switch link.storage {
        case .own(let reference):
            let column = "parent." + reference.column.quotedIdentifier
            return [
                try head(link, withRow: true) + " CROSS JOIN \(child) AS child" + membership(link)
                    + " AND child.Z_PK = \(column) AND \(condition)"
            ]
        case .other(let reference):
            return [try pointingBack(link, reference, condition)]
        case .pairs(let table, let own, let other):
            return try zip(own, other).map { own, other in
                try head(link) + " CROSS JOIN main.\(table.quotedIdentifier) AS pair CROSS JOIN \(child) AS child"
                    + membership(link) + " AND pair.\(own.quotedIdentifier) = doomed.k0 "
                    + "AND child.Z_PK = pair.\(other.quotedIdentifier) AND \(condition)"
            }
        }
    }

    /// `FROM … WHERE …` of the rows (as `child`) that point at rows that go by a column of theirs.
    private func pointingBack(
        _ link: ModelLink, _ reference: ModelLink.Reference, _ condition: String, staying: Bool = false
    ) throws -> String {
        try head(link) + " CROSS JOIN main.\(link.destinationTable.quotedIdentifier) AS child"
            + (link.coversTable ? " WHERE TRUE" : membership(link))
            + " AND child.\(reference.column.quotedIdentifier) = doomed.k0 AND \(condition)"
            + (staying ? " AND " + (try stays(link.destinationTable)) : "")
    }

    /// `FROM … WHERE …` of the rows (as `child`) that declare a one-way relationship to rows that go.
    private func oneWay(
        _ link: ModelLink, _ condition: String, _ part: Part, staying: Bool = false
    ) throws -> [String] {
        guard case .own(let reference) = link.storage else { return [] }
        let target = try connection.doomedObjects(link.destinationTable, doomed, db)
        let numbers = link.numbers.map(String.init).joined(separator: ", ")
        let own = entity.numbers.map(String.init).joined(separator: ", ")
        let isParted = part != .all && entity.sharesTable
        let parent =
            isParted ? " CROSS JOIN main.\(link.destinationTable.quotedIdentifier) AS parent" : ""
        let isPart =
            isParted ? "parent.Z_PK = doomed.k0 AND parent.Z_ENT \(part == .own ? "" : "NOT ")IN (\(own)) AND " : ""
        return [
            " FROM temp.\(target) AS doomed\(parent) CROSS JOIN main.\(link.table.quotedIdentifier) AS child WHERE "
                + isPart + "child.\(reference.column.quotedIdentifier) = doomed.k0"
                + (link.coversTable ? "" : " AND child.Z_ENT IN (\(numbers))") + " AND \(condition)"
                + (staying ? " AND " + (try stays(link.table)) : "")
        ]
    }

    private func head(_ link: ModelLink, withRow: Bool = false) throws -> String {
        let own = try connection.doomedObjects(link.table, doomed, db)
        let row = withRow || !link.coversTable
        return " FROM temp.\(own) AS doomed" + (row ? " CROSS JOIN main.\(link.table.quotedIdentifier) AS parent" : "")
    }

    private func membership(_ link: ModelLink) -> String {
        let isOwn: Bool
        if case .own = link.storage { isOwn = true } else { isOwn = false }
        let numbers = link.numbers.map(String.init).joined(separator: ", ")
        if !link.coversTable { return " WHERE parent.Z_PK = doomed.k0 AND parent.Z_ENT IN (\(numbers))" }
        return isOwn ? " WHERE parent.Z_PK = doomed.k0" : " WHERE TRUE"
    }

    /// That `child` goes neither in this step nor went in one before.
    private func stays(_ table: String) throws -> String {
        let own = try connection.doomedObjects(table, doomed, db)
        return "NOT EXISTS (SELECT 1 FROM temp.\(own) AS own WHERE own.k0 = child.Z_PK AND own.step <= \(step))"
    }

    /// How many different rows (`child`) some queries find.
    private func count(_ rows: [String]) throws -> Int {
        let union = rows.map { "SELECT child.Z_PK" + $0 }.joined(separator: " UNION ")
        return try connection.count(SQLFragment("SELECT count(*) FROM (SELECT * FROM (\(union)) GROUP BY 1)"), db)
    }

    private func execute(_ text: String) throws { try connection.execute(SQLFragment(text), db) }
}

extension SQLiteConnection {
    /// The temporary table that holds the keys of a Core Data table's rows that go.
    func doomedObjects(_ table: String, _ doomed: DoomedRows, _ db: Database) throws -> String {
        if let known = doomed.tables[table.lowercased()] { return known }
        let name = temporaryName("doomed")
        try execute(SQLFragment("CREATE TEMP TABLE \(name) (k0 INTEGER PRIMARY KEY, step, wave)"), db)
        if doomed.isIndexed { try execute(SQLFragment("CREATE INDEX temp.\(name)_step ON \(name) (step, wave)"), db) }
        doomed.tables[table.lowercased()] = name
        return name
    }
}

extension ModelLink {
    /// The relationship and why it stands in the way of a delete.
    func obstacle(_ objection: Survey.Obstacle.Objection, rowCount: Int) -> Survey.Obstacle {
        let described = Relationship(
            source: owner, sourceAttributes: [relationship.name], destination: relationship.destination,
            destinationAttributes: [inverse?.name].compactMap(\.self), deleteRule: .noAction, isIndexed: true)
        return Survey.Obstacle(relationship: described, rowCount: rowCount, objection: objection)
    }
}
