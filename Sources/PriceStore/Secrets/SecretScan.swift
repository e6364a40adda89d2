/// Finds passwords in text: in URLs (`scheme://user:password@host`), in what is decoded as one (`user:password@host`), and
/// after keys such as `password=`, `token:` and `--password`.
struct SecretScan {
    /// The characters after decoding: `\x2F` in a quoted YAML text is one character.
    private let decoded: [Unicode.Scalar]
    /// Where each of them begins in the text; and the end of the text.
    private let places: [Int]
    private var secrets: [Range<Int>] = []
    /// The end of the URL that was found last, and whether a character is beyond it.
    private var urlEnd = 0

    /// The places of all passwords in a text, in order and without overlaps.
    static func secrets(in scalars: [Unicode.Scalar]) -> [Range<Int>] {
        guard scalars.contains(where: { $0 == ":" || $0 == "=" || $0 == "-" || $0 == "\\" }) else { return [] }
        var scan = SecretScan(scalars)
        scan.run()
        return scan.secrets
    }

    private init(_ scalars: [Unicode.Scalar]) {
        var decoded: [Unicode.Scalar] = []
        var places: [Int] = []
        decoded.reserveCapacity(scalars.count)
        places.reserveCapacity(scalars.count + 1)
        var index = 0
        while index < scalars.count {
            let (scalar, length) = Self.unescaped(scalars, index)
            decoded.append(scalar)
            places.append(index)
            index += length
        }
        self.decoded = decoded
        self.places = places + [scalars.count]
    }

    private mutating func run() {
        var index = 0
        var lineStart = 0
        while index < decoded.count {
            switch decoded[index] {
            case "\n": lineStart = index + 1
            case ":" where isURL(at: index): index = url(from: index + 3, lineStart)
            case ":", "=", " ", ",":
                guard isSecretKey(before: index) else {
                    if decoded[index] == ":", index >= urlEnd { index = userInfo(from: index + 1) }
                    break
                }
                index = value(from: index + 1, lineStart)
                continue
            default: break
            }
            index += 1
        }
    }

    // MARK: URLs

    /// Hides the text between a colon and the last `@` of the same word: the password of an address without `//`.
    /// Returns the last processed index.
    private mutating func userInfo(from start: Int) -> Int {
        let end = decoded[start...].firstIndex { $0 == "\n" || Self.isSpace($0) || Self.isQuote($0) } ?? decoded.count
        guard let at = decoded[start..<end].lastIndex(of: "@"), at > start else { return start - 1 }
        for index in start..<at { hide(index) }
        return at - 1
    }

    private func isURL(at colon: Int) -> Bool {
        colon > 0 && colon + 2 < decoded.count && decoded[colon + 1] == "/" && decoded[colon + 2] == "/"
            && Self.isWord(decoded[colon - 1])
    }

    /// Hides the password of a URL whose scheme ends before `start`; returns the last index that was dealt with.
    private mutating func url(from start: Int, _ lineStart: Int) -> Int {
        var extent = urlExtent(from: start, lineStart)
        let isAt = { (index: Int) in decoded[index] == "@" }
        // A quote in the password looks like the end of the URL.
        if !extent.contains(where: isAt), let colon = colon(in: extent[...]), !isPort(extent[(colon + 1)...]) {
            extent = urlExtent(from: start, lineStart, isUnquoted: true)
        }
        urlEnd = (extent.last ?? start - 1) + 1
        // Up to the first slash: libpq ends the password there, and treats any other character as a part of it.
        let authority = extent.prefix { decoded[$0] != "/" }
        guard let colon = colon(in: authority[...]) else { return start - 1 }
        let tail = extent[(colon + 1)...]
        let token = tail.prefix { !Self.isSpace(decoded[$0]) }
        var end: Int?
        if let at = authority[(colon + 1)...].lastIndex(where: isAt) {
            // A slash in the password, not written as %2F, moves the @ that ends it further on.
            let path = extent[at...].prefix { decoded[$0] != "?" && !Self.isSpace(decoded[$0]) }
            end = path.lastIndex(where: isAt) ?? at
        } else if isPort(tail) {
            end = token.prefix { decoded[$0] != "?" }.lastIndex(where: isAt)
        } else {
            end = tail.lastIndex(where: isAt) ?? token.endIndex
        }
        guard let end, end > colon + 1 else { return start - 1 }
        for index in extent[(colon + 1)..<end] { hide(index) }
        return extent[end - 1]
    }

    /// Where the first colon of a user or a host is; those of an address in brackets do not count.
    private func colon(in authority: ArraySlice<Int>) -> Int? {
        var isInBrackets = false
        for index in authority.indices {
            switch decoded[authority[index]] {
            case "/": return nil
            case "[": isInBrackets = authority[index...].contains { decoded[$0] == "]" }
            case "]": isInBrackets = false
            case ":" where !isInBrackets: return index
            default: break
            }
        }
        return nil
    }

    /// The characters that may belong to a URL: up to the quote that closes it, or up to the end of its line and of the
    /// lines that continue it, but not into another URL. Line ends and indentation between such lines are left out.
    private func urlExtent(from start: Int, _ lineStart: Int, isUnquoted: Bool = false) -> [Int] {
        var scheme = start - 3
        while scheme > lineStart, Self.isWord(decoded[scheme - 1]) { scheme -= 1 }
        var end = decoded.count
        var isQuoted = false
        if !isUnquoted, scheme > lineStart, Self.isQuote(decoded[scheme - 1]) {
            let quote = decoded[scheme - 1]
            if let closing = decoded[start...].firstIndex(of: quote) { (end, isQuoted) = (closing, true) }
        }
        var extent: [Int] = []
        var index = start
        while index < end {
            if decoded[index] == "\n" {
                guard let next = continuation(at: index, of: lineStart, begunAt: scheme, isQuoted: isQuoted) else {
                    break
                }
                if let last = extent.last, decoded[last] == "\\" { extent.removeLast() }
                index = next
                continue
            }
            if decoded[index] == "#", !isQuoted, Self.isSpace(decoded[index - 1]) { break }
            if decoded[index] == ":", index > start, isURL(at: index) {
                while let last = extent.last, Self.isWord(decoded[last]) { extent.removeLast() }
                break
            }
            extent.append(index)
            index += 1
        }
        return extent
    }

