import PriceStore

/// Checks the nodes of a policy file against the tables of keys, and reports every mistake.
struct SettingReader {
    static let mostDiagnostics = 1000

    /// The zone of dates in the file without an offset.
    var zone = CalendarZone.utc
    /// The absolute folder of the policy, without a slash at its end.
    let baseFolder: String
    /// Whether the text is a record of the ledger, in which nobody has made a mistake.
    var isRecord = false
    private(set) var diagnostics: Set<Diagnostic> = []

    /// Reports a mistake. The same mistake is reported once, even if an alias or `defaults` repeats it.
    mutating func report(_ mark: Mark, _ message: String) { report(Diagnostic(at: mark, message)) }

    mutating func report(_ diagnostic: Diagnostic) {
        guard diagnostics.count < Self.mostDiagnostics else { return }
        diagnostics.insert(diagnostic)
    }

    /// Reads a mapping with known keys. Missing keys are not reported here, because `defaults` may have them.
    mutating func group(_ node: YAMLNode, _ keys: [PolicyKey], name: String?) -> SettingGroup? {
        guard case .mapping(let pairs) = node.content else {
            let examples = keys.prefix(3).map(\.name).joined(separator: ", ")
            let subject = name.map { "'\($0)' must be" } ?? "expected"
            var message = "\(subject) a mapping with keys such as \(examples); found \(node.described)"
            if case .scalar(let scalar) = node.content, PolicyKey.isMissingSpace(in: scalar.text) {
                message = PolicyKey.missingSpace(after: scalar.text.prefix { $0 != ":" })
            } else {
                message += shorthand(node, keys, of: name) ?? sample(of: name, for: node)
            }
            report(node.mark, message)
            return nil
        }
        var group = SettingGroup(mark: node.mark)
        for pair in pairs {
            guard let key = keys.first(where: { $0.name == pair.key }) else {
                if let meant = reportUnknown(pair, among: keys, of: name) { group.misspelt.insert(meant) }
                continue
            }
            if let reason = key.unavailable, !isFile(pair) { report(pair.keyMark, reason) }
            group[pair.key] = setting(pair, key.shape)
        }
        return group
    }

    /// Whether the URL of a server is that of a file, for which another key is named.
    private func isFile(_ pair: YAMLNode.Pair) -> Bool {
        guard pair.key == "url", case .scalar(let scalar) = pair.value.content else { return false }
        return Self.file(ofURL: scalar.text) != nil
    }

    /// What to write for a value in place of a mapping, if it is probably meant for one of the keys; nil: it is not.
    private func shorthand(_ node: YAMLNode, _ keys: [PolicyKey], of name: String?) -> String? {
        guard case .scalar(let scalar) = node.content, keys.count(where: \.isRequired) < 2, scalar.text != "none"
        else { return nil }
        let words = [scalar.text] + PolicyKey.frequencies.filter { $0.value == scalar.text }.keys
        if let tier = keys.first(where: { words.contains($0.name) }) { return "; write { \(tier.name): forever }" }
        if let reason = Self.unexpanded(scalar.text), let key = keys.first(where: \.shape.isPath) {
            return "; write { \(key.name): … }: \(reason)"
        }
        // An age does not say of which tier it is, and nearly every text is a schema or a path.
        let possible = name == "thin" ? [] : keys.filter { $0.name != "schema" && accepts(node, $0.shape) }
        let best = possible.first { !["folder", "file"].contains($0.name) } ?? possible.first
        return best.map { "; write { \($0.name == "keep" ? "folder: archive, " : "")\($0.name): \(scalar.text) }" }
    }

    /// What to write for a key, as the end of a message; empty: no sample is known, or nothing is meant.
    private func sample(of name: String?, for node: YAMLNode) -> String {
        if case .scalar(let scalar) = node.content, scalar.text == "none" {
            return name == "archive" ? "; remove the line: without it nothing is archived" : ""
        }
        return name.flatMap { key in PolicyKey.samples[key].map { "; write \(key): \($0)" } } ?? ""
    }

    private func accepts(_ node: YAMLNode, _ shape: PolicyShape) -> Bool {
        var trial = SettingReader(baseFolder: baseFolder)
        return trial.value(node, shape, name: "") != nil
    }

    /// The text of a value, if a shape takes it; of a key such as `max_age_days` with its unit.
    private func given(_ pair: YAMLNode.Pair, _ shape: PolicyShape) -> String? {
        guard case .scalar(let scalar) = pair.value.content else { return nil }
        if accepts(pair.value, shape) { return scalar.text }
        guard case .ages = shape, pair.key.lowercased().hasSuffix("days") else { return nil }
        return (try? MaxAge(parsing: scalar.text + "d")).map(\.written)
    }

