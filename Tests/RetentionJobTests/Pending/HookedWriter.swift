import PriceObjects
import PriceStore

/// A restoration that tells before each batch.
private final class HookedRestoration: Restoration {
    private let restoration: any Restoration
    private let willChange: (HookedWriter.Change) throws(StoreError) -> Void

    init(_ restoration: any Restoration, _ willChange: @escaping (HookedWriter.Change) throws(StoreError) -> Void) {
        self.restoration = restoration
        self.willChange = willChange
    }

    var rules: [String] { restoration.rules }
    var tables: [RestorableTable] { restoration.tables }
    var mayDiffer: Bool { restoration.mayDiffer }

    func restoreNext(rows: Int) throws(StoreError) -> RestorationPart {
        try willChange(.restore)
        return try restoration.restoreNext(rows: rows)
    }
}

/// A real store that tells before each change what it is about to do, so that a test can change a file, or break the
/// run off, at that instant.
final class HookedWriter: ObjectStore, RetentionWriter {
    enum Change: Equatable { case begin, insert, commit, delete, create, drop, archive, complete, reclaim, restore }

    private let writer: any ObjectStore & RetentionWriter
    private let willChange: (Change) throws(StoreError) -> Void

    init(_ writer: any ObjectStore & RetentionWriter, willChange: @escaping (Change) throws(StoreError) -> Void) {
        self.writer = writer
        self.willChange = willChange
    }

    var name: String { writer.name }
    var storeIdentifier: String { writer.storeIdentifier }
    var engine: String { writer.engine }
    var heldFromReplacing: [HeldRows] {
        get { writer.heldFromReplacing }
        set { writer.heldFromReplacing = newValue }
    }
    var looksAtRowsToKeep: Bool { writer.looksAtRowsToKeep }
    var rowsToKeep: RowsToKeep {
        get { writer.rowsToKeep }
        set { writer.rowsToKeep = newValue }
    }
    var didBeginPhase: ((String) -> Void)? {
        get { writer.didBeginPhase }
        set { writer.didBeginPhase = newValue }
    }
    func entityNames() throws(StoreError) -> [String] { try writer.entityNames() }
    func entity(named name: String) throws(StoreError) -> Entity? { try writer.entity(named: name) }
    func count(_ request: StoreFetchRequest) throws(StoreError) -> Int { try writer.count(request) }
    func fetchRows(_ request: StoreFetchRequest, attributes: [String]) throws(StoreError) -> [StoredRow] {
        try writer.fetchRows(request, attributes: attributes)
    }

    func fetch(_ request: StoreFetchRequest, attributes: [String]) throws(StoreError) -> [[StoreValue]] {
        try writer.fetch(request, attributes: attributes)
    }
    func figures(
        _ figures: [RowFigure], of request: StoreFetchRequest, groupedBy groups: [String]
    ) throws(StoreError) -> [[StoreValue]] {
        try writer.figures(figures, of: request, groupedBy: groups)
    }
    var fixedElapsed: Duration { writer.fixedElapsed }
    func isInUseByOthers() throws(StoreError) -> Bool { try writer.isInUseByOthers() }
    func survey(_ request: SurveyRequest) throws(StoreError) -> Survey { try writer.survey(request) }
    func sample(entity: String, attribute: String, limit: Int) throws(StoreError) -> [StoreValue] {
        try writer.sample(entity: entity, attribute: attribute, limit: limit)
    }
    func components() throws(StoreError) -> [EngineComponent] { try writer.components() }
    func knownDefects() throws(StoreError) -> [KnownDefect] { try writer.knownDefects() }
    func sizeBytes() throws(StoreError) -> Int64 { try writer.sizeBytes() }
    func sizeBytes(ofEntity entity: String) throws(StoreError) -> Int64? { try writer.sizeBytes(ofEntity: entity) }

    func candles(of requests: [SurveyRequest]) throws(StoreError) -> [CandleTally] {
        try writer.candles(of: requests)
    }

    func candleObstacle(
        _ rollup: Rollup, of entity: Entity, into target: Entity?
    ) throws(StoreError) -> String? {
        try writer.candleObstacle(rollup, of: entity, into: target)
    }

    func obstacle(
        to holds: [HeldRows], of delete: BatchDeleteRequest, writing target: String?
    ) throws(StoreError) -> HoldObstacle? {
        try writer.obstacle(to: holds, of: delete, writing: target)
    }

