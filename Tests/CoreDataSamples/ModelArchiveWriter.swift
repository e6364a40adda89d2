/// The keyed archive of a model, as Core Data leaves it in a store: a table of objects that name each other by place.
///
/// Every entity has all its properties there, inherited ones too. Source: the archives in stores that Apple's framework
/// wrote.
struct ModelArchiveWriter {
    private var objects: [PropertyListValue] = [.string("$null")]
    private var places: [String: Int] = [:]
    private let model: ModelDescription

    /// The archive as a raw DEFLATE stream, the form of `Z_MODELCACHE`.
    static func stream(_ model: ModelDescription) -> [UInt8] { stored(propertyList(model)) }

    /// The archive as a binary property list, the form of a `.mom` file.
    static func propertyList(_ model: ModelDescription) -> [UInt8] {
        var archive = ModelArchiveWriter(model)
        let root = archive.writeModel()
        return PropertyListValue.dictionary([
            "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"),
            "$top": .dictionary(["root": root]), "$objects": .array(archive.objects),
        ]).binary
    }

    private init(_ model: ModelDescription) { self.model = model }

    /// Bytes as DEFLATE blocks that are not compressed. Source: RFC 1951, section 3.2.4.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = []
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(0xFFFF)
            rest = rest.dropFirst(block.count)
            let length = UInt16(block.count)
            stream.append(rest.isEmpty ? 1 : 0)
            for word in [length, ~length] { stream += [UInt8(truncatingIfNeeded: word), UInt8(word >> 8)] }
            stream += block
        } while !rest.isEmpty
        return stream
    }

    // MARK: Objects

    private static let null = PropertyListValue.uid(0)

    /// The index of an object, which is reserved until it is written.
    private mutating func place(_ key: String) -> Int {
        if let place = places[key] { return place }
        objects.append(.string("$null"))
        places[key] = objects.count - 1
        return objects.count - 1
    }

    private mutating func add(_ object: PropertyListValue) -> PropertyListValue {
        objects.append(object)
        return .uid(objects.count - 1)
    }

    private mutating func string(_ text: String) -> PropertyListValue {
        let place = place("string " + text)
        objects[place] = .string(text)
        return .uid(place)
    }

    private mutating func instance(_ classes: String..., values: [String: PropertyListValue]) -> PropertyListValue {
        let place = place("class " + classes[0])
        objects[place] = .dictionary([
            "$classname": .string(classes[0]),
            "$classes": .array((classes + ["NSObject"]).map(PropertyListValue.string)),
        ])
        return .dictionary(values.merging(["$class": .uid(place)]) { $1 })
    }

    private mutating func list(_ classes: [String], _ values: [PropertyListValue]) -> PropertyListValue {
        let object =
            classes.count == 1
            ? instance(classes[0], values: ["NS.objects": .array(values)])
            : instance(classes[0], classes[1], values: ["NS.objects": .array(values)])
        return add(object)
    }

    private mutating func mutableArray(_ values: [PropertyListValue]) -> PropertyListValue {
        list(["NSMutableArray", "NSArray"], values)
    }

    private mutating func mutableDictionary(_ names: [String], _ values: [PropertyListValue]) -> PropertyListValue {
        let keys = names.map { string($0) }
        return add(
            instance(
                "NSMutableDictionary", "NSDictionary",
                values: ["NS.keys": .array(keys), "NS.objects": .array(values)]))
    }

    // MARK: The model

    private mutating func writeModel() -> PropertyListValue {
        let root = place("model")
        let names = model.entities.map(\.name).sorted()
        let keys = list(["NSArray"], names.map { string($0) })
        let mapping = add(
            instance(
                "NSKnownKeysMappingStrategy1", "NSKnownKeysMappingStrategy",
                values: ["keys": keys, "length": .integer(names.count), "version": .integer(1)]))
        let token = string("__empty_slot_token_4c24_98dc_ac1e_b773__")
        let entities = list(["NSArray"], names.map { .uid(place("entity " + $0)) })
        let dictionary = add(
            instance(
                "NSKnownKeysDictionary1", "NSKnownKeysDictionary", "NSMutableDictionary", "NSDictionary",
                values: [
                    "values": entities, "searchMapping": mapping, "emptyToken": token, "version": .integer(1),
                ]))
        for entity in model.entities { writeEntity(entity) }
        let versions = list(["NSSet"], [])
        objects[root] = instance(
            "NSManagedObjectModel",
            values: [
                "NSEntities": dictionary, "NSFetchRequestTemplates": Self.null, "NSVersionIdentifiers": versions,
            ])
        return .uid(root)
    }

    private mutating func writeEntity(_ entity: ModelDescription.Entity) {
        let owner = PropertyListValue.uid(place("entity " + entity.name))
        let lineage = model.lineage(entity.name)
        let children = model.entities.filter { $0.parent == entity.name }.map(\.name)
        let attributes = lineage.flatMap(\.attributes)
        let relationships = lineage.flatMap(\.relationships)
        for attribute in attributes { writeAttribute(attribute, of: entity.name, owner) }
        for relationship in relationships { writeRelationship(relationship, of: entity.name, owner) }

        let names = attributes.map(\.name) + relationships.map(\.name)
        let properties = mutableDictionary(names, names.map { .uid(place("property \(entity.name) \($0)")) })
        let indexes = entity.indexes.map { writeIndex($0, owner) }
        let compound = entity.indexes.filter { $0.attributes.count > 1 }.map { index in
            mutableArray(index.attributes.map { string($0) })
        }
        var values: [String: PropertyListValue] = [
            "NSEntityName": string(entity.name), "NSRenamingIdentifier": string(entity.name),
            "NSManagedObjectModel": .uid(place("model")), "NSProperties": properties,
            "NSSubentities": mutableDictionary(children, children.map { .uid(place("entity " + $0)) }),
            "NSSuperentity": entity.parent.map { .uid(place("entity " + $0)) } ?? Self.null,
            "NSClassNameForEntity": string(entity.name), "NSVersionHashModifier": Self.null,
            "NSUserInfo": add(instance("NSDictionary", values: ["NS.keys": .array([]), "NS.objects": .array([])])),
            "NSFetchIndexDescriptions": mutableArray(indexes), "NSCompoundIndexes": mutableArray(compound),
        ]
        if entity.isAbstract { values["NSIsAbstract"] = .boolean(true) }
        objects[place("entity " + entity.name)] = instance("NSEntityDescription", values: values)
    }

    private mutating func writeAttribute(
        _ attribute: ModelDescription.Attribute, of entity: String, _ owner: PropertyListValue
    ) {
        var values: [String: PropertyListValue] = [
            "NSPropertyName": string(attribute.name), "NSRenamingIdentifier": string(attribute.name),
            "NSEntity": owner, "NSAttributeType": .integer(attribute.kind.rawValue),
            "NSAttributeValueClassName": attribute.kind.className.map { string($0) } ?? Self.null,
            "NSDefaultValue": Self.null, "NSValueTransformerName": Self.null,
            "NSFlagsKey": .integer((attribute.isExternal ? 4 : 0) + (attribute.isPreserved ? 16 : 0)),
            "_P": .integer(attribute.isOptional ? 243 : 241),
        ]
        if attribute.isOptional { values["NSIsOptional"] = .boolean(true) }
        objects[place("property \(entity) \(attribute.name)")] = instance(
            "NSAttributeDescription", "NSPropertyDescription", values: values)
    }

    private mutating func writeRelationship(
        _ relationship: ModelDescription.Relationship, of entity: String, _ owner: PropertyListValue
    ) {
        let inverse = relationship.inverse
        var values: [String: PropertyListValue] = [
            "NSPropertyName": string(relationship.name), "NSRenamingIdentifier": string(relationship.name),
            "NSEntity": owner, "NSDeleteRule": .integer(relationship.rule.rawValue),
            "NSDestinationEntity": .uid(place("entity " + relationship.destination)),
            "_NSDestinationEntityName": string(relationship.destination),
            "NSInverseRelationship": inverse.map { .uid(place("property \(relationship.destination) \($0)")) }
                ?? Self.null,
            "_NSInverseRelationshipName": inverse.map { string($0) } ?? Self.null,
            "NSMaxCount": .integer(relationship.isToMany ? 0 : 1),
            "NSMinCount": .integer(relationship.isOptional ? 0 : 1),
            "_P": .integer(241 + (relationship.isOptional ? 2 : 0) + (relationship.isOrdered ? 1024 : 0)),
        ]
        if relationship.isOptional { values["NSIsOptional"] = .boolean(true) }
        if relationship.isOrdered { values["NSIsOrdered"] = .boolean(true) }
        objects[place("property \(entity) \(relationship.name)")] = instance(
            "NSRelationshipDescription", "NSPropertyDescription", values: values)
    }

    private mutating func writeIndex(_ index: ModelDescription.Index, _ owner: PropertyListValue) -> PropertyListValue {
        objects.append(.string("$null"))
        let place = objects.count - 1
        let elements = index.attributes.map { name in
            add(
                instance(
                    "NSFetchIndexElementDescription",
                    values: [
                        "NSPropertyName": string(name), "NSFetchIndexElementType": .integer(0),
                        "NSFetchIndexDescription": .uid(place), "NSAscending": .boolean(true),
                    ]))
        }
        objects[place] = instance(
            "NSFetchIndexDescription",
            values: [
                "NSIndexName": string(index.name), "NSPartialIndexPredicate": Self.null, "NSEntity": owner,
                "NSIndexElements": mutableArray(elements),
            ])
        return .uid(place)
    }
}

extension ModelDescription.Kind {
    /// The class of the values; nil: determined by the transformer.
    fileprivate var className: String? {
        switch self {
        case .integer16, .integer32, .integer64, .double, .float, .boolean: "NSNumber"
        case .decimal: "NSDecimalNumber"
        case .string: "NSString"
        case .date: "NSDate"
        case .binary: "NSData"
        case .uuid: "NSUUID"
        case .uri: "NSURL"
        case .transformable: nil
        }
    }
}