    private mutating func setting(_ pair: YAMLNode.Pair, _ shape: PolicyShape) -> Setting {
        var setting = Setting(keyMark: pair.keyMark, mark: pair.value.mark)
        if case .scalar(let scalar) = pair.value.content, scalar.kind == .null {
            let mark = scalar.text.isEmpty ? pair.keyMark : pair.value.mark
            report(mark, blank(pair.key, shape))
        } else {
            setting.value = value(pair.value, shape, name: pair.key)
        }
        return setting
    }

    private func blank(_ name: String, _ shape: PolicyShape) -> String {
        switch shape {
        case .condition:
            "'\(name)' needs a value; to match rows that have none write { null: true }"
        case .value where PolicyKey.operators.contains { $0.name == name }:
            "'\(name)' needs a value; a comparison with NULL never matches: write { null: true } or { null: false }"
        default: "'\(name)' needs a value; expected \(shape.expected)"
        }
    }

    /// Reports an unknown key, with the key that it probably means.
    private mutating func reportUnknown(_ pair: YAMLNode.Pair, among keys: [PolicyKey], of owner: String?) -> String? {
        if owner == "defaults", PolicyKey.rule.contains(where: { $0.name == pair.key }) {
            report(pair.keyMark, "'\(pair.key)' cannot be in 'defaults'; every rule has its own")
            return nil
        }
        if PolicyKey.isMissingSpace(in: pair.key) {
            let key = pair.key.prefix { $0 != ":" }
            report(pair.keyMark, PolicyKey.missingSpace(after: key))
            return String(key)
        }
        if let advice = PolicyKey.advice(on: pair.key, among: keys, given: { given(pair, $0) }) {
            report(pair.keyMark, "unknown key '\(pair.key)'; \(advice.text)")
            return advice.key
        }
        if owner == "limits", PolicyKey.ruleLimits.contains(where: { $0.name == pair.key }) {
            let value = if case .scalar(let scalar) = pair.value.content { scalar.text } else { "…" }
            report(
                pair.keyMark,
                "unknown key '\(pair.key)'; for all rules write defaults: { limits: { \(pair.key): \(value) } }")
            return nil
        }
        let near = NearestName.match(pair.key, in: keys.map(\.name))
        var hint = near.map { "; did you mean '\($0)'?" }
        let homes = keys.filter { $0.shape.holds(key: pair.key) }
        if hint == nil, !homes.isEmpty {
            hint = "; it belongs under \(homes.map { "'\($0.name)'" }.listed("or"))" + example(pair, in: homes)
        }
        if hint == nil, [nil, "rules", "defaults"].contains(owner) {
            let (place, others) =
                owner == "rules" ? ("at the top of the file", PolicyKey.file) : ("in each rule", PolicyKey.rule)
            hint = PolicyKey.advice(on: pair.key, among: others, given: { given(pair, $0) }).map {
                "; \(place) \($0.text)"
            }
        }
        report(pair.keyMark, "unknown key '\(pair.key)'" + (hint ?? "; expected \(keys.map(\.name).listed("or"))"))
        return near
    }

    /// The line to write for a key that belongs in the only mapping that has it; empty: it has more than one value, or no line is known.
    private func example(_ pair: YAMLNode.Pair, in homes: [PolicyKey]) -> String {
        guard homes.count == 1, case .group(let keys) = homes[0].shape, case .scalar(let scalar) = pair.value.content
        else { return "" }
        // Whether an age is long enough for a tier depends on max_age.
        let isWhole =
            homes[0].name != "thin"
            && keys.allSatisfy { $0.name == pair.key ? accepts(pair.value, $0.shape) : !$0.isRequired }
        return isWhole
            ? ": \(homes[0].name): { \(pair.key): \(scalar.text) }"
            : PolicyKey.samples[homes[0].name].map { ", such as \(homes[0].name): \($0)" } ?? ""
    }

    /// Reads a value that is not blank.
    mutating func value(_ node: YAMLNode, _ shape: PolicyShape, name: String) -> Setting.Value? {
        switch shape {
        case .group(let keys): return group(node, keys, name: name).map(Setting.Value.group)
        case .scalarOrGroup(let scalarShape, let keys):
            if case .mapping = node.content { return group(node, keys, name: name).map(Setting.Value.group) }
            return value(node, scalarShape, name: name)
        case .named(let item): return named(node, item, name: name)
        case .list(let item, let least): return list(node, item, atLeast: least, name: name)
        case .condition: return condition(node, name: name)
        case .ages:
            guard case .mapping(let pairs) = node.content else { return value(node, .age, name: name) }
            return ages(pairs, node, name: name).map(Setting.Value.group)
        case .command: return command(node, name: name)
        default:
            guard case .scalar(let scalar) = node.content else {
                let isList = if case .sequence = node.content { true } else { false }
                let hint =
                    isList && name == "entity"
                    ? "; write a rule for each, or a pattern such as ohlcv_*"
                    : name == "archive" ? "; the folder is that of all rules: write it at the top of the file" : ""
                mismatch(node, shape, name: name, hint: hint)
                return nil
            }
            return scalarValue(scalar, node, shape, name: name)
        }
    }

