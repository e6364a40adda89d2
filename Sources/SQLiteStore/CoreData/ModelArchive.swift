import PriceStore

/// Reads the archive of a Core Data model into a ``ManagedObjectModel``.
///
/// It reads only what affects deletes and skips objects of unknown classes.
struct ModelArchive {
    private let archive: KeyedArchive
    /// The properties read so far, with inherited ones counted again for each entity.
    private var propertyCount = 0

    /// The most properties that a model may have. This limits the time that a damaged archive can take, in which entities share their
    /// properties.
    private static let largestPropertyCount = 100_000
    static let largestSizeBytes = 64 << 20

    private init(_ bytes: [UInt8]) throws(ModelArchiveError) {
        archive = try KeyedArchive(bytes)
    }

    static func model(_ bytes: [UInt8]) throws(ModelArchiveError) -> ManagedObjectModel {
        if bytes.starts(with: Array("momv".utf8)) {
            throw ModelArchiveError(
                "it is an optimized model (.omo), which cannot be read; the .mom file beside it can")
        }
        var reader = try ModelArchive(bytes)
        return try reader.model()
    }

    private mutating func model() throws(ModelArchiveError) -> ManagedObjectModel {
        guard try archive.isKind(archive.root, of: "NSManagedObjectModel") else {
            throw ModelArchiveError("the archive holds no Core Data model")
        }
        var entities: [String: ManagedEntity] = [:]
        for object in try archive.values("NSEntities", of: archive.root) {
            let entity = try entity(object)
            guard entities.updateValue(entity, forKey: entity.name) == nil else {
                throw archive.damage(object, "the entity '\(entity.name)' occurs twice")
            }
        }
        try addInherited(&entities)
        for entity in entities.values {
            for relationship in entity.relationships.values where entities[relationship.destination] == nil {
                throw ModelArchiveError(
                    "the relationship '\(relationship.name)' of '\(entity.name)' leads to '\(relationship.destination)', "
                        + "which the model does not contain")
            }
        }
        return ManagedObjectModel(entities: entities)
    }

    private mutating func entity(_ object: Int) throws(ModelArchiveError) -> ManagedEntity {
        let name = try entityName(object)
        let identifier = try archive.string("NSRenamingIdentifier", of: object)
        var entity = ManagedEntity(
            name: name, formerName: identifier == name ? nil : identifier,
            superentity: try archive.member("NSSuperentity", of: object).map(entityName),
            isAbstract: try archive.flag("NSIsAbstract", of: object), attributes: [:], relationships: [:])
        for property in try archive.values("NSProperties", of: object) {
            try count(1)
            let property = try underlying(property)
            if try archive.isKind(property, of: "NSAttributeDescription") {
                let attribute = try attribute(property)
                entity.attributes[attribute.name] = attribute
            } else if try archive.isKind(property, of: "NSRelationshipDescription") {
                let relationship = try relationship(property)
                entity.relationships[relationship.name] = relationship
            }
        }
        return entity
    }

    /// The property itself, where a sub-entity has only a proxy for an inherited one.
    private func underlying(_ property: Int) throws(ModelArchiveError) -> Int {
        var property = property
        // Each level of inheritance adds a proxy.
        for _ in 0..<64 {
            guard try archive.isKind(property, of: "_NSPropertyDescriptionProxy") else { return property }
            guard let next = try archive.member("NSUnderlyingProperty", of: property) else {
                throw archive.damage(property, "a property proxy without a property")
            }
            property = next
        }
        throw archive.damage(property, "a property proxy that refers to itself")
    }

    private func attribute(_ object: Int) throws(ModelArchiveError) -> ManagedAttribute {
        let flags = try archive.integer("NSFlagsKey", of: object) ?? 0
        return ManagedAttribute(
            name: try propertyName(object), kind: try archive.integer("NSAttributeType", of: object) ?? 0,
            isOptional: try archive.flag("NSIsOptional", of: object),
            isTransient: try archive.flag("NSIsTransient", of: object),
            isDerived: try archive.isKind(object, of: "NSDerivedAttributeDescription"),
            isExternal: flags & ManagedAttribute.externalFlag != 0,
            isPreservedOnDelete: flags & ManagedAttribute.preservedFlag != 0)
    }

