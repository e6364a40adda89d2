package import PriceStore
package import RetentionPolicy

extension Policy {
    /// The policy with what its rules leave to the store to say: the formats of dates, and what a `column` holds.
    ///
    /// A Core Data model, or a column's type in a server, says how a date is read; a plain SQLite file does not.
    package func completed(from reader: any RetentionReader) throws(StoreError) -> Policy {
        var policy = self
        for index in rules.indices {
            let rule = rules[index]
            guard let entity = try reader.entity(named: rule.entity) else { continue }
            let named = rule.column.flatMap { entity.attribute(column: $0) }
            policy.rules[index].dateName = named?.name
            guard let stored = (named ?? entity.attribute(named: rule.dateAttribute))?.dateEncoding,
                stored == rule.dateFormat ?? stored
            else { continue }
            policy.rules[index].dateFormat = stored
            policy.rules[index].isFormatStored = true
        }
        return policy
    }
}
