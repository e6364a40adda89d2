import PriceStore

/// The JSON Schema (draft 2020-12) of `retention.yaml`, for editors and validators, generated from the reader's tables of keys.
///
/// It accepts every file that the reader accepts in a build with all engines. It does not find all mistakes, such as contradicting dates;
/// ``PolicyFile`` finds them all.
package enum PolicySchema {
    package static let document: JSONText = .object(
        [
            .init("$schema", "https://json-schema.org/draft/2020-12/schema"),
            .init("title", "retention.yaml"),
            .init("description", "Which rows of a store expire, and how the job reports it"),
        ] + object(PolicyKey.file, isComplete: true).members
            + [.init("$defs", .object(definitions))])

    // MARK: Groups

    /// A mapping with known keys.
    ///
    /// - Parameters:
    ///   - isComplete: whether required keys must be present; in `defaults` they need not be.
    ///   - others: the values of other keys; false: there are none.
    private static func object(_ keys: [PolicyKey], isComplete: Bool, others: JSONText = false) -> JSONText {
        let properties = keys.map { key in
            JSONText.Member(key.name, property(key, isComplete: isComplete))
        }
        let needed = keys.filter { $0.isRequired && isComplete }.map(\.name)
        let isRule = needed.contains("date_attribute")
        let required = needed.filter { $0 != "date_attribute" }.map { JSONText.string($0) }
        return .object(
            [.init("type", "object"), .init("properties", .object(properties))]
                + (required.isEmpty ? [] : [.init("required", .array(required))])
                + [.init("additionalProperties", others)] + (isRule ? dateRules : []))
    }

    /// A rule names its date, except for a Core Data store's history.
    private static let dateRules: [JSONText.Member] = [
        .init("if", ["properties": ["entity": ["const": .string(Entity.persistentHistory)]], "required": ["entity"]]),
        .init(
            "then", ["propertyNames": ["enum": .array(PolicyKey.ofHistory.sorted().map { .string($0) })]]),
        .init("else", ["required": ["date_attribute"]]),
    ]

    private static func property(_ key: PolicyKey, isComplete: Bool) -> JSONText {
        let inside = isComplete && !inheritableNames.contains(key.name) && key.name != "defaults"
        var text = key.summary + "."
        if let units = key.shape.unitText { text += " Units: \(units)." }
        return JSONText.object([.init("description", .string(text))])
            .adding(node(key.shape, isComplete: inside).members)
            // A rule has a word of that name.
            .adding(key.name == "archive" && !key.shape.keys.isEmpty ? archiveRules : [])
    }

    private static let inheritableNames = Set(PolicyKey.inheritable.map(\.name))

    /// A store has one address, and each kind of store has its own keys.
    private static let storeRules: [JSONText.Member] = [
        .init("oneOf", [["required": ["path"]], ["required": ["url"]], ["required": ["files"]]]),
        .init(
            "if",
            ["properties": ["path": ["not": ["pattern": .string("^" + serverPrefix)]]], "required": ["path"]]),
        .init("then", ["properties": ["password_file": false, "max_replication_lag": false]]),
        .init("else", ["properties": ["model": false]]),
    ]

    private static let archiveRules: [JSONText.Member] = [
        .init("oneOf", [["required": ["folder"]], ["required": ["schema"]]])
    ]

    // MARK: Values

    private static func node(_ shape: PolicyShape, isComplete: Bool) -> JSONText {
        switch shape {
        case .version: ["type": "integer", "const": 1]
        case .ruleName: ["type": "string", "pattern": "^[a-z0-9._-]+$"]
        case .pattern: ["type": "string", "pattern": .string("^(?!~$|~/)\(anything)\\.(?:\(anyCase("csv|ndjson")))$")]
        case .modelPath:
            ["allOf": [reference("path"), ["pattern": "\\.momd?/?$"]]]
        case .serverURL: ["type": "string", "pattern": .string("^" + serverPrefix)]
        case .word(let words): ["enum": .array(words.filter(\.isListed).map { .string($0.name) })]
        case .wordOr(let words, let other):
            ["anyOf": [["enum": .array(words.map { .string($0.name) })], node(other, isComplete: isComplete)]]
        case .flag: ["type": "boolean"]
        case .integer(let range):
            JSONText.object([
                .init("type", "integer"), .init("minimum", .integer(Int64(range.lowerBound))),
            ]).adding(range.upperBound == .max ? [] : [.init("maximum", .integer(Int64(range.upperBound)))])
        case .fraction: ["type": "number", "exclusiveMinimum": 0, "maximum": 1]
        case .list(let item, let least):
            JSONText.object([
                .init("type", "array"), .init("items", node(item, isComplete: isComplete)),
            ]).adding(least == 0 ? [] : [.init("minItems", .integer(Int64(least)))])
                .adding(item.isText ? [.init("uniqueItems", true)] : [])
        case .group(let keys): object(keys, isComplete: isComplete)
        case .named(let item):
            ["type": "object", "additionalProperties": node(item, isComplete: isComplete), "minProperties": 1]
        case .scalarOrGroup(.storeAddress, let keys):
            [
                "anyOf": [
                    reference("store"),
                    object(keys, isComplete: isComplete).adding(storeRules),
                ]
            ]
        case .scalarOrGroup(let scalar, let keys):
            ["anyOf": [node(scalar, isComplete: isComplete), object(keys, isComplete: isComplete)]]
        case .text: reference("text")
        case .path: reference("path")
        case .storeAddress: reference("store")
        case .age: reference("age")
        case .size: ["type": "string", "pattern": "^[0-9]{1,15}(?:[kKMGT]i?)?B$"]
        case .ages:
            ["anyOf": [reference("age"), object(PolicyKey.ages, isComplete: true, others: reference("age"))]]
        case .duration(let milliseconds): reference(milliseconds ? "short_duration" : "duration")
        case .date: reference("date")
        case .zone: reference("zone")
        case .timeOfDay: ["type": "string", "pattern": "^(?:[01][0-9]|2[0-3]):[0-5][0-9]$"]
        case .command: reference("command")
        case .value: reference("value")
        case .condition: reference("condition")
        }
    }

    private static func reference(_ name: String) -> JSONText { ["$ref": .string("#/$defs/" + name)] }

    /// Definitions that many keys share.
    private static let definitions: [JSONText.Member] = [
        .init("text", ["type": "string", "pattern": "\\S"]),
        .init("path", ["type": "string", "pattern": .string("^" + pathPattern)]),
        .init("store", ["type": "string", "pattern": .string("^(?:\(serverPrefix)|\(pathPattern))")]),
        .init("age", ["type": "string", "pattern": .string(MaxAge.grammar.pattern)]),
        .init(
            "duration",
            ["type": "string", "pattern": .string(PolicyDuration.grammar(allowsMilliseconds: false).pattern)]),
        .init(
            "short_duration",
            ["type": "string", "pattern": .string(PolicyDuration.grammar(allowsMilliseconds: true).pattern)]),
        .init(
            "date",
            [
                "anyOf": [
                    ["type": "string", "pattern": .string(datePattern)],
                    // A year without quotes is a number.
                    ["type": "integer", "minimum": 1000, "maximum": 9999],
                ]
            ]),
        .init("zone", ["type": "string", "pattern": "^[A-Za-z0-9_+/-]+$"]),
        .init(
            "command",
            [
                "anyOf": [
                    ["type": "string", "pattern": "^\\S+$"],
                    [
                        "type": "array", "prefixItems": [["pattern": "\\S"]],
                        "items": ["type": ["string", "number", "boolean"]], "minItems": 1,
                    ],
                ]
            ]),
        .init("value", ["type": ["string", "number", "boolean"]]),
        .init(
            "condition",
            [
                "anyOf": [
                    reference("value"), ["type": "array", "items": reference("value"), "minItems": 1],
                    object(PolicyKey.operators, isComplete: true).adding([.init("minProperties", 1)]),
                ]
            ]),
    ]

    // MARK: Regular expressions, in the subset of ECMA-262 that all validators support

    private static let anything = "[\\s\\S]*"
    private static let serverPrefix = "[Pp][Oo][Ss][Tt][Gg][Rr][Ee][Ss](?:[Qq][Ll])?://"

    /// A path after the start of the text: not blank, no URL, no `file:` URI, not in memory, no `~`.
    private static let pathPattern =
        "(?!~$|~/|:\(anyCase("memory")):|\(anyCase("file")):|\(anything)://)\(anything)\\S"

    private static let datePattern: String = {
        let time = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.,][0-9]+)?)?"
        let offset = "(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?"
        return "^[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01])(?:[Tt ]\(time)\(offset))?)?)?$"
    }()

    private static func anyCase(_ text: String) -> String {
        text.map { $0.isLetter ? "[\($0.uppercased())\($0.lowercased())]" : String($0) }.joined()
    }
}

extension PolicyShape {
    /// Whether the values are texts. A list of texts can contain each one only once.
    fileprivate var isText: Bool {
        switch self {
        case .text, .word: true
        default: false
        }
    }

    /// The units of a length of time, or the form of a date; nil: it is neither.
    fileprivate var unitText: String? {
        switch self {
        case .age, .ages: MaxAge.grammar.unitList
        case .duration(let milliseconds): PolicyDuration.grammar(allowsMilliseconds: milliseconds).unitList
        case .wordOr(_, let other): other.unitText
        default: nil
        }
    }
}

extension DurationGrammar {
    /// A regular expression for the grammar. It also accepts more than 10,000 years.
    fileprivate var pattern: String {
        let number = "0*[0-9]{1,15}"
        let parts = units.sorted().map { "(?:\(number)\($0.rawValue))?" }.joined()
        return "^(?=.*[1-9])\(parts)$"
    }
}
