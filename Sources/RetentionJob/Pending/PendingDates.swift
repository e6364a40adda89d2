import PriceStore
import RetentionPolicy

/// Writes the dates of pending rows in the formats in which the rules read them.
struct PendingDates {
    /// What the rules say about one attribute.
    struct Format {
        var attribute: String
        /// The distinct formats, each with the first rule that uses it.
        var encodings: [(encoding: DateEncoding, rule: String)]
    }

    let zone: CalendarZone
    /// Entity and attribute in lower case → format. An attribute whose rules leave the format to the store has no encodings.
    private var formats: [String: [String: Format]] = [:]

    /// All rules count, including disabled ones: the format of a date does not depend on whether rows are deleted.
    init(_ policy: Policy) {
        zone = policy.timezone
        for rule in policy.rules {
            let attribute = rule.dateAttribute.folded
            var format =
                formats[rule.entity.folded, default: [:]][attribute]
                ?? Format(attribute: rule.dateAttribute, encodings: [])
            if let encoding = rule.dateFormat, !format.encodings.contains(where: { $0.encoding == encoding }) {
                format.encodings.append((encoding, rule.name))
            }
            formats[rule.entity.folded, default: [:]][attribute] = format
        }
    }

    /// The date attributes of an entity, by name; empty: it has no rule.
    func formats(of entity: String) -> [Format] {
        (formats[entity.folded] ?? [:]).values.sorted { $0.attribute < $1.attribute }
    }

    /// The format of an attribute; nil: no rule gives one.
    func encoding(entity: String, attribute: String) -> DateEncoding? {
        formats[entity.folded]?[attribute.folded]?.encodings.first?.encoding
    }

    /// A date of a pending file as the store will hold it. NULL and empty text become NULL.
    ///
    /// - Throws: ``BadLine`` if the value is not a date.
    func value(_ value: StoreValue, in encoding: DateEncoding, attribute: String) throws(BadLine) -> StoreValue {
        let stored: StoreValue
        switch (value, encoding) {
        case (.null, _), (.text(""), _):
            return .null
        case (.text(let text), .iso8601), (.text(let text), .native):
            stored = try written(text, in: encoding, attribute: attribute)
        case (.text, .pattern):
            stored = value
        case (.text(let text), _):
            // Digits alone are in the unit of the format, even if they could also be a reduced date.
            switch PendingNumber.readDate(text, allowsExponent: false) {
            case .number(let number): stored = number
            case .inexact: throw .inexact(attribute)
            case .notANumber: stored = try written(text, in: encoding, attribute: attribute)
            }
        case (.integer(let number), .iso8601), (.integer(let number), .native):
            stored = try written(String(number), in: encoding, attribute: attribute)
        default:
            stored = value
        }
        guard encoding.read(stored, zone: zone).start != nil else { throw notADate(attribute, encoding) }
        return stored
    }

    private func written(_ text: String, in encoding: DateEncoding, attribute: String) throws(BadLine) -> StoreValue {
        guard let instant = Instant(iso8601: text, zone: zone) else { throw notADate(attribute, encoding) }
        return encoding.value(of: instant, zone: zone)
    }

    private func notADate(_ attribute: String, _ encoding: DateEncoding) -> BadLine {
        if encoding.datePattern != nil { return BadLine("\(attribute): not a date as \(encoding.rawValue) writes it") }
        let digits = encoding == .iso8601 || encoding == .native ? "" : ", nor a number in \(encoding.rawValue)"
        return BadLine("\(attribute): not an ISO 8601 date\(digits)")
    }
}