    private mutating func mismatch(_ node: YAMLNode, _ shape: PolicyShape, name: String, hint: String = "") {
        report(node.mark, "'\(name)' must be \(shape.expected); found \(node.described)\(hint)")
    }

    private mutating func named(_ node: YAMLNode, _ shape: PolicyShape, name: String) -> Setting.Value? {
        guard case .mapping(let pairs) = node.content else {
            let written: String? = if case .scalar(let scalar) = node.content { scalar.text } else { nil }
            let sql = written.flatMap { PolicyKey.condition(ofSQL: $0) }
            mismatch(node, .named(shape), name: name, hint: sql.map { "; write \(name): \($0)" } ?? "")
            return nil
        }
        if pairs.isEmpty { report(node.mark, "'\(name)' is empty; name at least one attribute or leave it out") }
        var group = SettingGroup(mark: node.mark)
        for pair in pairs { group[pair.key] = setting(pair, shape) }
        return .group(group)
    }

    private mutating func list(
        _ node: YAMLNode, _ shape: PolicyShape, atLeast least: Int, name: String
    ) -> Setting.Value? {
        guard case .sequence(let nodes) = node.content else {
            var message = "'\(name)' must be a list; found \(node.described)"
            switch node.content {
            case .scalar(let scalar):
                if accepts(node, shape) {
                    message += "; write [\(scalar.text)]"
                } else if case .word(let words) = shape,
                    let near = NearestName.match(scalar.text, in: words.map(\.name))
                {
                    message += "; name each entry, as in [\(near)]"
                } else {
                    message += sample(of: name, for: node)
                }
            case .mapping(let pairs):
                guard let key = pairs.first?.key, case .group(let keys) = shape else { break }
                message +=
                    "; begin each entry with \"- \(keys.contains { $0.name == key } ? key + ": …" : "name: " + key)\""
            case .sequence: break
            }
            report(node.mark, message)
            return nil
        }
        if nodes.count < least { report(node.mark, "'\(name)' is empty; it needs at least one entry") }
        var seen: [String: Mark] = [:]
        return .list(
            nodes.map { node in
                var item = Setting(keyMark: node.mark, mark: node.mark)
                if case .scalar(let scalar) = node.content, scalar.kind == .null {
                    report(node.mark, "an entry of '\(name)' is blank; expected \(shape.expected)")
                } else {
                    item.value = value(node, shape, name: name)
                }
                if case .text(let text) = item.value {
                    if let first = seen[text] {
                        report(
                            node.mark, "'\(text)' is listed twice, first at line \(first.line), column \(first.column)")
                    }
                    seen[text] = node.mark
                }
                return item
            })
    }

    /// Reads the condition on one attribute: a value, a list of values, or a mapping of operators.
    private mutating func condition(_ node: YAMLNode, name: String) -> Setting.Value? {
        switch node.content {
        case .scalar(let scalar):
            if !isRecord, scalar.kind == .text, let meant = PolicyKey.condition(ofComparison: scalar.text) {
                report(
                    node.mark,
                    "'\(name)' would be equal to the text '\(scalar.text)'; write \(meant), or [\"\(scalar.text)\"] for that text"
                )
                return nil
            }
            return scalarValue(scalar, node, .value, name: name)
        case .sequence: return list(node, .value, atLeast: 1, name: name)
        case .mapping(let pairs):
            if pairs.isEmpty {
                report(node.mark, "'\(name)' is empty; expected one of lt, le, gt, ge, ne, null")
                return nil
            }
            return group(node, PolicyKey.operators, name: name).map(Setting.Value.group)
        }
    }

    /// Reads ages by the value of an attribute: keys that are known, and one for each value.
    private mutating func ages(_ pairs: [YAMLNode.Pair], _ node: YAMLNode, name: String) -> SettingGroup? {
        var known = node
        let isKnown = { (pair: YAMLNode.Pair) in PolicyKey.ages.contains { $0.name == pair.key } }
        known.content = .mapping(pairs.filter(isKnown))
        var found = group(known, PolicyKey.ages, name: name)
        for pair in pairs where !isKnown(pair) { found?[pair.key] = setting(pair, .age) }
        if let source = found?.group("from") { require(PolicyKey.ageSource, in: source, of: "'from'") }
        return found
    }

