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
            guard let attribute = attribute(named: written), attribute.affinity == .text,
                values.contains(where: { if case .real = $0 { true } else { false } })
            else { continue }
            return (
                written,
                "\(name).\(attribute.name) is a column of text: put the number in quotes, with the digits that are stored"
            )
        }
        return nil
    }
}
