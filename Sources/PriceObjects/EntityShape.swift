import PriceStore

/// A row as it was last read, with its values in the order of the shape.
struct ReadRow {
    let id: ObjectID
    let shape: EntityShape
    let values: [StoreValue]
}

/// An entity and the positions of its attributes in a row's values.
final class EntityShape {
    let entity: Entity
    /// The attributes' names, in the store's order.
    let names: [String]
    private let places: [String: Int]
    private let placesWithoutCase: [String: Int]

    init(_ entity: Entity) {
        self.entity = entity
        names = entity.attributes.map(\.name)
        let numbered = zip(names, names.indices)
        places = Dictionary(firstOf: numbered)
        placesWithoutCase = Dictionary(firstOf: numbered.map { ($0.folded, $1) })
    }

    func place(of name: String) -> Int? { places[name] ?? placesWithoutCase[name.folded] }

    /// Whether the attribute is the whole primary key and the store may assign its value.
    func mayBeNumbered(_ attribute: Attribute) -> Bool {
        entity.primaryKey == [attribute.name] && attribute.declaredType.uppercased() == "INTEGER"
    }
}
