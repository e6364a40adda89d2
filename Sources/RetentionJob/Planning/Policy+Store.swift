package import PriceStore
package import RetentionPolicy

extension Policy {
    /// The policy, completed with facts from the store: the entities of patterns, the formats of dates, what a `column` holds, and
    /// aggregates over the rows.
    ///
    /// A Core Data model, or a column's type on a server, declares how a date is read; a plain SQLite file does not. The times of candles
    /// have the format of their source rows' dates, even before their table exists.
    package func completed(from reader: any RetentionReader) throws(StoreError) -> Policy {
        var policy = try expanded(in: reader)
        for index in policy.rules.indices {
            let rule = policy.rules[index]
            guard let entity = try reader.entity(named: rule.entity) else { continue }
            let named = rule.column.flatMap { entity.attribute(column: $0) }
            policy.rules[index].dateName = named?.name
            guard let stored = (named ?? entity.attribute(named: rule.dateAttribute))?.dateEncoding,
                stored == rule.dateFormat ?? stored
            else { continue }
            policy.rules[index].dateFormat = stored
            policy.rules[index].isFormatStored = true
        }
        while let (index, maker) = policy.candlesWithoutFormat {
            policy.rules[index].dateFormat = maker.dateFormat
            policy.rules[index].isFormatStored = maker.isFormatStored
        }
        for (index, rule) in policy.rules.enumerated() {
            guard let date = rule.date(zone: timezone), let entity = try reader.entity(named: rule.entity) else {
                continue
            }
            policy.rules[index].aggregates = try reader.aggregates(ofEntity: entity.name, by: date)
        }
        return policy
    }

    /// A rule for candles without a format, and the rule with a format that makes these candles; nil: there is none.
    private var candlesWithoutFormat: (index: Int, maker: Rule)? {
        for (index, rule) in rules.enumerated() where rule.dateFormat == nil {
            let maker = rules.first { maker in
                guard maker.dateFormat != nil, maker.makes(rule.entity), let names = maker.rollup?.names else {
                    return false
                }
                return [.time, .openTime, .closeTime].contains {
                    names[$0 as CandleField].folded == rule.dateAttribute.folded
                }
            }
            if let maker { return (index, maker) }
        }
        return nil
    }
}
