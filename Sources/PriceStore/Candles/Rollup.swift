/// How the rows of a rule become candles in the transaction that deletes them.
package struct Rollup: Hashable, Sendable {
    /// Where the prices are read from.
    package enum Source: Hashable, Sendable {
        /// One price for each row; nil: there are no volumes.
        case prices(String, volume: String?)
        /// Candles of shorter buckets, by the names of their attributes.
        case candles(CandleNames)
    }

    package var target: String
    package var buckets: CandleBuckets
    package var groupedBy: [String]
    package var source: Source
    package var names: CandleNames
    /// The date attribute of the rows. The times of candles are written in its format.
    package var date: DateAttribute
    /// Whether a price may be 0 or less, such as a spread or a yield.
    package var allowsNonPositive: Bool

    package init(
        target: String, buckets: CandleBuckets, groupedBy: [String], source: Source, names: CandleNames,
        date: DateAttribute, allowsNonPositive: Bool = false
    ) {
        self.target = target
        self.buckets = buckets
        self.groupedBy = groupedBy
        self.source = source
        self.names = names
        self.date = date
        self.allowsNonPositive = allowsNonPositive
    }

    /// Says that rows cannot be added to a candle whose time is spelled in another way than a run spells it.
    package func otherSpelling(of start: Instant) -> String {
        "\(target) has a candle of \(start.rfc3339) whose time is spelled in another way than a run spells it, so rows cannot be "
            + "added to it"
    }

    /// The rows with a price, which is positive unless ``allowsNonPositive``, and with a volume or none. Numbers are finite. The prices of
    /// candles were checked before.
    package var isPriced: StorePredicate {
        switch source {
        case .prices(let price, let volume):
            let isPrice =
                allowsNonPositive ? StorePredicate.isNumber(price) : .isNumber(price, atLeast: .leastNonzeroMagnitude)
            return volume.map { isPrice && (.isNull($0) || .isNumber($0)) } ?? isPrice
        case .candles(let names):
            let numbers = [CandleField.open, .high, .low, .close, .volume, .priceVolume].map {
                StorePredicate.isNumber(names[$0])
            }
            let times = [CandleField.openTime, .closeTime].map { time in
                StorePredicate.date(DateRange(date.named(names[time])))
            }
            return .and(numbers + [.between(names[.count], .integer(1), .integer(.max))] + times)
        }
    }
}

/// A field of a candle, besides the values of its group.
package enum CandleField: String, Hashable, Sendable, CaseIterable {
    case time, open, high, low, close, volume, count
    case openTime = "open_time"
    case closeTime = "close_time"
    case priceVolume = "price_volume"
}

/// The names of the fields in a table of candles, where they are not the usual ones.
package struct CandleNames: Hashable, Sendable {
    /// The table's names, by the usual ones.
    package var others: [String: String]

    package init(_ others: [String: String] = [:]) { self.others = others }

    package subscript(field: CandleField) -> String { others[field.rawValue] ?? field.rawValue }

    package subscript(group name: String) -> String { others[name] ?? name }
}

extension Rollup {
    /// The time of the candle of a bucket.
    ///
    /// It must be read as the bucket's start. The first of two hours that clocks repeat has no local time of its own, so this throws for
    /// it.
    ///
    /// - Parameter isLocal: whether the store keeps dates without their offset from UTC.
    package func time(of bucket: Range<Instant>, isLocal: Bool = false) throws(CandleError) -> StoreValue {
        let (start, zone) = (bucket.lowerBound, date.zone)
        for encoding in isLocal ? [date.encoding, .yyyymmddhhmmss] : [date.encoding]
        where encoding.instant(of: encoding.value(of: start, zone: zone), zone: zone) != start {
            throw .unwritable(start, date.encoding)
        }
        return date.encoding.value(of: start, zone: zone)
    }
}

extension DateAttribute {
    /// The same format and bounds for another attribute.
    package func named(_ name: String) -> DateAttribute {
        DateAttribute(
            name: name, encoding: encoding, zone: zone, earliest: earliest, latest: latest, trustsZero: trustsZero)
    }
}

extension Rollup {
    /// The table of candles that a run creates for the rows of an entity; nil: the entity lacks an attribute.
    ///
    /// A column can store what its source column can store. A sum of products can be a double if either column can hold one.
    package func table(for entity: Entity) -> Entity? {
        func attribute(_ name: String, as field: String, isRequired: Bool = false) -> Attribute? {
            entity.attribute(named: name).map {
                Attribute(name: names.others[field] ?? field, affinity: $0.affinity, isRequired: isRequired)
            }
        }
        func number(_ field: CandleField, _ affinities: Attribute.Affinity...) -> Attribute {
            let first = affinities[0]
            let isOne = affinities.allSatisfy { $0 == first }
            return Attribute(
                name: names[field], affinity: isOne ? first : affinities.contains(.real) ? .real : .numeric)
        }
        var found: [Attribute?] = groupedBy.map { attribute($0, as: $0) }
        found.append(attribute(date.name, as: CandleField.time.rawValue, isRequired: true))
        switch source {
        case .prices(let price, let volume):
            guard let prices = entity.attribute(named: price)?.affinity else { return nil }
            let volumes = volume.map { entity.attribute(named: $0)?.affinity } ?? .integer
            guard let volumes else { return nil }
            found += [CandleField.open, .high, .low, .close].map { number($0, prices) }
            found += [number(.volume, volumes), number(.priceVolume, prices, volumes)]
            found += [CandleField.openTime, .closeTime].map { attribute(date.name, as: $0.rawValue) }
        case .candles(let others):
            found += CandleField.allCases.filter { $0 != .time && $0 != .count }
                .map { attribute(others[$0], as: $0.rawValue) }
        }
        found.append(Attribute(name: names[.count], affinity: .integer))
        var attributes = found.compactMap(\.self)
        guard attributes.count == found.count else { return nil }
        let order = groupedBy.map { names[group: $0] } + CandleField.allCases.map { names[$0] }
        attributes = order.compactMap { name in attributes.first { $0.name == name } }
        return Entity(name: target, attributes: attributes, primaryKey: key)
    }

    /// The attributes of the target that identify a candle.
    package var key: [String] { groupedBy.map { names[group: $0] } + [names[.time]] }
}

extension SurveyRequest {
    /// Makes the rows that have a price become candles; nil changes nothing.
    package mutating func take(_ rollup: Rollup?) {
        guard let rollup else { return }
        self.deleting.rollup = rollup
        filter = filter && rollup.isPriced
    }
}