    private func relationship(_ object: Int) throws(ModelArchiveError) -> ManagedRelationship {
        let name = try propertyName(object)
        // Source: `NSDeleteRule` of Apple's headers.
        let rules: [ModelRelationship.DeleteRule] = [.noAction, .nullify, .cascade, .deny]
        guard let rule = try archive.integer("NSDeleteRule", of: object).flatMap(Int.init(exactly:)),
            rules.indices.contains(rule)
        else { throw archive.damage(object, "the relationship '\(name)' has an unknown delete rule") }
        guard let maxCount = try archive.integer("NSMaxCount", of: object) else {
            throw archive.damage(object, "the relationship '\(name)' has no maximum count")
        }
        let destination: String
        if let entity = try archive.member("NSDestinationEntity", of: object) {
            destination = try entityName(entity)
        } else if let name = try archive.string("_NSDestinationEntityName", of: object) {
            destination = name
        } else {
            throw archive.damage(object, "the relationship '\(name)' has no destination")
        }
        let inverse: String?
        if let property = try archive.member("NSInverseRelationship", of: object) {
            inverse = try propertyName(try underlying(property))
        } else {
            inverse = try archive.string("_NSInverseRelationshipName", of: object)
        }
        return ManagedRelationship(
            name: name, destination: destination, inverse: inverse, deleteRule: rules[rule],
            isOptional: try archive.flag("NSIsOptional", of: object),
            maxCount: Int(clamping: maxCount), hasOrder: try archive.flag("NSIsOrdered", of: object),
            isTransient: try archive.flag("NSIsTransient", of: object))
    }

    private func entityName(_ object: Int) throws(ModelArchiveError) -> String {
        guard let name = try archive.string("NSEntityName", of: object) else {
            throw archive.damage(object, "an entity without a name")
        }
        return name
    }

    private func propertyName(_ object: Int) throws(ModelArchiveError) -> String {
        guard let name = try archive.string("NSPropertyName", of: object) else {
            throw archive.damage(object, "a property without a name")
        }
        return name
    }

    /// Gives every entity the properties that it inherits. Archives omit or repeat them.
    private mutating func addInherited(_ entities: inout [String: ManagedEntity]) throws(ModelArchiveError) {
        var isWhole: Set<String> = []
        for name in entities.keys {
            // The entity and its ancestors that are not complete yet.
            var line: [String] = []
            var next: String? = name
            while let current = next, !isWhole.contains(current) {
                guard let entity = entities[current] else {
                    throw ModelArchiveError("an entity inherits from '\(current)', which the model does not contain")
                }
                guard line.count <= entities.count else {
                    throw ModelArchiveError("the entity '\(current)' inherits from itself")
                }
                line.append(current)
                next = entity.superentity
            }
            for name in line.reversed() {
                isWhole.insert(name)
                guard let parent = entities[name]?.superentity.flatMap({ entities[$0] }) else { continue }
                try count(parent.attributes.count + parent.relationships.count)
                entities[name]?.attributes.merge(parent.attributes) { own, _ in own }
                entities[name]?.relationships.merge(parent.relationships) { own, _ in own }
            }
        }
    }

    private mutating func count(_ properties: Int) throws(ModelArchiveError) {
        propertyCount += properties
        guard propertyCount <= Self.largestPropertyCount else {
            throw ModelArchiveError("the model has more than \(Self.largestPropertyCount) properties")
        }
    }
}

extension ManagedAttribute {
    /// The bits of an archived attribute's `NSFlagsKey`.
    ///
    /// Source: for the first, the decompiled `encodeWithCoder:` of `NSAttributeDescription`; for the second, the sample models, whose
    /// sources say `preserveAfterDeletion`.
    fileprivate static let externalFlag: Int64 = 0x4
    fileprivate static let preservedFlag: Int64 = 0x10
}

extension ManagedObjectModel {
    /// Reads the bytes of a compiled `.mom` file.
    static func read(archive: [UInt8]) throws(ModelArchiveError) -> ManagedObjectModel {
        guard archive.count <= ModelArchive.largestSizeBytes else {
            throw ModelArchiveError("the model is larger than \(ModelArchive.largestSizeBytes) bytes")
        }
        return try ModelArchive.model(archive)
    }

    /// Reads the model that Core Data stores compressed in `Z_MODELCACHE.Z_CONTENT`.
    static func read(cache: [UInt8]) throws(ModelArchiveError) -> ManagedObjectModel {
        try ModelArchive.model(Inflate.bytes(of: cache, limit: ModelArchive.largestSizeBytes))
    }
}
