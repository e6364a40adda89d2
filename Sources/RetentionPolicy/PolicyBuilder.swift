import PriceStore

/// Makes a policy from settings that have the right shapes, and checks rules that involve several settings.
struct PolicyBuilder {
    var reader: SettingReader
    let source: PolicySource

    /// The policy; nil: too much is missing. The reader's diagnostics say whether the policy can be used.
    mutating func policy(_ root: YAMLNode) -> Policy? {
        readZoneFirst(root)
        guard var file = reader.group(root, PolicyKey.file, name: nil) else { return nil }
        inheritDefaults(&file)
        reader.require(PolicyKey.file, in: file)

        var rules = file.groups("rules").compactMap { rule($0) }
        for rule in rules {
            checkPattern(rule)
            checkAges(rule)
        }
        checkNames(file.groups("rules"), of: "rule")
        let holds = file.groups("holds").compactMap { hold($0) }
        checkNames(file.groups("holds"), of: "hold")
        let pending = file.groups("pending").compactMap { pendingSource($0) }
        let store = storeLocation(file)
        let archive = archive(file, of: store)

        chainRollups(&rules)
        guard let store, !rules.isEmpty else { return nil }
        var policy = Policy(file: source, store: store, rules: rules)
        policy.marks = file.marks
        policy.timezone = reader.zone
        policy.pending = pending
        policy.holds = holds
        switch file.group("ledger")?.text("path") ?? file.text("ledger") {
        case nil: policy.ledger = .besideStore
        case "none": policy.ledger = .none
        case .some(let path): policy.ledger = .path(path)
        }
        if let ledger = file.group("ledger"), ledger["keep"] != nil {
            // The only word is `forever`; everything else is an age.
            policy.ledgerKeep = ledger.age("keep")
        }
        takePattern(file, &policy)
        policy.archive = archive
        if archive == nil { for index in rules.indices { policy.rules[index].isArchived = false } }
        checkRollups(policy)
        checkSourcesOfAges(policy)
        policy.expectedEvery = file.age("expected_every")
        policy.onFailure = command(file, "on_failure")
        policy.onSuccess = command(file, "on_success")
        policy.metricsFile = file.group("metrics")?.text("textfile")
        policy.log = file.group("log").map { log in
            Policy.LogSettings(
                file: log.text("file"), format: log.word("format", as: Policy.LogSettings.Format.self) ?? .text,
                level: log.word("level", as: Policy.LogSettings.Level.self))
        }
        policy.maxRuntime = file.group("limits")?.duration("max_runtime")
        return policy
    }

    /// A program and its arguments. A program with a slash is relative to the policy's folder. A program without a slash is looked up when
    /// it is needed.
    private func command(_ file: SettingGroup, _ key: String) -> [String] {
        var words = file.texts(key)
        if let program = words.first, program.contains("/"), !program.hasPrefix("/") {
            words[0] = (reader.baseFolder == "/" ? "" : reader.baseFolder) + "/" + program
        }
        return words
    }

    /// All dates of the file are read in its zone, so `timezone` is read first.
    private mutating func readZoneFirst(_ root: YAMLNode) {
        guard case .mapping(let pairs) = root.content,
            let pair = pairs.first(where: { $0.key == "timezone" }),
            case .scalar(let scalar) = pair.value.content, let zone = CalendarZone(identifier: scalar.text)
        else { return }
        reader.zone = zone
    }

    private mutating func inheritDefaults(_ file: inout SettingGroup) {
        guard var rules = file["rules"], case .list(var items) = rules.value else { return }
        let defaults = file.group("defaults") ?? SettingGroup(mark: file.mark)
        for index in items.indices {
            guard case .group(let group) = items[index].value else { continue }
            let isOfHistory = group.text("entity") == Entity.persistentHistory
            items[index].value = .group(isOfHistory ? history(group, defaults) : group.merged(over: defaults))
        }
        rules.value = .list(items)
        file["rules"] = rules
    }

    /// The settings of a rule for a Core Data store's history. It has one date and keeps the newest transaction, from which Core Data counts
    /// on. A history has no gaps, so no key chooses among its transactions, and an app that nobody uses is no stopped feed.
    private mutating func history(_ group: SettingGroup, _ defaults: SettingGroup) -> SettingGroup {
        for (key, setting) in group.pairs where !PolicyKey.ofHistory.contains(key) {
            reader.report(
                setting.keyMark,
                "'\(key)' is not for \(Entity.persistentHistory), which only loses its oldest transactions")
        }
        var inherited = SettingGroup(mark: defaults.mark)
        for key in defaults.keys where PolicyKey.ofHistory.contains(key) { inherited[key] = defaults[key] }
        var rule = group.merged(over: inherited)
        let mark = group["entity"]?.mark ?? group.mark
        func setting(_ value: Setting.Value) -> Setting { Setting(value: value, keyMark: mark, mark: mark) }
        var newest = SettingGroup(mark: mark)
        newest["count"] = setting(.integer(1))
        rule["date_attribute"] = setting(.text(Entity.historyDate))
        rule["keep_last"] = setting(.group(newest))
        rule["accept"] = setting(.list(rule.list("accept") + [setting(.text(RefusalCode.feedStopped.rawValue))]))
        return rule
    }

    private mutating func checkNames(_ entries: [SettingGroup], of kind: String) {
        var places: [String: Mark] = [:]
        for entry in entries {
            guard let name = entry.text("name"), let mark = entry["name"]?.mark else { continue }
            if let first = places[name] {
                reader.report(
                    mark, "another \(kind) is already named '\(name)', at line \(first.line); names are unique")
            } else {
                places[name] = mark
            }
        }
    }

