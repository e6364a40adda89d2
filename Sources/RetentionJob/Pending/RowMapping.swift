import PriceStore
import RetentionPolicy

/// Why a whole pending file cannot be imported, as a clause.
struct FileProblem: Error, Equatable {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}

/// Maps the records of one pending file to rows of the entity.
///
/// A column in `columns` is mapped to the attribute named there, any other column to the attribute of the same name. A column without an
/// attribute is an error.
struct RowMapping {
    /// The attribute for a column.
    private struct Target {
        enum Kind {
            case date(DateEncoding)
            case number
            case plain
        }
        var attribute: Attribute
        var kind: Kind
    }

    private let source: PendingSource
    private let entity: Entity
    private let dates: PendingDates
    private let constants: [String: StoreValue]
    private var targets: [Target] = []

    /// The entity's name, spelled as in the store.
    var entityName: String { entity.name }

    /// Prepares the mapping of a source.
    ///
    /// - Throws: ``FileProblem`` if a constant fits no attribute; ``PendingFolder`` detects that before the run begins.
    init(_ source: PendingSource, entity: Entity, dates: PendingDates) throws(FileProblem) {
        self.source = source
        self.entity = entity
        self.dates = dates
        var constants: [String: StoreValue] = [:]
        for (name, value) in source.constants {
            do throws(BadLine) {
                let target = try Self.target(name, in: entity, dates: dates)
                let numeral = source.numerals[name]
                constants[target.attribute.name] = try Self.value(
                    numeral.map { .text($0) } ?? value, isNumber: numeral != nil, for: target, dates: dates)
            } catch {
                throw FileProblem("constant '\(name)': \(error.reason)")
            }
        }
        self.constants = constants
    }

    /// Takes the columns of a CSV file.
    ///
    /// - Throws: ``FileProblem`` if they do not fit the entity; then nothing of the file may be saved.
    mutating func setHeader(_ fields: [StoreValue]) throws(FileProblem) {
        var names: [String] = []
        for (index, field) in fields.enumerated() {
            guard case .text(let name) = field, !name.isEmpty else {
                throw FileProblem("wrong header: column \(index + 1) has no name")
            }
            names.append(name)
        }
        if let missing = source.columns.keys.sorted().first(where: { !names.contains($0) }) {
            throw FileProblem(
                "wrong header: there is no column '\(missing)'\(NearestName.suggestion(for: missing, in: names))")
        }
        var seen: Set<String> = []
        targets = []
        for name in names {
            do throws(BadLine) {
                let target = try self.target(of: name)
                guard seen.insert(target.attribute.name).inserted else {
                    throw BadLine("two columns become '\(target.attribute.name)'")
                }
                targets.append(target)
            } catch {
                throw FileProblem("wrong header: \(error.reason)")
            }
        }
    }

    /// The values of a row.
    ///
    /// - Throws: ``BadLine`` if the record or one of its values is invalid.
    func values(_ content: PendingRecord.Content) throws(BadLine) -> [String: StoreValue] {
        var values = constants
        switch content {
        case .bad(let reason):
            throw BadLine(reason)
        case .fields(let fields):
            for (target, field) in zip(targets, fields) {
                values[target.attribute.name] = try Self.value(field, for: target, dates: dates)
            }
        case .members(let members):
            var seen: Set<String> = []
            for member in members {
                let target = try target(of: member.name)
                guard seen.insert(target.attribute.name).inserted else {
                    throw BadLine("two names become '\(target.attribute.name)'")
                }
                values[target.attribute.name] = try Self.value(
                    member.value, isNumber: member.isNumber, for: target, dates: dates)
            }
        }
        return values
    }

    private func target(of column: String) throws(BadLine) -> Target {
        let target = try Self.target(source.columns[column] ?? column, in: entity, dates: dates)
        guard constants[target.attribute.name] == nil else {
            throw BadLine("'\(target.attribute.name)' is a column and a constant")
        }
        return target
    }

    private static func target(
        _ name: String, in entity: Entity, dates: PendingDates
    ) throws(BadLine) -> Target {
        guard let attribute = entity.attribute(named: name) else {
            let nearest = NearestName.suggestion(for: name, in: entity.attributes.map(\.name))
            throw BadLine("\(entity.name) has no attribute '\(name)'\(nearest)")
        }
        guard !attribute.isGenerated else { throw BadLine("'\(attribute.name)' is computed by the store") }
        let kind: Target.Kind
        if let encoding = dates.encoding(entity: entity.name, attribute: attribute.name) {
            kind = .date(encoding)
        } else {
            kind = attribute.holdsNumbersOnly ? .number : .plain
        }
        return Target(attribute: attribute, kind: kind)
    }

    /// - Parameter isNumber: whether the value is the text of a number; otherwise it is text.
    private static func value(
        _ value: StoreValue, isNumber: Bool = false, for target: Target, dates: PendingDates
    ) throws(BadLine) -> StoreValue {
        let attribute = target.attribute
        switch (target.kind, value) {
        case (.date(let encoding), .text(let text)) where isNumber:
            guard case .number(let number) = PendingNumber.readDate(text, allowsExponent: true) else {
                throw .inexact(attribute.name)
            }
            return try dates.value(number, in: encoding, attribute: attribute.name)
        case (.date(let encoding), _): return try dates.value(value, in: encoding, attribute: attribute.name)
        case (.number, .text("")): return .null
        case (.number, .text(let text)): return try number(text, for: attribute, isNumber: true) ?? value
        case (.plain, .text(let text)) where attribute.affinity == .numeric || isNumber && attribute.affinity != .text:
            return try number(text, for: attribute, isNumber: isNumber) ?? value
        case (_, .integer(let integer)) where !PendingNumber.holds(integer, attribute):
            throw .inexact(attribute.name)
        default: return value
        }
    }

    /// The number in a text; nil: it is text, for a column that takes both.
    private static func number(
        _ text: String, for attribute: Attribute, isNumber: Bool
    ) throws(BadLine) -> StoreValue? {
        // In such a column SQLite converts text to a number, even with spaces around it.
        let digits = isNumber ? text : text.trimmingSpaces
        switch PendingNumber.read(digits, for: attribute) {
        case .number(let number): return isNumber ? number : nil
        case .inexact: throw .inexact(attribute.name)
        case .notANumber:
            guard isNumber else { return nil }
            throw BadLine("\(attribute.name): not a number")
        }
    }
}

extension BadLine {
    static func inexact(_ attribute: String) -> BadLine {
        BadLine("\(attribute): a number that the column cannot hold exactly")
    }
}

extension String {
    /// The text without the leading and trailing spaces that SQLite skips around a number.
    fileprivate var trimmingSpaces: String {
        let spaces: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0B, 0x0C, 0x0D]
        guard let first = utf8.firstIndex(where: { !spaces.contains($0) }),
            let last = utf8.lastIndex(where: { !spaces.contains($0) })
        else { return "" }
        return String(self[first...last])
    }
}

extension Attribute {
    /// Whether the column is declared for numbers. SQLite would store any text in it, and sums and comparisons would miss the price.
    fileprivate var holdsNumbersOnly: Bool {
        switch affinity {
        case .integer, .real: true
        case .numeric: declaredType.uppercased().hasPrefix("DEC") || declaredType.uppercased().hasPrefix("NUM")
        case .text, .none: false
        }
    }
}
