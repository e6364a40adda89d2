package import PriceStore

/// An attribute that looks like a reference to the rows of another entity, without a declared foreign key: a rule on
/// that entity would leave it dangling.
///
/// The name makes a candidate, the values decide: nearly all of a sample must be keys of the other entity.
package struct UndeclaredReference: Hashable, Sendable {
    /// The entity and the attribute that hold the reference.
    package var source: String
    package var sourceAttribute: String
    /// The entity that it probably refers to, and its key.
    package var destination: String
    package var destinationAttribute: String

    /// The reference, as a sentence without a full stop.
    package var sentence: String {
        "\(source).\(sourceAttribute) looks like a reference to \(destination).\(destinationAttribute), but no foreign key is "
            + "declared"
    }

    /// The references to an entity. It reads 30 values of each attribute whose name fits.
    ///
    /// - Parameter entities: all entities of the store.
    package static func found(
        to destination: Entity, among entities: [Entity], in reader: any RetentionReader
    ) throws(StoreError) -> [UndeclaredReference] {
        guard destination.kind == .table, destination.model == nil, destination.primaryKey.count == 1,
            let key = destination.attribute(named: destination.primaryKey[0])
        else { return [] }
        var found: [UndeclaredReference] = []
        for source in entities where source.kind == .table && source.name != destination.name && source.model == nil {
            for attribute in source.attributes where isCandidate(attribute, of: source, key, of: destination) {
                let sample: [StoreValue]
                do {
                    sample = try reader.sample(entity: source.name, attribute: attribute.name, limit: 30)
                } catch  where error.isOfOneEntity {
                    // Nothing is known of what cannot be read: a generated value whose function is missing.
                    continue
                }
                let values = sample.filter { !FormatReading.isFiller($0) }
                guard !values.isEmpty else { continue }
                // A server may not compare the two types: then it is not a reference.
                guard
                    let known = try? reader.count(
                        StoreFetchRequest(entity: destination.name, predicate: .isIn(key.name, values))),
                    known * 10 >= values.count * 9
                else { continue }
                found.append(
                    UndeclaredReference(
                        source: source.name, sourceAttribute: attribute.name, destination: destination.name,
                        destinationAttribute: key.name))
            }
        }
        return found
    }

    /// How many references would dangle after a delete; nil if either side has more than 100,000 rows, so that they
    /// were not counted.
    ///
    /// - Parameter deletion: the deleted rows of the destination.
    package func danglingCount(_ deletion: StorePredicate, in reader: any RetentionReader) throws(StoreError) -> Int? {
        let deleted = StoreFetchRequest(
            entity: destination, predicate: deletion && .isNotNull(destinationAttribute), fetchLimit: Self.limit + 1)
        let pointing = StoreFetchRequest(
            entity: source, predicate: .isNotNull(sourceAttribute), fetchLimit: Self.limit + 1)
        let references = try reader.fetch(pointing, attributes: [sourceAttribute])
        guard references.count <= Self.limit else { return nil }
        let keys = try reader.fetch(deleted, attributes: [destinationAttribute])
        guard keys.count <= Self.limit else { return nil }
        let deletedKeys = Set(keys.map { $0[0] })
        return references.count { deletedKeys.contains($0[0]) }
    }

    private static let limit = 100_000

    // MARK: Names

    private static func isCandidate(
        _ attribute: Attribute, of source: Entity, _ key: Attribute, of destination: Entity
    ) -> Bool {
        let isDeclared = source.relationships.contains { $0.sourceAttributes.contains(attribute.name) }
        guard !isDeclared, source.primaryKey != [attribute.name], isText(attribute) == isText(key) else { return false }
        let (name, keyName) = (attribute.name.lowercased(), key.name.lowercased())
        let isSpecific = !genericKeys.contains(keyName)
        // `url` in two entities; `tx_guid` and `guid`.
        if isSpecific, name == keyName { return true }
        if keyName == "guid" || keyName == "uuid", name.hasSuffix("_" + keyName) { return true }
        var base = name
        for suffix in ["_id", "_key", "_ref", "_fk", "_" + keyName, keyName]
        where base.hasSuffix(suffix) && base != suffix {
            base.removeLast(suffix.count)
            break
        }
        while base.hasSuffix("_") { base.removeLast() }
        // `url` and `place_id` for the tables `urls` and `moz_places`.
        let words = destination.name.lowercased().split(whereSeparator: { !$0.isLetter }).map(String.init)
        return base.count > 1
            && ([destination.name.lowercased(), words.last ?? ""].contains { singular($0) == singular(base) })
    }

    /// Names of keys that say nothing of the entity.
    private static let genericKeys: Set<String> = [
        "code", "date", "id", "key", "name", "no", "number", "rowid", "time", "timestamp", "type", "value",
    ]

    private static func isText(_ attribute: Attribute) -> Bool { attribute.affinity == .text }

    private static func singular(_ name: String) -> String {
        if name.hasSuffix("ies") { return name.dropLast(3) + "y" }
        return name.hasSuffix("s") && !name.hasSuffix("ss") ? String(name.dropLast()) : name
    }
}
