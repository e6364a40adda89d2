/// How a text writes a date, with the letters of `strptime`: the `pattern` of a `date_format`.
///
/// The whole text must fit. A number of two digits may lack its leading zero, unless a digit is beside it. Names are English, in any case.
///
/// ```swift
/// let encoding = DatePattern("%d.%m.%Y %H:%M").map(DateEncoding.pattern)
/// ```
public struct DatePattern: Hashable, Sendable {
    /// What a letter stands for.
    package enum Field: Character, Hashable, Sendable, CaseIterable {
        case year = "Y"
        case month = "m"
        case monthName = "b"
        case day = "d"
        case dayName = "a"
        case hour = "H"
        case minute = "M"
        case second = "S"
        case fraction = "f"
        case offset = "z"
        case utc = "Z"

        /// The names of three letters, in lower case; nil: it has none.
        package var names: [Substring]? { DatePattern.names[self] }
        /// Where ISO 8601 text has the digits of the field, if a run writes some.
        fileprivate var digits: Range<Int>? {
            let ends: [Field: Range<Int>] = [
                .year: 0..<4, .month: 5..<7, .day: 8..<10, .hour: 11..<13, .minute: 14..<16, .second: 17..<19,
                .fraction: 20..<26,
            ]
            return ends[self]
        }
    }

    /// What the text has next.
    package enum Part: Hashable, Sendable {
        case byte(UInt8)
        /// A field; `isFixed`: a number of exactly two digits, because a digit is beside it.
        case field(Field, isFixed: Bool)
    }

    /// Why a text is no pattern, as a sentence without a full stop.
    package struct Mistake: Error { package let message: String }

    private static let names: [Field: [Substring]] = [
        .monthName: "jan feb mar apr may jun jul aug sep oct nov dec".split(separator: " "),
        .dayName: "sun mon tue wed thu fri sat".split(separator: " "), .utc: ["utc", "gmt"],
    ]

    /// The pattern as it is written.
    public let text: String
    package private(set) var parts: [Part] = []
    private var fields: Set<Field> = []
    package private(set) var isDay = false
    package var isHour: Bool { !isDay && !fields.contains(.minute) }
    /// Whether a text says that it is in UTC, so that an offset must be 0.
    package private(set) var isUTC = false
    /// Whether a text says how far it is from UTC.
    package var hasOffset: Bool { isUTC || fields.contains(.offset) }

    /// Makes a pattern such as `%d.%m.%Y %H:%M`; nil: it has other letters, or they are no date.
    public init?(_ text: String) {
        guard let pattern = try? DatePattern(checking: text) else { return nil }
        self = pattern
    }

    package init(checking text: String) throws(Mistake) {
        self.text = text
        guard text.utf8.count <= 100,
            !text.unicodeScalars.contains(where: { $0.value < 32 || "'\"\\^\u{7F}".unicodeScalars.contains($0) })
        else {
            throw Mistake(
                message: "a pattern has at most 100 bytes, without quotes, backslashes, carets and control characters")
        }
        var rest = Substring(text)
        while let character = rest.popFirst() {
            guard character == "%", case let letter = rest.popFirst() ?? " ", letter != "%" else {
                parts += String(character).utf8.map(Part.byte)
                continue
            }
            guard let field = Field(rawValue: letter), fields.insert(field).inserted else {
                let letters = Field.allCases.map { "%\($0.rawValue)" }.joined(separator: " ")
                throw Mistake(
                    message: letter == "y"
                        ? "'%y' is a year without its century, which nobody knows; a pattern needs %Y"
                        : "'%\(letter)' is not one of the letters \(letters), or is in the pattern twice")
            }
            parts.append(.field(field, isFixed: false))
        }
        let isNumber = parts.map { part in
            switch part {
            case .byte(let byte): 48...57 ~= byte
            case .field(let field, _): field.digits != nil
            }
        }
        for index in parts.indices {
            guard case .field(let field, _) = parts[index] else { continue }
            let isBefore =
                index + 1 < parts.count && (isNumber[index + 1] || field == .offset && parts[index + 1] == .byte(58))
            if isBefore, field == .fraction || field == .offset {
                throw Mistake(message: "a digit or colon follows '%\(field.rawValue)', so nobody knows where it ends")
            }
            parts[index] = .field(field, isFixed: isBefore || index > 0 && isNumber[index - 1])
        }
        (isDay, isUTC) = (!fields.contains(.hour), fields.contains(.utc))
        guard fields.isSuperset(of: [.year, .day]), fields.contains(.month) != fields.contains(.monthName) else {
            throw Mistake(message: "a pattern needs %Y, %d, and either %m or %b")
        }
        let times = [Field.hour, .minute, .second, .fraction].map { fields.contains($0) }
        guard zip(times, times.dropFirst()).allSatisfy({ $0 || !$1 }), !isDay || !hasOffset else {
            throw Mistake(message: "a time needs %H, then %M, then %S, then %f; %z and %Z need %H")
        }
        try requireNoZone()
    }

