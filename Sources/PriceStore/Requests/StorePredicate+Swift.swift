/// Comparisons in Swift syntax: `Attribute("done") == true && Attribute("price") < 10`.
extension Attribute {
    /// The attribute equals the value; nil: it has no value.
    public static func == (attribute: Attribute, value: some StoreConvertible) -> StorePredicate {
        let value = value.storeValue
        return value.isNull ? .isNull(attribute.name) : .compare(attribute.name, .equal, value)
    }

    /// The attribute differs from the value; nil: it has a value.
    public static func != (attribute: Attribute, value: some StoreConvertible) -> StorePredicate {
        let value = value.storeValue
        return value.isNull ? .isNotNull(attribute.name) : .compare(attribute.name, .notEqual, value)
    }

    /// The attribute has no value.
    public static func == (attribute: Attribute, nothing: _OptionalNilComparisonType) -> StorePredicate {
        .isNull(attribute.name)
    }

    /// The attribute has a value.
    public static func != (attribute: Attribute, nothing: _OptionalNilComparisonType) -> StorePredicate {
        .isNotNull(attribute.name)
    }

    /// The attribute is less than the value.
    public static func < (attribute: Attribute, value: some StoreConvertible) -> StorePredicate {
        .compare(attribute.name, .less, value.storeValue)
    }

    /// The attribute is at most the value.
    public static func <= (attribute: Attribute, value: some StoreConvertible) -> StorePredicate {
        .compare(attribute.name, .lessOrEqual, value.storeValue)
    }

    /// The attribute is greater than the value.
    public static func > (attribute: Attribute, value: some StoreConvertible) -> StorePredicate {
        .compare(attribute.name, .greater, value.storeValue)
    }

    /// The attribute is at least the value.
    public static func >= (attribute: Attribute, value: some StoreConvertible) -> StorePredicate {
        .compare(attribute.name, .greaterOrEqual, value.storeValue)
    }
}

extension StorePredicate {
    /// Matches rows whose date is wholly before an instant, in the format that the store declares for the attribute: a date of a Core Data
    /// model, or a column of a date type in PostgreSQL.
    ///
    /// A request throws `StoreError` of kind ``StoreError/Kind/unsupported`` if the store declares no format.
    public static func date(_ attribute: String, before instant: Instant) -> StorePredicate {
        .declaredDate(attribute, before: instant)
    }

    /// Matches rows whose date, in the given format, is wholly before an instant. A stored 0 is not a date.
    public static func date(_ attribute: String, _ encoding: DateEncoding, before instant: Instant) -> StorePredicate {
        .date(DateRange(DateAttribute(name: attribute, encoding: encoding), before: instant))
    }

    /// The predicate with the format that an entity declares in place of each ``declaredDate(_:before:)``.
    package func withDeclaredDates(of entity: Entity, store: String) throws(StoreError) -> StorePredicate {
        switch self {
        case .declaredDate(let name, let instant):
            guard let attribute = entity.attribute(named: name) else {
                throw StoreError(.unknownName, store: store, message: "\(entity.name) has no attribute '\(name)'")
            }
            guard let encoding = attribute.dateEncoding else {
                throw StoreError(
                    .unsupported, store: store, message: "the store declares no date format for \(entity.name).\(name)",
                    hint: "give the format: .date(\"\(name)\", .unixSeconds, before: …)")
            }
            return .date(attribute.name, encoding, before: instant)
        case .and(let parts): return .and(try parts.withDeclaredDates(of: entity, store: store))
        case .or(let parts): return .or(try parts.withDeclaredDates(of: entity, store: store))
        case .not(let part): return .not(try part.withDeclaredDates(of: entity, store: store))
        case .notTrue(let part): return .notTrue(try part.withDeclaredDates(of: entity, store: store))
        default: return self
        }
    }
}

extension [StorePredicate] {
    fileprivate func withDeclaredDates(of entity: Entity, store: String) throws(StoreError) -> [StorePredicate] {
        var parts: [StorePredicate] = []
        for part in self { parts.append(try part.withDeclaredDates(of: entity, store: store)) }
        return parts
    }
}
