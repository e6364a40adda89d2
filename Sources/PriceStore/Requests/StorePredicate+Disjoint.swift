extension StorePredicate {
    /// Whether no row can match both predicates, because each requires another value of the same attribute. False if
    /// that is not certain.
    package func isDisjoint(from other: StorePredicate) -> Bool {
        let (first, second) = (demandedValues, other.demandedValues)
        guard !first.isEmpty, !second.isEmpty else { return false }
        return first.contains { name, values in
            second.contains { otherName, otherValues in
                name == otherName
                    && values.allSatisfy { value in otherValues.allSatisfy { value.isCertainlyOther(than: $0) } }
            }
        }
    }

    /// The rows whose date can be read.
    package static func readable(_ date: DateAttribute) -> StorePredicate {
        .dateCompare(date, .greaterOrEqual, date.earliest)
    }

    /// The values that attributes must have one of, by lower-cased name.
    private var demandedValues: [(name: String, values: [StoreValue])] {
        switch self {
        case .compare(let name, .equal, let value): [(name.lowercased(), [value])]
        case .isIn(let name, let values): [(name.lowercased(), values)]
        case .and(let parts): parts.flatMap(\.demandedValues)
        default: []
        }
    }
}

extension StoreFetchRequest {
    /// The readable rows of an entity that match a filter and that none of some deletes names itself.
    package static func spared(
        _ entity: String, date: DateAttribute, filter: StorePredicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) -> StoreFetchRequest {
        let named = deletes.map(\.fetchRequest).filter { $0.entity == entity }
        return StoreFetchRequest(entity: entity, predicate: .readable(date) && filter, fetchLimit: limit)
            .besides(named.map(\.predicate))
    }
}

extension StoreValue {
    /// Whether the two values differ under every collation and column affinity of SQLite, regardless of letter case,
    /// trailing blanks and numbers written as text.
    fileprivate func isCertainlyOther(than other: StoreValue) -> Bool {
        switch (self, other) {
        case (.integer(let a), .integer(let b)):
            // A column for doubles holds larger ones inexactly.
            a != b && max(a.magnitude, b.magnitude) < 1 << 53
        case (.text(let a), .text(let b)): a.isPlainName && b.isPlainName && a.lowercased() != b.lowercased()
        default: false
        }
    }
}

extension String {
    /// Whether the text begins with an ASCII letter, followed by ASCII letters, digits, `_`, `.`, `:` and `-`.
    fileprivate var isPlainName: Bool {
        func isLetter(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 }
        guard let first = utf8.first, isLetter(first) else { return false }
        return utf8.allSatisfy {
            isLetter($0) || UInt8(ascii: "0")...UInt8(ascii: ":") ~= $0 || "_.-".utf8.contains($0)
        }
    }
}
