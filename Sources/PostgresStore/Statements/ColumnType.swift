import PriceStore

/// The type of a column, as far as dates and comparisons need it.
enum ColumnType: Hashable {
    /// `smallint`, `integer`, `bigint`.
    case integer
    /// `real`, `double precision`.
    case real
    /// `numeric`.
    case numeric
    /// `text`, `varchar`, `char`.
    case text
    /// `timestamp with time zone`.
    case timestamptz
    /// `timestamp without time zone`: a local time in the policy's zone.
    case timestamp
    /// `date`: a day in the policy's zone.
    case date
    /// Any other type.
    case other

    /// The type of a column, by the `oid` of its type; for a domain, by that of its base type.
    init(oid: Int) {
        self =
            switch oid {
            case 20, 21, 23: .integer
            case 700, 701: .real
            case 1700: .numeric
            case 25, 1042, 1043: .text
            case 1184: .timestamptz
            case 1114: .timestamp
            case 1082: .date
            default: .other
            }
    }

    var affinity: Attribute.Affinity {
        switch self {
        case .integer: .integer
        case .real: .real
        case .numeric: .numeric
        case .text: .text
        case .timestamptz, .timestamp, .date, .other: .none
        }
    }

    var isDate: Bool { [.timestamptz, .timestamp, .date].contains(self) }
}

extension StoreValue {
    /// A value that the server sent as text; `type` is the `oid` of its type.
    init(_ text: String?, type: Int) {
        guard let text else {
            self = .null
            return
        }
        let value: StoreValue? =
            switch type {
            case 20, 21, 23, 26: Int64(text).map(StoreValue.integer)
            case 700, 701: Double(text).map(StoreValue.real)
            case 1700: Int64(text).map(StoreValue.integer) ?? Double(text).map(StoreValue.real)
            case 16: .text(text == "t" ? "true" : "false")
            case 17: .blob(StoreValue.bytes(text))
            default: nil
            }
        self = value ?? .text(text)
    }

    /// The bytes of a text such as \x00ff.
    private static func bytes(_ text: String) -> [UInt8] {
        let digits = text.utf8.dropFirst(2).map { ($0 < 58 ? $0 : $0 &+ 9) & 15 }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// The value as it is bound; nil for NULL.
    var serverText: String? {
        switch self {
        case .null: return nil
        case .integer(let value): return String(value)
        case .real(let value): return value.serverText
        case .text(let value): return value
        case .blob(let bytes):
            return "\\x" + bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
    }
}

extension Double {
    /// The number in the server's format, with every digit.
    var serverText: String {
        isNaN ? "NaN" : isInfinite ? (self < 0 ? "-Infinity" : "Infinity") : "\(self)"
    }
}

extension ColumnType {
    /// Whether a type, by its name, holds all values of another one with the same digits and letters.
    static func name(_ type: String, holdsAllOf other: String) -> Bool {
        func parts(_ name: String) -> (name: Substring, numbers: [Int]) {
            let numbers = name.drop { $0 != "(" }.split { !$0.isNumber && $0 != "-" }.compactMap { Int($0) }
            return (name.prefix { $0 != "(" }, numbers)
        }
        let (new, old) = (parts(type), parts(other))
        switch (old.name, new.name) {
        case ("smallint", "integer"), ("smallint", "bigint"), ("integer", "bigint"): return true
        case ("smallint", "numeric"), ("integer", "numeric"), ("bigint", "numeric"): return new.numbers.isEmpty
        case ("character varying", "text"), ("text", "character varying"), ("character varying", "character varying"):
            return new.numbers.isEmpty || old.numbers.first.map { $0 <= new.numbers[0] } ?? false
        case ("numeric", "numeric"):
            guard new.numbers.count == 2 else { return new.numbers.isEmpty }
            return old.numbers.count == 2 && old.numbers[0] <= new.numbers[0] && old.numbers[1] == new.numbers[1]
        default: return false
        }
    }
}
