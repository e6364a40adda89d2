import PriceStore

/// A value of the policy file that was read and has the shape of its key.
struct Setting: Sendable {
    indirect enum Value: Sendable {
        case text(String)
        case integer(Int)
        case fraction(Double)
        case flag(Bool)
        case age(MaxAge)
        case duration(Duration)
        case instant(Instant)
        case zone(CalendarZone)
        /// A value as the store would hold it, and for a number its spelling.
        case stored(StoreValue, numeral: String?)
        case list([Setting])
        case group(SettingGroup)
    }

    /// The value; nil: it has a mistake, which was reported.
    var value: Value?
    /// The position of the key; for an item of a list, of the item.
    var keyMark: Mark
    var mark: Mark
}

/// The settings of one mapping, by key, in file order.
struct SettingGroup: Sendable {
    private(set) var keys: [String] = []
    private var settings: [String: Setting] = [:]
    /// Required keys that an unknown key probably means. They are not reported as missing.
    var misspelt: Set<String> = []
    var mark: Mark

    init(mark: Mark) { self.mark = mark }

    /// The settings with their keys.
    var pairs: [(key: String, setting: Setting)] {
        keys.compactMap { key in settings[key].map { (key, $0) } }
    }

    subscript(key: String) -> Setting? {
        get { settings[key] }
        set {
            if settings.updateValue(newValue ?? Setting(keyMark: mark, mark: mark), forKey: key) == nil {
                keys.append(key)
            }
        }
    }

    /// This group with missing keys taken from `defaults`. If both have a mapping for a key, its sub-keys are merged in the same way, one
    /// level deep. The keys of the group always take precedence.
    func merged(over defaults: SettingGroup) -> SettingGroup {
        var result = self
        for (key, inherited) in defaults.pairs {
            guard let own = settings[key] else {
                result[key] = inherited
                continue
            }
            if case .group(var group) = own.value, case .group(let inheritedGroup) = inherited.value {
                for subkey in inheritedGroup.keys where group[subkey] == nil { group[subkey] = inheritedGroup[subkey] }
                result.settings[key]?.value = .group(group)
            }
        }
        return result
    }

    /// The positions of all keys and values of the group. Nested keys have dotted paths, items of lists paths such as `per[0]`.
    var marks: Marks {
        var marks = Marks(whole: mark)
        for key in keys { settings[key]?.collect(into: &marks, path: key) }
        return marks
    }

    func text(_ key: String) -> String? {
        if case .text(let text) = settings[key]?.value { text } else { nil }
    }

    func integer(_ key: String) -> Int? {
        if case .integer(let integer) = settings[key]?.value { integer } else { nil }
    }

    func fraction(_ key: String) -> Double? {
        if case .fraction(let fraction) = settings[key]?.value { fraction } else { nil }
    }

    func flag(_ key: String) -> Bool? {
        if case .flag(let flag) = settings[key]?.value { flag } else { nil }
    }

    func age(_ key: String) -> MaxAge? {
        if case .age(let age) = settings[key]?.value { age } else { nil }
    }

    func duration(_ key: String) -> Duration? {
        if case .duration(let duration) = settings[key]?.value { duration } else { nil }
    }

    func instant(_ key: String) -> Instant? {
        if case .instant(let instant) = settings[key]?.value { instant } else { nil }
    }

    func word<Word: RawRepresentable<String>>(_ key: String, as type: Word.Type) -> Word? {
        text(key).flatMap(Word.init(rawValue:))
    }

    func list(_ key: String) -> [Setting] {
        if case .list(let items) = settings[key]?.value { items } else { [] }
    }

    func groups(_ key: String) -> [SettingGroup] {
        list(key).compactMap { if case .group(let group) = $0.value { group } else { nil } }
    }

    func texts(_ key: String) -> [String] {
        list(key).compactMap { if case .text(let text) = $0.value { text } else { nil } }
    }

    func group(_ key: String) -> SettingGroup? {
        if case .group(let group) = settings[key]?.value { group } else { nil }
    }
}

extension Setting {
    fileprivate func collect(into marks: inout Marks, path: String) {
        marks.keys[path] = keyMark
        marks.values[path] = mark
        switch value {
        case .group(let group):
            for key in group.keys { group[key]?.collect(into: &marks, path: "\(path).\(key)") }
        case .list(let items):
            for (index, item) in items.enumerated() { item.collect(into: &marks, path: "\(path)[\(index)]") }
        default: break
        }
    }
}
