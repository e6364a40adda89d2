package import PriceStore
package import RetentionJob
import RetentionPolicy

/// The contents of a store: its entities, their rows and sizes, their dates and relationships.
package struct StoreInspection: Hashable, Sendable {
    /// The store, as the caller named it.
    package var store: String
    package var engine: String
    /// The size of the whole store.
    package var sizeBytes: Int64
    /// The library, or the server and its extensions, with their versions.
    package var components: [EngineComponent] = []
    /// The defects of these components that can matter for the store.
    package var knownDefects: [KnownDefect] = []
    /// When it was made.
    package var clock = Instant.distantPast
    /// The entities in the store's order.
    package var entities: [EntityInspection]

    /// An entity and what was found in it.
    package struct EntityInspection: Hashable, Sendable {
        package var entity: Entity
        /// The number of rows; nil: they could not be counted, and ``trouble`` says why.
        package var rowCount: Int?
        /// The space of the rows and indexes; nil: the engine does not know it.
        package var sizeBytes: Int64?
        /// How the store holds the rows, if they are not in one plain table; nil: they are.
        package var layout: String?
        /// Its date attributes.
        package var dates: [DateInspection] = []
        /// Whether each of its rows has a name of its own, in an attribute `name`; false also if there are too many rows to look.
        package var namesItsRows = false
        /// Why something could not be read; nil: everything was read.
        package var trouble: String?

        /// The number of rows and their size, in words.
        var figures: [String] {
            let size = sizeBytes.map { [Figures.bytes($0)] } ?? []
            return [rowCount.map { Figures.count($0, "row") } ?? "rows not counted"] + size
        }
    }

    /// An attribute that holds dates, or seems to.
    package struct DateInspection: Hashable, Sendable {
        package var attribute: Attribute
        package var recognition: DateRecognition
        /// The oldest and the newest readable date; nil: there is none, or no format.
        package var oldest: Instant?
        package var newest: Instant?
        /// Why no rule can delete rows by this date, so that its rows were not read, as a clause; nil: one can.
        package var obstacle: String?
        /// Rows whose date can be read; nil: they were not counted.
        package var readableCount: Int?
        /// Rows whose date cannot be used in the format, by kind.
        package var unreadable: [Survey.UnreadableRows] = []
        /// The index that gives the rows in the order of their dates; nil: there is none.
        package var index: String?
        /// Why an index that begins with the date cannot be used, as a clause; nil: there is none, or it can be used.
        package var indexObstacle: String?
        /// Why the rows cannot be archived before they are deleted, as a clause; nil: they can.
        package var archiveObstacle: String?
    }

    /// Inspects a store. Counts are exact; formats are recognised in a sample.
    ///
    /// Nothing is written. An entity that cannot be read has an ``EntityInspection/trouble``; the others are still inspected. The cost is
    /// one scan of each entity, and one more for each date without an index.
    ///
    /// - Throws: ``StoreError`` if the store as a whole cannot be read.
    package static func read(_ reader: any RetentionReader, clock: Instant) throws(StoreError) -> StoreInspection {
        var inspection = StoreInspection(
            store: reader.name, engine: reader.engine, sizeBytes: try reader.sizeBytes(),
            components: try reader.components(), knownDefects: try reader.knownDefects(), clock: clock,
            entities: [])
        let names = try reader.entityNames()
        for name in names.contains(Entity.persistentHistory) ? names : names + [Entity.persistentHistory] {
            do {
                guard let entity = try reader.entity(named: name) else { continue }
                inspection.entities.append(try EntityInspection.read(entity, reader, clock: clock))
            } catch  where error.isOfOneEntity {
                // Not even its attributes are known.
                inspection.entities.append(
                    EntityInspection(entity: Entity(name: name, attributes: []), trouble: error.message))
            }
        }
        return inspection
    }
}

extension StoreInspection.EntityInspection {
    fileprivate static func read(
        _ entity: Entity, _ reader: any RetentionReader, clock: Instant
    ) throws(StoreError) -> Self {
        var inspection = Self(entity: entity)
        do {
            inspection.rowCount = try reader.count(StoreFetchRequest(entity: entity.name))
            inspection.sizeBytes = try reader.sizeBytes(ofEntity: entity.name)
            inspection.layout = try reader.layout(ofEntity: entity.name)
            guard entity.kind == .table else { return inspection }
            for attribute in entity.attributes {
                let samples = try reader.sample(
                    entity: entity.name, attribute: attribute.name, limit: DateRecognition.sampleCount)
                guard let recognition = DateRecognition(attribute, samples: samples, clock: clock) else { continue }
                inspection.dates.append(try .read(attribute, recognition, of: entity, reader))
            }
            inspection.namesItsRows = try inspection.readNames(reader)
        } catch  where error.isOfOneEntity {
            inspection.trouble = error.message
        }
        return inspection
    }

    private func readNames(_ reader: any RetentionReader) throws(StoreError) -> Bool {
        // Lists are short.
        guard !dates.isEmpty, let rowCount, (3...10_000).contains(rowCount),
            let name = entity.attribute(named: "name"), name.affinity == .text
        else { return false }
        let rows = try reader.fetch(StoreFetchRequest(entity: entity.name), attributes: [name.name])
        let names = rows.compactMap(\.first).filter { !$0.isNull }
        return names.count == rowCount && Set(names).count == rowCount
    }
}

extension StoreInspection.DateInspection {
    fileprivate static func read(
        _ attribute: Attribute, _ recognition: DateRecognition, of entity: Entity, _ reader: any RetentionReader
    ) throws(StoreError) -> Self {
        var inspection = Self(attribute: attribute, recognition: recognition)
        guard let encoding = recognition.encoding else { return inspection }
        // The rows of a rule without `earliest`.
        let earliest = Rule.defaultEarliest(.utc)
        func request(_ encoding: DateEncoding) -> SurveyRequest {
            SurveyRequest(
                entity: entity.name,
                date: DateAttribute(name: attribute.name, encoding: encoding, earliest: earliest), cutoff: earliest)
        }
        let survey = try reader.survey(request(encoding))
        if let reason = survey.unsupported {
            inspection.obstacle = reason
            return inspection
        }
        inspection.recognition.weigh(survey)
        if let other = inspection.recognition.otherOrder {
            let count = try reader.survey(request(other)).readableCount
            inspection.recognition.weigh(other, rowCount: count ?? 0)
        }
        inspection.oldest = survey.dates.oldest
        inspection.newest = survey.dates.newest
        inspection.readableCount = survey.readableCount
        inspection.unreadable = survey.unreadable
        inspection.index = survey.index.name
        inspection.indexObstacle = survey.index.obstacle
        inspection.archiveObstacle = try reader.archiveObstacle(of: request(encoding))
        return inspection
    }
}
