/// What the value of a key in the policy file may be.
indirect enum PolicyShape: Sendable {
    case version
    case text
    case ruleName
    case path
    /// The path of a store, or a `postgresql://` URL.
    case storeAddress
    case serverURL
    case modelPath
    case pattern
    case word([PolicyWord])
    case wordOr([PolicyWord], PolicyShape)
    case flag
    case integer(ClosedRange<Int>)
    /// A number greater than 0 and at most 1.
    case fraction
    case age
    /// A ``MaxAge``, or an ``AgesSetting``.
    case ages
    case size
    case duration(milliseconds: Bool)
    /// A date or an instant of ISO 8601.
    case date
    case zone
    case timeOfDay
    /// A program and its arguments: a list of words, or one word.
    case command
    case value
    /// A list of values of one shape, with a minimum count.
    case list(PolicyShape, atLeast: Int)
    case group([PolicyKey])
    /// A mapping with keys of the user's choice.
    case named(PolicyShape)
    case condition
    /// Either a scalar for the mapping's most important key, or the mapping.
    case scalarOrGroup(PolicyShape, [PolicyKey])
}

extension PolicyShape {
    /// Whether the value is the path of a file or folder.
    var isPath: Bool { if case .path = self { true } else { false } }

    /// The keys of the mapping, or of the mappings inside the value.
    var keys: [PolicyKey] {
        switch self {
        case .group(let keys), .scalarOrGroup(_, let keys): keys
        case .list(let shape, _), .named(let shape), .wordOr(_, let shape): shape.keys
        case .condition: PolicyKey.operators
        case .ages: PolicyKey.ages
        default: []
        }
    }
}

/// A word that is a possible value of a key.
struct PolicyWord: Sendable {
    let name: String
    /// Why the word cannot be used; nil: it can.
    var unavailable: String?
    /// Names that other programs use for the word. They are suggested, not accepted.
    var otherNames: [String] = []
    /// Whether the schema lists it.
    var isListed = true
}

extension PolicyWord: ExpressibleByStringLiteral {
    init(stringLiteral name: String) { self.init(name: name) }

    static func of<Words: CaseIterable & RawRepresentable<String>>(_ type: Words.Type) -> [PolicyWord] {
        type.allCases.map { PolicyWord(name: $0.rawValue) }
    }

    static let refusals = RefusalCode.allCases.map { code in
        let name = code.rawValue
        if !RefusalCode.acceptable.contains(code) {
            return PolicyWord(name: name, unavailable: "'\(name)' cannot be accepted", isListed: false)
        }
        guard RefusalCode.acceptableByHandOnly.contains(code) else { return PolicyWord(name: name) }
        return PolicyWord(
            name: name,
            unavailable: "'\(name)' is accepted by hand for one run, with --accept \(name), never by a policy",
            isListed: false)
    }
}

/// A key of the policy file: one row of the table in `PolicyKey+Table.swift`.
struct PolicyKey: Sendable {
    let name: String
    let shape: PolicyShape
    let isRequired: Bool
    /// Why the key cannot be used; nil: it can.
    let unavailable: String?
    /// The purpose of the key, as a sentence without a full stop.
    let summary: String

    init(_ name: String, _ shape: PolicyShape, required: Bool = false, unavailable: String? = nil, _ summary: String) {
        self.name = name
        self.shape = shape
        self.isRequired = required
        self.unavailable = unavailable
        self.summary = summary
    }
}
