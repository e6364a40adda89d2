import PriceStore

extension SettingReader {
    /// Reads a scalar that is not blank. If it does not fit its shape, a mistake is reported and the result is nil.
    mutating func scalarValue(
        _ scalar: YAMLNode.Scalar, _ node: YAMLNode, _ shape: PolicyShape, name: String
    ) -> Setting.Value? {
        do throws(Complaint) {
            return try read(scalar, shape, name: name)
        } catch {
            let bare = scalar.text.wholeMatch(of: #/[“”„‘’]+(.*?)[“”„‘’]*/#)
            let message =
                bare.map { "remove the curly quotes: write \($0.1)" } ?? error.message
                ?? "'\(name)' must be \(shape.expected); found \(node.described)"
            report(node.mark, message + (error.hint.map { "; \($0)" } ?? ""))
            return nil
        }
    }

    /// Why a scalar does not fit: a whole message, or only a hint for the usual one.
    private struct Complaint: Error {
        var message: String?
        var hint: String?
    }

    private func read(
        _ scalar: YAMLNode.Scalar, _ shape: PolicyShape, name: String
    ) throws(Complaint) -> Setting.Value {
        let text = scalar.text
        switch shape {
        case .version:
            guard case .integer(let version) = scalar.kind else { throw Complaint() }
            if version == 1 { return .integer(1) }
            throw Complaint(message: "version \(text) of the file format is unknown; expected 1")
        case .text:
            // A reason is a sentence, which may begin and end with a quotation.
            if name != "reason" { try refuseCurlyQuotes(scalar) }
            return .text(try self.text(scalar))
        case .ruleName:
            let name = try self.text(scalar)
            if name.utf8.allSatisfy("abcdefghijklmnopqrstuvwxyz0123456789.-_".utf8.contains) { return .text(name) }
            throw Complaint(message: "the name '\(name)' cannot be used; expected only a-z, 0-9, '.', '_' and '-'")
        case .path: return .text(try path(scalar, name: name))
        case .storeAddress: return .text(try storeAddress(scalar, name: name))
        case .serverURL:
            let url = try self.text(scalar)
            if let file = Self.file(ofURL: url) {
                throw Complaint(message: "'\(name)' is for a server; write path: \(file)")
            }
            // A build without the engine has already reported the key.
            if PolicyKey.noPostgreSQL != nil || StoreKind(url).isServer { return .text(url) }
            throw Complaint(message: "'\(name)' must begin with postgresql://")
        case .modelPath:
            let model = try path(scalar, name: name)
            if [".mom", ".momd", ".momd/"].contains(where: model.hasSuffix) { return .text(model) }
            throw Complaint(message: "'\(name)' must be a .mom file or a .momd folder")
        case .pattern:
            let pattern = try self.text(scalar)
            try refuseHome(pattern)
            let end = pattern.lowercased()
            if end.hasSuffix(".csv") || end.hasSuffix(".ndjson") { return .text(pattern) }
            throw Complaint(
                message: "'\(pattern)' must end in .csv or .ndjson: the ending determines how the files are read")
        case .word(let words): return .text(try word(scalar, words, name: name))
        case .wordOr(let words, let other):
            if words.contains(where: { $0.name == text && $0.unavailable == nil }) { return .text(text) }
            if [.flag(false), .integer(0)].contains(scalar.kind), words.contains(where: { $0.name == "none" }) {
                throw Complaint(hint: "write none")
            }
            return try read(scalar, other, name: name)
        case .flag:
            if case .flag(let flag) = scalar.kind { return .flag(flag) }
            switch text.lowercased() {
            case "yes", "y", "on", "true", "1": throw Complaint(hint: "did you mean true?")
            case "no", "n", "off", "false", "0": throw Complaint(hint: "did you mean false?")
            default: throw Complaint()
            }
        case .integer(let range):
            if case .integer(let integer) = scalar.kind, let integer = Int(exactly: integer), range.contains(integer) {
                return .integer(integer)
            }
            let digits = text.filter { $0 != "_" && $0 != "," && $0 != "'" }
            if digits != text, let integer = Int(digits), range.contains(integer) {
                throw Complaint(hint: "write \(integer)")
            }
            throw Complaint()
        case .fraction:
            switch scalar.kind {
            case .integer(1): return .fraction(1)
            case .real(let fraction) where fraction > 0 && fraction <= 1: return .fraction(fraction)
            default:
                if let percent = Int(text.hasSuffix("%") ? text.dropLast() : Substring(text)),
                    (1...99).contains(percent)
                {
                    throw Complaint(hint: "write 0.\(percent < 10 ? "0" : "")\(percent)")
                }
                throw Complaint()
            }
        case .size:
            if let bytes = SizeBound.bytes(text) { return .integer(bytes) }
            let joined = text.filter { $0 != " " }
            throw Complaint(hint: SizeBound.bytes(joined).map { _ in "write \(joined)" })
        case .age:
            do throws(DurationMistake) {
                return .age(try MaxAge(parsing: text))
            } catch {
                let isNever = name == "max_age" && ["never", "forever"].contains(text.lowercased())
                throw Complaint(
                    message: error.message,
                    hint: isNever
                        ? "rows that never expire need no rule" : PolicyKey.age(for: text).map { "write \($0)" })
            }
        case .duration(let milliseconds):
            do throws(DurationMistake) {
                return .duration(try PolicyDuration.parse(text, allowsMilliseconds: milliseconds))
            } catch {
                throw Complaint(message: error.message)
            }
        case .date:
            if let instant = Instant(iso8601: text, zone: zone) { return .instant(instant) }
            throw Complaint()
        case .zone:
            if case .text = scalar.kind, let zone = CalendarZone(identifier: text) { return .zone(zone) }
            throw Complaint(
                message: "'\(text)' is not a known time zone; expected a name such as UTC or Europe/Berlin")
        case .timeOfDay:
            guard let match = text.wholeMatch(of: #/([01][0-9]|2[0-3]):([0-5][0-9])/#), let hour = Int(match.1),
                let minute = Int(match.2)
            else { throw Complaint() }
            return .integer(hour * 3600 + minute * 60)
        case .value:
            try refuseCurlyQuotes(scalar)
            let value = try stored(scalar, name: name)
            return .stored(value, numeral: scalar.numeral)
        case .list, .ages, .group, .named, .condition, .scalarOrGroup, .command: throw Complaint()
        }
    }

    private func stored(_ scalar: YAMLNode.Scalar, name: String) throws(Complaint) -> StoreValue {
        switch scalar.kind {
        case .null: throw Complaint()
        case .flag(let flag): return .integer(flag ? 1 : 0)
        case .integer, .real:
            // A text that begins with a plus sign may be a phone number.
            guard !scalar.text.hasPrefix("+") else {
                throw Complaint(
                    message:
                        "write \(scalar.text.dropFirst()) without '+', or \"\(scalar.text)\" in quotes if it is text")
            }
            if case .integer(let integer) = scalar.kind { return .integer(integer) }
            if case .real(let number) = scalar.kind { return .real(number) }
            throw Complaint()
        case .unusableNumber:
            throw Complaint(message: "the number \(scalar.text) cannot be stored; write it in quotes if it is text")
        case .text: return .text(scalar.text)
        }
    }

    /// Throws if a text is in curly quotes only: to YAML they are a part of it.
    private func refuseCurlyQuotes(_ scalar: YAMLNode.Scalar) throws(Complaint) {
        // No regular expression, because each value of a policy is asked.
        guard scalar.isPlain, let first = scalar.text.first, Self.curlyQuotes.contains(first) else { return }
        if let last = scalar.text.dropFirst().last, Self.curlyQuotes.contains(last) { throw Complaint() }
    }

    /// Text that is not blank. A number or a boolean must be quoted to be text.
    private func text(_ scalar: YAMLNode.Scalar) throws(Complaint) -> String {
        switch scalar.kind {
        case .text:
            if scalar.text.allSatisfy(\.isWhitespace) { throw Complaint(hint: "it is blank") }
            return scalar.text
        default: throw Complaint(hint: "write \"\(scalar.text)\" if it is meant as text")
        }
    }

    private func word(_ scalar: YAMLNode.Scalar, _ words: [PolicyWord], name: String) throws(Complaint) -> String {
        let text = scalar.text
        guard let word = words.first(where: { $0.name == text }) else {
            if name == "date_format", let pattern = PolicyKey.pattern(for: text) {
                let iso = pattern.hasPrefix("%Y-%m-%d") ? "iso8601, or " : ""
                let write = "\(iso){ pattern: \"\(pattern)\" }"
                throw Complaint(message: "'\(text)' is not a value of 'date_format'; write \(write)")
            }
            let usable = words.filter { $0.unavailable == nil }.map(\.name)
            let meant = words.first { $0.unavailable == nil && $0.otherNames.contains(text.lowercased()) }?.name
            guard let near = meant ?? NearestName.match(text, in: usable) else {
                throw Complaint(hint: hint(for: name, scalar))
            }
            throw Complaint(message: "'\(text)' is not a value of '\(name)'; did you mean '\(near)'?")
        }
        if let reason = word.unavailable { throw Complaint(message: reason) }
        return text
    }

    /// What to write for a word that is far from all that a key takes; nil: that is not known.
    private func hint(for name: String, _ scalar: YAMLNode.Scalar) -> String? {
        switch name {
        case "date_format":
            "or write { pattern: \"\(DatePattern(scalar.text) == nil ? "%d.%m.%Y %H:%M" : scalar.text)\" }"
        case "archive" where ["no", "off", "false"].contains(scalar.text.lowercased()): "write archive: none"
        case "archive":
            "the folder is that of all rules: at the top of the file write archive: { folder: "
                + "\(scalar.kind == .text ? scalar.text : "archive") }"
        default: nil
        }
    }

    /// The path in a URL of a SQLite file, as SQLAlchemy writes it; nil: the text is none.
    static func file(ofURL text: String) -> String? {
        text.wholeMatch(of: #/sqlite:///(.+)/#).map { String($0.1) }
    }

    private func storeAddress(_ scalar: YAMLNode.Scalar, name: String) throws(Complaint) -> String {
        // These are keys of libpq, so the text is not meant as a path.
        let first = scalar.text.prefix { $0 != "=" }.filter { $0 != " " }.lowercased()
        if scalar.text.contains("="),
            ["host", "hostaddr", "port", "dbname", "user", "password", "service"].contains(first)
        {
            throw Complaint(message: "'\(name)' must be a path or a URL; write postgresql://user@host/database")
        }
        if StoreKind(scalar.text).isServer {
            if let reason = PolicyKey.noPostgreSQL { throw Complaint(message: reason) }
            return scalar.text
        }
        return try path(scalar, name: name)
    }

    /// The absolute path. A relative path is relative to the policy's folder.
    private func path(_ scalar: YAMLNode.Scalar, name: String) throws(Complaint) -> String {
        let path = try text(scalar)
        let lowercased = path.lowercased()
        if lowercased.hasPrefix(":memory:") {
            throw Complaint(message: "'\(name)' cannot be in memory: it would always be empty")
        }
        if lowercased.hasPrefix("file:") {
            throw Complaint(message: "'\(name)' cannot be a file: URI; write the path itself")
        }
        if lowercased.contains("://") {
            throw Complaint(
                message: "'\(name)' must be a path; found the URL '\(path)'",
                hint: Self.file(ofURL: path).map { "write \($0)" })
        }
        try refuseHome(path)
        return absolutePath(path)
    }

    private static let curlyQuotes = "“”„‘’"

    /// Throws if the path begins with `~`, a variable or a curly quote, because that is never meant as a name.
    private func refuseHome(_ path: String) throws(Complaint) {
        if path.first.map(Self.curlyQuotes.contains) == true { throw Complaint() }
        if let reason = Self.unexpanded(path) { throw Complaint(message: reason) }
    }

    /// Why a path that begins with `~` or a variable is no path, as a message; nil: it does not.
    static func unexpanded(_ path: String) -> String? {
        if path == "~" || path.hasPrefix("~/") {
            return "'~' is not expanded in '\(path)'; write the folder in full"
        }
        guard path.hasPrefix("$"), path.prefixMatch(of: #/\$\{?[A-Za-z_]/#) != nil else { return nil }
        return "$VARIABLES are not expanded in '\(path)'; write the folder in full"
    }

    func absolutePath(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        var path = Substring(path)
        while path.hasPrefix("./") { path = path.dropFirst(2).drop { $0 == "/" } }
        return (baseFolder == "/" ? "" : baseFolder) + "/" + path
    }
}