    /// Throws if text between the letters may say how far a date is from UTC, or which half of a day it is in: text is not read.
    private func requireNoZone() throws(Mistake) {
        for part in parts.split(whereSeparator: { if case .field = $0 { true } else { false } }) {
            let bytes = part.compactMap { if case .byte(let byte) = $0 { byte } else { nil } }
            let text = String(decoding: bytes, as: UTF8.self)
            // Expressions take a millisecond each to build, and most texts are a separator.
            guard text.count(where: \.isLetter) > 1 || text.contains(where: { $0.isNumber || "zZ".contains($0) }) else {
                continue
            }
            let capitals = text.uppercased()
            let halves = capitals.filter { $0 != "." }.split { !$0.isLetter }.filter { $0 == "AM" || $0 == "PM" }
            let found: (text: Substring, advice: String)? =
                if let name = ["UTC", "GMT"].first(where: capitals.contains) {
                    (Substring(name), "the date one of 'timezone'; write %Z for it")
                } else if let offset = capitals.firstMatch(of: /Z|[-+−] *[0-9]+(?::[0-9]+)*/) {
                    (offset.output, "the date one of 'timezone'; write %z for it")
                } else if let half = halves.first {
                    (half, "hours from 1 to 12 cannot be read; %H has hours from 0 to 23")
                } else if let name = text.firstMatch(of: /[A-Z]{2,}/) {
                    (name.output, "of the names of zones only UTC and GMT can be read, with %Z")
                } else {
                    nil
                }
            if let found { throw Mistake(message: "'\(found.text)' would be plain text, and \(found.advice)") }
        }
    }

    /// What GLOB and a regular expression take for the texts, with an expression for each field.
    package func expression(_ field: (Field, _ isFixed: Bool) -> String) -> String {
        let bytes = parts.flatMap { part -> [UInt8] in
            switch part {
            case .byte(let byte): "*?[.+$(){}|".utf8.contains(byte) ? [91, byte, 93] : [byte]
            case .field(let letter, let isFixed): Array(field(letter, isFixed).utf8)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The ``expression(_:)`` of the texts that a run writes.
    package var written: String {
        expression { field, _ in
            field.digits.map { String(repeating: "[0-9]", count: $0.count) }
                ?? (field == .offset ? "[+]0000" : field == .utc ? "UTC" : "[A-Z][a-z][a-z]")
        }
    }

    /// An instant as a run writes it. What the pattern has no letter for is lost.
    package func text(of instant: Instant, zone: CalendarZone) -> String {
        let civil = (hasOffset ? CalendarZone.utc : zone).civil(of: instant)
        let iso = Array(
            CalendarZone.utc.instant(of: civil).text(separator: "T", end: ".000000", shortensFraction: false).utf8)
        let bytes = parts.flatMap { part -> [UInt8] in
            switch part {
            case .byte(let byte): return [byte]
            case .field(.offset, _): return Array("+0000".utf8)
            case .field(.utc, _): return Array("UTC".utf8)
            case .field(let field, _):
                if let digits = field.digits { return Array(iso[digits]) }
                let place = field == .monthName ? civil.date.month - 1 : ((civil.date.dayNumber + 4) % 7 + 7) % 7
                return (field.names?[place].utf8).map { [($0.first ?? 0) - 32] + $0.dropFirst() } ?? []
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
