/// Comparisons in Swift syntax: `Attribute("done") == true && Attribute("price") < 10`.
extension Attribute {
    /// The attribute equals the value; nil: it has no value.
    public static func == (attribute: Attribute, value: some StoreConvertible) -> StorePredicate {
        attribute == value.storeValue
    }

    /// The attribute differs from the value; nil: it has a value.
    public static func != (attribute: Attribute, value: some StoreConvertible) -> StorePredicate {
        attribute != value.storeValue
    }

    /// The attribute equals the value; `.null`: it has no value.
    public static func == (attribute: Attribute, value: StoreValue) -> StorePredicate {
        value.isNull ? .isNull(attribute.name) : .compare(attribute.name, .equal, value)
    }

    /// The attribute differs from the value; `.null`: it has a value.
    public static func != (attribute: Attribute, value: StoreValue) -> StorePredicate {
        value.isNull ? .isNotNull(attribute.name) : .compare(attribute.name, .notEqual, value)
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

/// More conditions, and dates: `Attribute("time", .unixSeconds) < Date()`. Without a format the date has the one that the store declares, as a
/// Core Data model and PostgreSQL do; if it declares none, a request throws `StoreError` of kind ``StoreError/Kind/unsupported``.
extension Attribute {
    /// The attribute has no value; the same as `== nil`.
    public var isNull: StorePredicate { .isNull(name) }

    /// The attribute equals one of the values; NULL equals none.
    public func isIn(_ values: some Sequence<some StoreConvertible>) -> StorePredicate {
        .isIn(name, values.map(\.storeValue))
    }

    /// The attribute is at least the first value and at most the second.
    public func between(_ low: some StoreConvertible, _ high: some StoreConvertible) -> StorePredicate {
        .between(name, low.storeValue, high.storeValue)
    }

    /// The attribute is a text that begins with this one; see ``StorePredicate/begins(_:with:)``.
    public func begins(with text: String) -> StorePredicate { .begins(name, with: text) }

    /// The attribute is a text that contains this one; see ``StorePredicate/contains(_:_:)``.
    public func contains(_ text: String) -> StorePredicate { .contains(name, text) }

    /// The date is before this one: the whole of it, if it is a day.
    public static func < (attribute: Attribute, date: some InstantConvertible) -> StorePredicate {
        attribute.compare(.less, date.instant)
    }

    /// The date is at this one or later, at least a part of it, if it is a day.
    public static func >= (attribute: Attribute, date: some InstantConvertible) -> StorePredicate {
        attribute.compare(.greaterOrEqual, date.instant)
    }

    /// The date begins at this one or before it.
    public static func <= (attribute: Attribute, date: some InstantConvertible) -> StorePredicate {
        attribute.compare(.lessOrEqual, date.instant)
    }

    /// The date begins after this one.
    public static func > (attribute: Attribute, date: some InstantConvertible) -> StorePredicate {
        attribute.compare(.greater, date.instant)
    }

    fileprivate func compare(_ comparison: StorePredicate.Operator, _ instant: Instant) -> StorePredicate {
        // An instant that is no date is an error when the condition is carried out.
        guard let dateEncoding, !instant.isEnd else { return .declaredDate(name, comparison, instant) }
        let date = DateAttribute(name: name, encoding: dateEncoding)
        return switch comparison {
        case .less: .date(DateRange(date, before: instant))
        case .greaterOrEqual: .date(DateRange(date, from: instant))
        default: .dateCompare(date, comparison, instant)
        }
    }
}

extension StorePredicate {
    /// The predicate with the format that an entity declares in place of each ``declaredDate(_:_:_:)``.
    package func withDeclaredDates(of entity: Entity, store: String) throws(StoreError) -> StorePredicate {
        switch self {
        case .declaredDate(let name, let comparison, let instant):
            guard let attribute = entity.attribute(named: name) else {
                throw StoreError(.unknownName, store: store, message: "\(entity.name) has no attribute '\(name)'")
            }
            guard !instant.isEnd else {
                throw StoreError(
                    .unsupported, store: store,
                    message: "\(entity.name).\(name) is compared with a date that is not a number or out of range")
            }
            guard attribute.dateEncoding != nil else {
                throw StoreError(
                    .unsupported, store: store, message: "the store declares no date format for \(entity.name).\(name)",
                    hint: "give the format: Attribute(\"\(name)\", .unixSeconds)")
            }
            return attribute.compare(comparison, instant)
        case .and(let parts): return .and(try parts.map(dated))
        case .or(let parts): return .or(try parts.map(dated))
        case .not(let part): return .not(try dated(part))
        case .notTrue(let part): return .notTrue(try dated(part))
        default: return self
        }
        func dated(_ part: StorePredicate) throws(StoreError) -> StorePredicate {
            try part.withDeclaredDates(of: entity, store: store)
        }
    }
}
