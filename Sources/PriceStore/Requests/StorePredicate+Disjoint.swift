extension StorePredicate {
    /// Whether no row can match both predicates, because each requires another value of the same attribute; false also if that is not
    /// certain.
    package func isDisjoint(from other: StorePredicate) -> Bool {
        if excludes(other) || other.excludes(self) { return true }
        let (first, second) = (demandedValues, other.demandedValues)
        guard !first.isEmpty, !second.isEmpty else { return false }
        return first.contains { name, values in
            second.contains { otherName, otherValues in
                name == otherName
                    && values.allSatisfy { value in otherValues.allSatisfy { value.isCertainlyOther(than: $0) } }
            }
        }
    }

    /// Whether a part of the other predicate must not be true.
    private func excludes(_ other: StorePredicate) -> Bool {
        func parts(_ predicate: StorePredicate) -> [StorePredicate] {
            if case .and(let parts) = predicate { parts } else { [predicate] }
        }
        let others = parts(other)
        return parts(self).contains { part in
            switch part {
            case .notTrue(.isIn(let name, let values)):
                others.contains { if case .isIn(name, let own) = $0 { Set(own).isSubset(of: values) } else { false } }
            case .notTrue(let rows): others.contains(rows)
            default: false
            }
        }
    }

    /// The rows whose date can be read.
    package static func readable(_ date: DateAttribute) -> StorePredicate {
        .dateCompare(date, .greaterOrEqual, date.earliest)
    }

    /// The values of which attributes must have one. Names that differ in case may be one attribute or two.
    private var demandedValues: [(name: String, values: [StoreValue])] {
        switch self {
        case .compare(let name, .equal, let value): [(name, [value])]
        case .isIn(let name, let values): [(name, values)]
        case .and(let parts): parts.flatMap(\.demandedValues)
        default: []
        }
    }
}

extension StoreFetchRequest {
    /// The readable rows of an entity that match a filter and that none of the deletes names.
    package static func spared(
        _ entity: String, date: DateAttribute, filter: StorePredicate, by deletes: [BatchDeleteRequest], limit: Int?
    ) -> StoreFetchRequest {
        let named = deletes.map(\.fetchRequest).filter { $0.entity == entity }
        return StoreFetchRequest(entity: entity, predicate: .readable(date) && filter, fetchLimit: limit)
            .besides(named.map(\.predicate))
    }
}

extension StoreValue {
    /// Whether the two values differ under every collation and column type, regardless of letter case, blanks, punctuation, leading zeros,
    /// and numbers written as text.
    fileprivate func isCertainlyOther(than other: StoreValue) -> Bool {
        switch (self, other) {
        case (.integer(let a), .integer(let b)):
            // A column for doubles does not hold larger ones exactly.
            a != b && max(a.magnitude, b.magnitude) < 1 << 53
        case (.text(let a), .text(let b)): a.plainForm.flatMap { a in b.plainForm.map { a != $0 } } ?? false
        default: false
        }
    }
}

extension String {
    /// The ASCII letters and digits of a name, in lower case and without the leading zeros of numbers; nil: the name does not begin with a
    /// letter, or has characters other than these and `_`, `.`, `:`, `-`.
    fileprivate var plainForm: [UInt8]? {
        var form: [UInt8] = []
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): form.append(byte | 0x20)
            case UInt8(ascii: "0")...UInt8(ascii: "9") where form.isEmpty: return nil
            case UInt8(ascii: "0") where form.last.map { $0 > UInt8(ascii: "9") } ?? true: continue
            case UInt8(ascii: "0")...UInt8(ascii: "9"): form.append(byte)
            case _ where !form.isEmpty && "_.:-".utf8.contains(byte): continue
            default: return nil
            }
        }
        return form.isEmpty || mayBeOtherType ? nil : form
    }

    /// Whether a column of another type than text may read the text as a value with several spellings: a boolean, a date, an address, an
    /// interval or a number.
    private var mayBeOtherType: Bool {
        let text = lowercased()
        if Self.spelledValues.contains(text) { return true }
        let hasDigit = text.utf8.contains { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        if hasDigit, text.first == "p" || text.first == "j" || Self.dayWords.contains(where: text.hasPrefix) {
            return true
        }
        return text.contains(":") && text.allSatisfy { $0.isHexDigit || ":.-".contains($0) }
    }

    private static let spelledValues: Set<String> = [
        "t", "f", "y", "n", "tr", "tru", "true", "fa", "fal", "fals", "false", "ye", "yes", "no", "on", "of", "off",
        "now",
        "today", "tomorrow", "yesterday", "epoch", "infinity", "inf", "nan", "allballs",
    ]
    private static let dayWords = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "sun", "mon", "tue", "wed",
        "thu",
        "fri", "sat",
    ]
}
