import PriceStore

extension Entity {
    /// Why a `where` cannot be compared with the attributes as written, as a sentence without a full stop, with the attribute's name; nil:
    /// it can.
    ///
    /// A decimal number becomes text with other digits: 1.50 is compared as 1.5.
    func textTrouble(of filter: StorePredicate) -> (attribute: String, reason: String)? {
        for leaf in filter.leaves {
            let (written, values): (String, [StoreValue])
            switch leaf {
            case .compare(let name, _, let value): (written, values) = (name, [value])
            case .isIn(let name, let list): (written, values) = (name, list)
            default: continue
            }
            guard let attribute = attribute(named: written) else { continue }
            let column = "\(name).\(attribute.name)"
            if attribute.affinity == .text, values.contains(where: { if case .real = $0 { true } else { false } }) {
                return (
                    written, "\(column) is a column of text: put the number in quotes, with the digits that are stored"
                )
            }
            if let unknown = values.first(where: { $0 != .null && !attribute.holds($0) }) {
                let labels = attribute.labels.map { "'\($0)'" }.joined(separator: ", ")
                return (written, "\(column) has no value \(unknown); it has \(labels)")
            }
        }
        return nil
    }
}

extension Attribute {
    /// Whether a value can be in the column, as far as its type lists its values.
    fileprivate func holds(_ value: StoreValue) -> Bool {
        guard !labels.isEmpty else { return true }
        if case .text(let text) = value { return labels.contains(text) }
        return false
    }
}