    func triggersMayTouch(
        _ table: String, afterDeletesFrom entity: String, _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> Bool {
        try writer.triggersMayTouch(table, afterDeletesFrom: entity, relationships)
    }

    func deletes(
        from entity: String, _ relationships: BatchDeleteRequest.RelationshipRule, canReach other: String,
        changing attributes: [String]
    ) throws(StoreError) -> Bool {
        try writer.deletes(from: entity, relationships, canReach: other, changing: attributes)
    }

    func clearedAttributes(
        _ attributes: [String], of other: String, byDeletesFrom entity: String,
        _ relationships: BatchDeleteRequest.RelationshipRule
    ) throws(StoreError) -> [String] {
        try writer.clearedAttributes(attributes, of: other, byDeletesFrom: entity, relationships)
    }

    func countSpared(
        _ entity: String, date: DateAttribute, filter: StorePredicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) throws(StoreError) -> Int {
        try writer.countSpared(entity, date: date, filter: filter, by: deletes, limit: limit)
    }

    func archiveObstacle(of request: SurveyRequest) throws(StoreError) -> String? {
        try writer.archiveObstacle(of: request)
    }

    func restorable(_ request: RestorationRequest) throws(StoreError) -> [RestorableTable] {
        try writer.restorable(request)
    }

    func beginArchive(_ request: ArchiveRequest) throws(StoreError) {
        try willChange(.archive)
        try writer.beginArchive(request)
    }

    func completeArchive() throws(StoreError) -> ArchiveResult? {
        try willChange(.complete)
        return try writer.completeArchive()
    }

    func restoration(of request: RestorationRequest) throws(StoreError) -> any Restoration {
        HookedRestoration(try writer.restoration(of: request), willChange)
    }

    func insert(
        entity: String, values: [String: StoreValue], onConflict: ConflictPolicy
    ) throws(StoreError) -> InsertOutcome {
        try willChange(.insert)
        return try writer.insert(entity: entity, values: values, onConflict: onConflict)
    }

    var isInTransaction: Bool { writer.isInTransaction }

    func transaction<T>(_ durability: Durability, _ body: () throws -> T) throws -> T {
        try willChange(.begin)
        return try writer.transaction(durability) {
            let value = try body()
            try willChange(.commit)
            return value
        }
    }

    func insertObject(entity: String, values: [String: StoreValue]) throws(StoreError) -> ObjectID {
        try willChange(.insert)
        return try writer.insertObject(entity: entity, values: values)
    }

    func updateObject(
        _ id: ObjectID, set values: [String: StoreValue], ifStill expected: [String: StoreValue]
    ) throws(StoreError) -> Bool {
        try writer.updateObject(id, set: values, ifStill: expected)
    }

    func deleteObject(_ id: ObjectID, ifStill expected: [String: StoreValue]) throws(StoreError) -> Bool {
        try willChange(.delete)
        return try writer.deleteObject(id, ifStill: expected)
    }

    func outline(of request: SurveyRequest, after survey: Survey) throws(StoreError) -> DeletionOutline {
        try writer.outline(of: request, after: survey)
    }

    func deletion(of request: SurveyRequest, after survey: Survey) throws(StoreError) -> any Deletion {
        try willChange(.delete)
        return try writer.deletion(of: request, after: survey)
    }

    func execute(_ request: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult {
        try willChange(.delete)
        return try writer.execute(request)
    }

    func execute(_ request: BatchInsertRequest) throws(StoreError) -> BatchInsertResult {
        try willChange(.insert)
        return try writer.execute(request)
    }

    func execute(_ request: BatchUpdateRequest) throws(StoreError) -> BatchUpdateResult {
        try writer.execute(request)
    }

    func createEntity(_ entity: Entity) throws(StoreError) {
        try willChange(.create)
        try writer.createEntity(entity)
    }

    func createIndex(on entity: String, attributes: [String], isUnique: Bool) throws(StoreError) {
        try writer.createIndex(on: entity, attributes: attributes, isUnique: isUnique)
    }

    func dropEntity(named name: String) throws(StoreError) {
        try willChange(.drop)
        try writer.dropEntity(named: name)
    }

    func reclaim(_ request: ReclaimRequest) throws(StoreError) -> ReclaimResult {
        try willChange(.reclaim)
        return try writer.reclaim(request)
    }
}
