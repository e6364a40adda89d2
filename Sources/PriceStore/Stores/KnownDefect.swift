/// A version of a library, a server or an extension: numbers, the most significant first. A version before a release (`2.28.3-dev`) is
/// older than the release.
package struct ComponentVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    private let numbers: [Int]
    private let isBeforeRelease: Bool

    package var description: String { numbers.map { "\($0)" }.joined(separator: ".") + (isBeforeRelease ? "-dev" : "") }
}

extension ComponentVersion {
    /// Reads a version such as `3.40.1`, `2.18.0-dev` or `15.20 (Debian 15.20-0)`; nil: the text does not begin with a number.
    package init?(_ text: String) {
        let word = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        numbers = word.split(separator: ".").compactMap { Int($0) }
        isBeforeRelease = text.dropFirst(word.count).hasPrefix("-")
        guard text.first?.isNumber ?? false, !numbers.isEmpty else { return nil }
    }

    package static func release(_ numbers: Int...) -> ComponentVersion {
        ComponentVersion(numbers: numbers, isBeforeRelease: false)
    }

    package static func < (one: ComponentVersion, other: ComponentVersion) -> Bool {
        for place in 0..<max(one.numbers.count, other.numbers.count) {
            let pair = [one, other].map { place < $0.numbers.count ? $0.numbers[place] : 0 }
            if pair[0] != pair[1] { return pair[0] < pair[1] }
        }
        return one.isBeforeRelease && !other.isBeforeRelease
    }

    /// `3.40` and `3.40.0` are the same version.
    package static func == (one: ComponentVersion, other: ComponentVersion) -> Bool { !(one < other) && !(other < one) }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(Array(numbers.reversed().drop { $0 == 0 }))
        hasher.combine(isBeforeRelease)
    }
}

/// A library, a server or an extension that reads and changes a store.
package struct EngineComponent: Hashable, Sendable, CustomStringConvertible {
    /// The name that its makers use: `SQLite`.
    package var name: String
    package var version: String

    package init(name: String, version: String) {
        self.name = name
        self.version = version
    }

    /// The name and the version: `SQLite 3.40.1`.
    package var description: String { "\(name) \(version)" }
}

/// A defect of some versions of a component that damages stores or deletes rows that should stay.
///
/// Each engine has one table of them, next to the code that avoids them.
package struct KnownDefect: Hashable, Sendable {
    package var component: String
    /// The versions that have the defect, both ends included.
    package var versions: [ClosedRange<ComponentVersion>]
    /// When the defect occurs and what it does, as a clause.
    package var effect: String
    /// What this program does instead, as a clause.
    package var remedy: String
    package var source: String

    package init(
        component: String, versions: [ClosedRange<ComponentVersion>], effect: String, remedy: String, source: String
    ) {
        self.component = component
        self.versions = versions
        self.effect = effect
        self.remedy = remedy
        self.source = source
    }

    /// Whether a component has the defect. An unreadable version counts as one that has it.
    package func isIn(_ component: EngineComponent) -> Bool {
        guard component.name == self.component else { return false }
        guard let version = ComponentVersion(component.version) else { return true }
        return versions.contains { $0.contains(version) }
    }

    /// The versions, the defect, the remedy and the source, as one sentence without a full stop.
    package var sentence: String {
        let spans = versions.map { "\($0.lowerBound) to \($0.upperBound)" }.joined(separator: ", ")
        return "\(component) \(spans) has a known defect: \(effect); \(remedy) (\(source))"
    }
}
