public import PriceStore

/// Reads and sets values of the types that a program has.
extension ManagedObject {
    /// The value as a Swift type; nil: NULL.
    ///
    /// - Throws: the errors of ``value(for:)``, and ``ManagedObjectError`` of kind ``ManagedObjectError/Kind/wrongKind`` if the value is
    ///   none of the type.
    public func value<Value: StoreConvertible>(for attribute: String, as type: Value.Type) throws -> Value? {
        let value = try value(for: attribute)
        guard let read = Value?(storeValue: value) else {
            throw error(.wrongKind, attribute, "\(value.storageClass), not \(type)")
        }
        return read
    }

    /// A date: the first instant that the value represents; nil: NULL.
    ///
    /// - Parameters:
    ///   - attribute: the attribute's name.
    ///   - type: `Date` or `Instant`.
    ///   - encoding: the format; nil: the one that the store declares.
    ///   - zone: the zone of texts without an offset, and of calendar dates.
    /// - Throws: the errors of ``value(for:as:)``, and ``ManagedObjectError`` of kind ``ManagedObjectError/Kind/noDateFormat``.
    public func value<Value: InstantConvertible>(
        for attribute: String, as type: Value.Type, _ encoding: DateEncoding? = nil, zone: CalendarZone = .utc
    ) throws -> Value? {
        let value = try value(for: attribute)
        if value.isNull { return nil }
        let format = try format(encoding, of: attribute)
        guard let start = format.instant(of: value, zone: zone) else {
            throw error(.wrongKind, attribute, "\(value.storageClass), not \(type) in the format \(format.rawValue)")
        }
        return Value(start)
    }

    /// Sets an attribute to a value of a Swift type, as ``setValue(_:for:)`` does.
    public func setValue(_ value: some StoreConvertible, for attribute: String) throws {
        try setValue(value.storeValue, for: attribute)
    }

    /// Sets a date; nil: NULL. The parameters are those of ``value(for:as:_:zone:)``.
    ///
    /// - Throws: the errors of ``setValue(_:for:)-(StoreValue,_)``, and ``ManagedObjectError`` of kind
    ///   ``ManagedObjectError/Kind/noDateFormat`` or ``ManagedObjectError/Kind/noDate``.
    public func setValue(
        _ date: (some InstantConvertible)?, for attribute: String, _ encoding: DateEncoding? = nil,
        zone: CalendarZone = .utc
    ) throws {
        let format = try format(encoding, of: attribute)
        guard let value = date.map({ format.readableValue(of: $0.instant, zone: zone) }) ?? .some(.null) else {
            throw error(.noDate, attribute)
        }
        try setValue(value, for: attribute)
    }

    private func format(_ encoding: DateEncoding?, of name: String) throws -> DateEncoding {
        guard let format = try encoding ?? self.attribute(name, liveContext().shape(entity)).dateEncoding else {
            throw error(.noDateFormat, name)
        }
        return format
    }
}
