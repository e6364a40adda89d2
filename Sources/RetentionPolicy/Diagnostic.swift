/// A place in a policy file. Line and column count from 1, columns in characters (Unicode scalars).
package struct Mark: Hashable, Sendable, Comparable {
    package var line: Int
    package var column: Int
    /// How many characters of the line are marked; at least 1.
    package var length: Int

    package init(line: Int, column: Int, length: Int = 1) {
        self.line = line
        self.column = column
        self.length = length
    }

    package static func < (a: Mark, b: Mark) -> Bool { (a.line, a.column) < (b.line, b.column) }
}

/// The positions of the keys of one mapping, by the dotted path of the key (`max_age`, `where.symbol`, `keep_last.per`).
package struct Marks: Hashable, Sendable {
    /// The position of the mapping itself.
    package var whole: Mark
    package var keys: [String: Mark]
    package var values: [String: Mark]

    package init(whole: Mark, keys: [String: Mark] = [:], values: [String: Mark] = [:]) {
        self.whole = whole
        self.keys = keys
        self.values = values
    }

    /// The position of a key's value; if there is none, of the key; if there is no key, of the mapping.
    package func value(_ path: String) -> Mark { values[path] ?? keys[path] ?? whole }
    /// The position of a key; if there is none, of the mapping.
    package func key(_ path: String) -> Mark { keys[path] ?? whole }
}

/// A mistake in a policy file, with its position and what was expected.
package struct Diagnostic: Error, Hashable, Sendable {
    /// The severity, worst first.
    package enum Severity: Hashable, Sendable, CaseIterable, Comparable {
        case error, warning, advice
    }
    package var severity: Severity
    package var mark: Mark
    /// A sentence without a full stop: what is wrong, then what is expected, with the nearest name if there is one.
    package var message: String

    package init(_ severity: Severity = .error, at mark: Mark, _ message: String) {
        self.severity = severity
        self.mark = mark
        self.message = message
    }
}

/// What reports and diagnostics need of a policy file.
package struct PolicySource: Hashable, Sendable {
    /// The path as the user named it.
    package var path: String
    /// SHA-256 of the bytes, 64 lower-case hexadecimal digits.
    package var sha256: String
    /// The lines of the file, without their ends.
    package var lines: [String]

    package init(path: String, sha256: String, lines: [String]) {
        self.path = path
        self.sha256 = sha256
        self.lines = lines
    }
}

extension [Diagnostic] {
    /// In the order of the file.
    package var byPlace: [Diagnostic] { sorted { $0.mark < $1.mark } }
}