    private mutating func storeLocation(_ file: SettingGroup) -> Policy.StoreLocation? {
        guard let setting = file["store"] else { return nil }
        switch setting.value {
        case .text(let path):
            return Policy.StoreLocation(StoreKind(path), written: written(path), mark: setting.mark)
        case .group(let store):
            if let files = store["files"] { return manyStores(store, files) }
            if let mark = store["except"]?.keyMark {
                reader.report(mark, "'except' is for a pattern of stores: files: \"data/*.sqlite\"")
            }
            if store["path"] == nil, store["url"] == nil, !store.misspelt.contains("path") {
                reader.report(store.mark, "required key 'path' is missing in 'store'")
            }
            checkServerKeys(store)
            guard let path = store.text("path") ?? store.text("url"), let mark = (store["path"] ?? store["url"])?.mark
            else { return nil }
            var location = Policy.StoreLocation(StoreKind(path), written: written(path), mark: mark)
            location.passwordFile = store.text("password_file")
            location.maxReplicationLag = store.duration("max_replication_lag")
            if let timeout = store.duration("busy_timeout") { location.busyTimeout = timeout }
            location.model = store.text("model")
            return location
        default: return nil
        }
    }

    /// Takes the pattern of stores, and checks what must fit it.
    private mutating func takePattern(_ file: SettingGroup, _ policy: inout Policy) {
        guard let group = file.group("store"), let files = group.text("files") else { return }
        policy.stores = StorePattern(files, except: group.texts("except"), baseFolder: reader.baseFolder)
        // All stores have one, beside the policy.
        if policy.ledger == .besideStore {
            policy.ledger = .path(reader.absolutePath("retention.ledger.sqlite"))
        }
        for source in policy.pending where !source.files.contains(Policy.storePlaceholder) {
            reader.report(
                source.marks.value("files"),
                "'files' needs \(Policy.storePlaceholder), the name of the store that gets the rows: in/\(Policy.storePlaceholder)/*.csv"
            )
        }
    }

    private mutating func manyStores(_ store: SettingGroup, _ files: Setting) -> Policy.StoreLocation? {
        for key in ["path", "url", "password_file", "max_replication_lag"] {
            if let mark = store[key]?.keyMark { reader.report(mark, "'\(key)' is for one store, and 'files' for many") }
        }
        guard case .text(let pattern) = files.value else { return nil }
        for (pattern, mark) in [(pattern, files.mark)]
            + store.list("except").compactMap({ item in
                if case .text(let text) = item.value { (text, item.mark) } else { nil }
            })
        {
            if let mistake = StorePattern.mistake(in: pattern) { reader.report(mark, mistake) }
        }
        if pattern.hasSuffix("/") || pattern.split(separator: "/").last == "**" {
            reader.report(files.mark, "'files' ends in the names of files, as in data/**/*.sqlite")
        }
        var location = Policy.StoreLocation(.file(pattern), written: pattern, mark: files.mark)
        if let timeout = store.duration("busy_timeout") { location.busyTimeout = timeout }
        location.model = store.text("model")
        return location
    }

    /// Checks that `url` and some other keys are used for servers only.
    private mutating func checkServerKeys(_ store: SettingGroup) {
        // A build without the engine has already reported these keys.
        guard PolicyKey.noPostgreSQL == nil else { return }
        if store["path"] != nil, let mark = store["url"]?.keyMark {
            reader.report(mark, "'path' and 'url' name two stores; a policy has one")
        }
        let isServer = (store.text("url") ?? store.text("path")).map { StoreKind($0).isServer } ?? true
        for key in ["password_file", "max_replication_lag"] where !isServer {
            if let mark = store[key]?.keyMark { reader.report(mark, "'\(key)' is for PostgreSQL databases") }
        }
        if isServer, let mark = store["model"]?.keyMark {
            reader.report(mark, "'model' is for Core Data stores")
        }
    }

    /// A path relative to the policy's folder, as the user writes it, or a URL.
    private func written(_ path: String) -> String {
        if StoreKind(path).isServer { return path }
        let folder = reader.baseFolder == "/" ? "/" : reader.baseFolder + "/"
        return path.hasPrefix(folder) ? String(path.dropFirst(folder.count)) : path
    }

    /// Ages are read before pending files are saved, and would be those of yesterday.
    private mutating func checkSourcesOfAges(_ policy: Policy) {
        for rule in policy.rules {
            guard let ages = rule.ages?.source,
                let pending = policy.pending.first(where: { $0.entity.folded == ages.entity.folded })
            else { continue }
            reader.report(
                pending.marks.value("entity"),
                "the rule '\(rule.name)' reads its ages from \(ages.entity) before pending files are saved: fill that table before the run"
            )
        }
    }

    private func pendingSource(_ group: SettingGroup) -> PendingSource? {
        guard let files = group.text("files"), let entity = group.text("entity") else { return nil }
        var source = PendingSource(files: files, baseFolder: reader.baseFolder, entity: entity, marks: group.marks)
        if let columns = group.group("columns") {
            for column in columns.keys { source.columns[column] = columns.text(column) }
        }
        if let constants = group.group("constants") {
            for attribute in constants.keys {
                guard case .stored(let value, let numeral) = constants[attribute]?.value else { continue }
                source.constants[attribute] = value
                source.numerals[attribute] = numeral
            }
        }
        source.onConflict = group.word("on_conflict", as: ConflictPolicy.self) ?? .fail
        return source
    }
}