    /// Whether a colon's rest is the port of a host, and nothing else.
    private func isPort(_ tail: ArraySlice<Int>) -> Bool {
        guard let next = tail.first(where: { !("0"..."9").contains(decoded[$0]) }) else { return true }
        return Self.isSpace(decoded[next]) || Self.isQuote(decoded[next])
            || "/?#,;)]}".unicodeScalars.contains(decoded[next])
    }

    // MARK: Keys and values

    /// The ends of names whose values are secret; `sslpassword` and `PGPASSWORD` are among them, `password_file` is not.
    private static let secretNames = [
        "password", "passwd", "pwd", "passphrase", "secret", "token", "apikey", "api_key", "api-key", "client_key",
        "server_key",
    ]

    /// Whether the word before a character is the name of a secret: `password=`, `"token": `, `--password `.
    private func isSecretKey(before index: Int) -> Bool {
        var end = index
        if decoded[index] == "=" || decoded[index] == ":" {
            while end > 0, Self.isSpace(decoded[end - 1]) { end -= 1 }
            if end > 0, Self.isQuote(decoded[end - 1]) { end -= 1 }
        }
        var start = end
        while start > 0, end - start < 64, Self.isWord(decoded[start - 1]) || decoded[start - 1] == "%" { start -= 1 }
        guard start < end else { return false }
        var word = String.UnicodeScalarView()
        word.append(contentsOf: decoded[start..<end])
        let name = String(word).lowercased()
        if Self.isSpace(decoded[index]) || decoded[index] == "," { guard name.hasPrefix("--") else { return false } }
        return Self.secretNames.contains { name.hasSuffix($0) || Self.percentDecoded(name).hasSuffix($0) }
    }

    /// Hides a value; returns the index after it. A parameter of a URL ends before `&`, everything else at the end of
    /// its lines.
    private mutating func value(from start: Int, _ lineStart: Int) -> Int {
        var index = start
        let isParameter = start <= urlEnd
        while index < decoded.count, Self.isSpace(decoded[index]) || Self.isQuote(decoded[index]) { index += 1 }
        while index < decoded.count {
            if isParameter, index >= urlEnd || decoded[index] == "&" { break }
            if decoded[index] == "\n" {
                guard let next = continuation(at: index, of: lineStart, begunAt: start, isQuoted: false) else { break }
                index = next
                continue
            }
            hide(index)
            index += 1
        }
        return index
    }

    // MARK: Lines

    /// Where the text of the next line begins, if that line continues a value: always in a quoted text, otherwise if it
    /// is indented more than this line, or as much if the value began this line.
    private func continuation(at lineEnd: Int, of lineStart: Int, begunAt start: Int, isQuoted: Bool) -> Int? {
        func text(from start: Int) -> Int {
            var index = start
            while index < decoded.count, decoded[index] == " " || decoded[index] == "\t" { index += 1 }
            return index
        }
        let next = text(from: lineEnd + 1)
        if isQuoted { return next }
        guard next < decoded.count, decoded[next] != "\n" else { return nil }
        let first = text(from: lineStart)
        let (own, indentation) = (first - lineStart, next - lineEnd - 1)
        return indentation > own || indentation == own && own > 0 && first >= start ? next : nil
    }

    private mutating func hide(_ index: Int) {
        let place = places[index]..<places[index + 1]
        if let last = secrets.last, last.upperBound == place.lowerBound {
            secrets[secrets.count - 1] = last.lowerBound..<place.upperBound
        } else {
            secrets.append(place)
        }
    }

    // MARK: Characters

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-", "+", ".": true
        default: false
        }
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }

    private static func isQuote(_ scalar: Unicode.Scalar) -> Bool { scalar == "\"" || scalar == "'" || scalar == "`" }

    /// The character that begins at an index, and how many characters it is written with.
    private static func unescaped(_ scalars: [Unicode.Scalar], _ index: Int) -> (Unicode.Scalar, Int) {
        let plain = (scalars[index], 1)
        guard scalars[index] == "\\", index + 1 < scalars.count else { return plain }
        let digits: Int
        switch scalars[index + 1] {
        case "/", "\"": return (scalars[index + 1] == "/" ? "/" : "\u{FFFD}", 2)
        case "x": digits = 2
        case "u": digits = 4
        case "U": digits = 8
        default: return plain
        }
        var value: UInt32 = 0
        for offset in 2..<2 + digits {
            guard index + offset < scalars.count, let digit = Character(scalars[index + offset]).hexDigitValue else {
                return plain
            }
            value = value << 4 | UInt32(digit)
        }
        // If it is not a character, or would be a line end, the escape stays as it is.
        guard let scalar = Unicode.Scalar(value), scalar != "\n" else { return ("\u{FFFD}", 2 + digits) }
        return (scalar, 2 + digits)
    }

    /// A name with its `%61` decoded, as libpq decodes the names of parameters.
    private static func percentDecoded(_ name: String) -> String {
        guard name.contains("%") else { return name }
        var bytes: [UInt8] = []
        var rest = Array(name.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                bytes.append(UInt8(digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }
}
