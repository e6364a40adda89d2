public import PriceStore

/// Values by the kind that a program expects.
extension ManagedObject {
    /// A whole number; nil: NULL.
    ///
    /// - Throws: what ``value(for:)`` throws, and ``ManagedObjectError`` if the value is of another kind.
    public func integer(for attribute: String) throws -> Int64? { try read(attribute) }

    /// A number as a double; nil: NULL. An integer is rounded to the nearest double.
    ///
    /// - Throws: what ``value(for:)`` throws, and ``ManagedObjectError`` if the value is of another kind.
    public func real(for attribute: String) throws -> Double? { try read(attribute) }

    /// A 1 or a 0 as a Boolean; nil: NULL.
    ///
    /// - Throws: what ``value(for:)`` throws, and ``ManagedObjectError`` if the value is of another kind.
    public func bool(for attribute: String) throws -> Bool? { try read(attribute) }

    /// A text; nil: NULL.
    ///
    /// - Throws: what ``value(for:)`` throws, and ``ManagedObjectError`` if the value is of another kind.
    public func text(for attribute: String) throws -> String? { try read(attribute) }

    /// Bytes; nil: NULL.
    ///
    /// - Throws: what ``value(for:)`` throws, and ``ManagedObjectError`` if the value is of another kind.
    public func bytes(for attribute: String) throws -> [UInt8]? { try read(attribute) }

    private func read<Value: StoreConvertible>(_ attribute: String) throws -> Value? {
        guard let value = Value?(storeValue: try value(for: attribute)) else { throw error(.wrongKind, attribute) }
        return value
    }

    /// A date in the attribute's format: the first instant of the time that it represents; nil: NULL.
    ///
    /// - Throws: what ``value(for:)`` throws, and ``ManagedObjectError`` if the value is not a date of that format.
    public func instant(
        for attribute: String, encoding: DateEncoding, zone: CalendarZone = .utc
    ) throws -> Instant? {
        let value = try value(for: attribute)
        if value.isNull { return nil }
        guard let start = encoding.instant(of: value, zone: zone) else { throw error(.wrongKind, attribute) }
        return start
    }

    /// Sets a date in the attribute's format; nil: NULL.
    ///
    /// - Throws: what ``setValue(_:for:)`` throws.
    public func setInstant(
        _ instant: Instant?, for attribute: String, encoding: DateEncoding, zone: CalendarZone = .utc
    ) throws {
        try setValue(instant.map { encoding.value(of: $0, zone: zone) } ?? .null, for: attribute)
    }
}