    /// Reads a program and its arguments. The text is not split, because no shell runs it.
    private mutating func command(_ node: YAMLNode, name: String) -> Setting.Value? {
        var words: [Setting] = []
        switch node.content {
        case .mapping:
            mismatch(node, .command, name: name)
            return nil
        case .scalar(let scalar):
            if scalar.text.contains(where: \.isWhitespace) {
                let words = scalar.text.split(whereSeparator: \.isWhitespace).joined(separator: ", ")
                report(
                    node.mark, "'\(name)' is not split into words, because no shell runs it; write a list: [\(words)]")
            }
            words = [Setting(value: .text(scalar.text), keyMark: node.mark, mark: node.mark)]
        case .sequence(let nodes):
            for node in nodes {
                guard case .scalar(let scalar) = node.content, scalar.kind != .null else {
                    report(node.mark, "an entry of '\(name)' must be a word; found \(node.described)")
                    continue
                }
                words.append(Setting(value: .text(scalar.text), keyMark: node.mark, mark: node.mark))
            }
            if nodes.isEmpty { report(node.mark, "'\(name)' is empty; it needs at least the program") }
        }
        if case .text(let program)? = words.first?.value, program.allSatisfy(\.isWhitespace) {
            report(words.first?.mark ?? node.mark, "'\(name)' needs a program as its first word")
        }
        return .list(words)
    }

    /// Reports required keys that are missing in a group and in all groups inside. `defaults` need not be complete.
    mutating func require(
        _ keys: [PolicyKey], in group: SettingGroup, of owner: String? = nil, named kind: String = "rule"
    ) {
        let owner = group.text("name").map { "\(kind) '\($0)'" } ?? owner
        for key in keys where key.name != "defaults" {
            guard let setting = group[key.name] else {
                if key.isRequired, !group.misspelt.contains(key.name) {
                    var place = owner.map { " in \($0)" } ?? ""
                    if key.name == "date_attribute", let column = group.text("column") {
                        place += "; 'column' is for Core Data stores: write date_attribute: \(column)"
                    }
                    if key.name == "version" { place += "; write version: 1 as the first line" }
                    report(group.mark, "required key '\(key.name)' is missing\(place)")
                }
                continue
            }
            switch (key.shape, setting.value) {
            case (.group(let keys), .group(let group)): require(keys, in: group, of: "'\(key.name)'")
            case (.list(.group(let keys), _), .list(let items)):
                for (index, item) in items.enumerated() {
                    guard case .group(let group) = item.value else { continue }
                    require(
                        keys, in: group, of: "entry \(index + 1) of '\(key.name)'",
                        named: key.name == "holds" ? "hold" : "rule")
                }
            default: break
            }
        }
    }
}

extension PolicyShape {
    var expected: String {
        switch self {
        case .version: "the number 1"
        case .text: "text"
        case .ruleName: "a name of lower-case letters, digits, '.', '_' and '-'"
        case .path: "the path of a file"
        case .storeAddress: "the path of a SQLite file"
        case .serverURL: "a URL that begins with postgresql://"
        case .modelPath: "the path of a .mom file or a .momd folder"
        case .pattern: "a pattern of files, such as pending/*.csv"
        case .word(let words): words.filter { $0.unavailable == nil }.map(\.name).listed("or")
        case .wordOr(let words, let shape): words.map(\.name).listed("or") + ", or " + shape.expected
        case .flag: "true or false"
        case .integer(let range):
            range.upperBound == .max
                ? "a whole number, at least \(range.lowerBound)"
                : "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .fraction: "a number greater than 0 and at most 1, such as 0.5"
        case .age: "an age, such as 30d or 1y6mo"
        case .size: "a size, such as 500MB or 2GiB"
        case .ages: PolicyShape.age.expected
        case .duration: "a duration, such as 90s or 10min"
        case .date: "a date or an instant, such as 2020-01-31 or 2020-01-31T12:00:00Z"
        case .zone: "a time zone, such as UTC or Europe/Berlin"
        case .timeOfDay: "a time of day in quotes, such as \"17:00\""
        case .command: "a list of words, such as [/usr/bin/mail, -s, retention, root]"
        case .value: "a text or a number"
        case .list: "a list"
        case .group, .named: "a mapping"
        case .condition: "a value, a list of values, or a mapping of lt, le, gt, ge, ne, null"
        case .scalarOrGroup(let scalar, _): scalar.expected + ", or a mapping"
        }
    }

    /// Whether a mapping of this shape, or the entries of a list of this shape, have the key.
    fileprivate func holds(key: String) -> Bool {
        switch self {
        case .group(let keys), .scalarOrGroup(_, let keys): keys.contains { $0.name == key }
        case .list(let shape, _): shape.holds(key: key)
        default: false
        }
    }
}
