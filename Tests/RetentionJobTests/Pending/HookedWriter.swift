import PriceObjects
import PriceStore

/// A real store that tells before each change what it is about to do, so that a test can change a file, or break the
/// run off, at that instant.
final class HookedWriter: ObjectStore {
    enum Change: Equatable { case begin, insert, commit, delete, create, drop }

    private let writer: any ObjectStore
    private let willChange: (Change) throws(StoreError) -> Void

    init(_ writer: any ObjectStore, willChange: @escaping (Change) throws(StoreError) -> Void) {
        self.writer = writer
        self.willChange = willChange
    }

    var name: String { writer.name }
    var storeIdentifier: String { writer.storeIdentifier }
    var engine: String { writer.engine }
    func entityNames() throws(StoreError) -> [String] { try writer.entityNames() }
    func entity(named name: String) throws(StoreError) -> Entity? { try writer.entity(named: name) }
    func count(_ request: StoreFetchRequest) throws(StoreError) -> Int { try writer.count(request) }
    func fetchRows(_ request: StoreFetchRequest, attributes: [String]) throws(StoreError) -> [StoredRow] {
        try writer.fetchRows(request, attributes: attributes)
    }

    func fetch(_ request: StoreFetchRequest, attributes: [String]) throws(StoreError) -> [[StoreValue]] {
        try writer.fetch(request, attributes: attributes)
    }
    func isInUseByOthers() throws(StoreError) -> Bool { try writer.isInUseByOthers() }
    func survey(_ request: SurveyRequest) throws(StoreError) -> Survey { try writer.survey(request) }
    func sample(entity: String, attribute: String, limit: Int) throws(StoreError) -> [StoreValue] {
        try writer.sample(entity: entity, attribute: attribute, limit: limit)
    }
    func sizeBytes() throws(StoreError) -> Int64 { try writer.sizeBytes() }

    func insert(
        entity: String, values: [String: StoreValue], onConflict: ConflictPolicy
    ) throws(StoreError) -> InsertOutcome {
        try willChange(.insert)
        return try writer.insert(entity: entity, values: values, onConflict: onConflict)
    }

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

    func outline(of request: SurveyRequest) throws(StoreError) -> DeletionOutline { try writer.outline(of: request) }

    func deletion(of request: SurveyRequest) throws(StoreError) -> any Deletion {
        try willChange(.delete)
        return try writer.deletion(of: request)
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

    func update(_ request: StoreFetchRequest, set values: [String: StoreValue]) throws(StoreError) -> Int {
        try writer.update(request, set: values)
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

    func reclaim(_ request: ReclaimRequest) throws(StoreError) -> ReclaimResult { try writer.reclaim(request) }
}
