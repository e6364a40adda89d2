public import PriceStore

/// Reads values as the type that a program expects.
extension ManagedObject {
    /// The value as an integer; nil: NULL.
    ///
    /// - Throws: the errors of ``value(for:)``, and ``ManagedObjectError`` if the value is of another type.
    public func integer(for attribute: String) throws -> Int64? { try read(attribute) }

    /// The value as a double; nil: NULL. An integer is rounded to the nearest double.
    ///
    /// - Throws: the errors of ``value(for:)``, and ``ManagedObjectError`` if the value is of another type.
    public func real(for attribute: String) throws -> Double? { try read(attribute) }

    /// A value of 1 or 0 as a Boolean; nil: NULL.
    ///
    /// - Throws: the errors of ``value(for:)``, and ``ManagedObjectError`` if the value is of another type.
    public func bool(for attribute: String) throws -> Bool? { try read(attribute) }

    /// The value as text; nil: NULL.
    ///
    /// - Throws: the errors of ``value(for:)``, and ``ManagedObjectError`` if the value is of another type.
    public func text(for attribute: String) throws -> String? { try read(attribute) }

    /// The value as bytes; nil: NULL.
    ///
    /// - Throws: the errors of ``value(for:)``, and ``ManagedObjectError`` if the value is of another type.
    public func bytes(for attribute: String) throws -> [UInt8]? { try read(attribute) }

    private func read<Value: StoreConvertible>(_ attribute: String) throws -> Value? {
        guard let value = Value?(storeValue: try value(for: attribute)) else { throw error(.wrongKind, attribute) }
        return value
    }

    /// A date in the given format: the first instant that it represents; nil: NULL.
    ///
    /// - Throws: the errors of ``value(for:)``, and ``ManagedObjectError`` if the value is not a date of that format.
    public func instant(
        for attribute: String, encoding: DateEncoding, zone: CalendarZone = .utc
    ) throws -> Instant? {
        let value = try value(for: attribute)
        if value.isNull { return nil }
        guard let start = encoding.instant(of: value, zone: zone) else { throw error(.wrongKind, attribute) }
        return start
    }

    /// Sets a date in the given format; nil: NULL.
    ///
    /// - Throws: the errors of ``setValue(_:for:)``.
    public func setInstant(
        _ instant: Instant?, for attribute: String, encoding: DateEncoding, zone: CalendarZone = .utc
    ) throws {
        try setValue(instant.map { encoding.value(of: $0, zone: zone) } ?? .null, for: attribute)
    }
}
