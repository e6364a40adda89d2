package import PriceStore
package import RetentionPolicy

/// What a dry run found, saved in a file so that a run can carry out exactly that. The file is text, with a line for each fact.
package struct SavedPlan: Hashable, Sendable {
    /// What a rule was going to delete.
    package struct Step: Hashable, Sendable {
        package var name: String
        package var entity = ""
        package var cutoff = Instant.distantPast
        package var oldest: Instant?
        package var newest: Instant?
        package var keys = KeyList.numbers([])
    }

    package var policySHA256: String
    /// ``RetentionReader/storeIdentifier`` of the store.
    package var store: String
    package var asOf: Instant
    package var made: Instant
    package var validUntil: Instant
    /// The head of the ledger's chain when the plan was made; nil: the ledger had none.
    package var ledgerHash: String?
    package var accept: Set<RefusalCode> = []
    /// The rules selected by name; empty: all.
    package var ruleNames: [String] = []
    /// The rules that were not refused.
    package var steps: [Step] = []

    /// The first line of a plan's file.
    package static let firstLine = "format: retention.plan/1"

    // MARK: The file

    /// The file's text: it ends with the SHA-256 of all preceding lines.
    package var text: String {
        var lines = [
            Self.firstLine, "policy_sha256: \(policySHA256)", "store: \(SafeText.escaped(store))",
            "as_of: \(asOf.rfc3339)",
            "made: \(made.rfc3339)", "valid_until: \(validUntil.rfc3339)", "ledger_hash: \(ledgerHash ?? "none")",
        ]
        lines += accept.map(\.rawValue).sorted().map { "accept: \($0)" }
        lines += ruleNames.map { "only_rule: \(SafeText.escaped($0))" }
        for step in steps {
            lines += [
                "rule: \(SafeText.escaped(step.name))", "  entity: \(SafeText.escaped(step.entity))",
                "  cutoff: \(step.cutoff.rfc3339)", "  rows: \(step.keys.count)",
            ]
            if let oldest = step.oldest { lines.append("  oldest: \(oldest.rfc3339)") }
            if let newest = step.newest { lines.append("  newest: \(newest.rfc3339)") }
            switch step.keys {
            case .numbers(let ranges):
                lines += ranges.map {
                    $0.lowerBound == $0.upperBound
                        ? "  keys: \($0.lowerBound)" : "  keys: \($0.lowerBound)..\($0.upperBound)"
                }
            case .lines(let keys):
                lines += keys.map { "  key: \(SafeText.escaped(String(decoding: $0, as: UTF8.self)))" }
            }
        }
        let body = lines.joined(separator: "\n") + "\n"
        return body + "sha256: \(Self.hash(body))\n"
    }

    private mutating func take(_ key: Substring, _ value: String) -> Bool {
        switch key {
        case "policy_sha256": policySHA256 = value
        case "store": store = SafeText.unescaped(value)
        case "as_of": return Self.read(value) { asOf = $0 }
        case "made": return Self.read(value) { made = $0 }
        case "valid_until": return Self.read(value) { validUntil = $0 }
        case "ledger_hash": ledgerHash = value == "none" ? nil : value
        case "accept":
            guard let code = RefusalCode(recorded: value) else { return false }
            accept.insert(code)
        case "only_rule": ruleNames.append(SafeText.unescaped(value))
        case "rule": steps.append(Step(name: SafeText.unescaped(value)))
        default:
            guard let last = steps.indices.last else { return false }
            return steps[last].take(key, value)
        }
        return true
    }

    fileprivate static func read(_ text: String, _ take: (Instant) -> Void) -> Bool {
        guard let instant = Instant(iso8601: text, zone: .utc) else { return false }
        take(instant)
        return true
    }

    /// The SHA-256 of a text, by which the ledger identifies a plan's file.
    package static func hash(_ body: String) -> String { SHA256.digits(of: body) }
}

extension SavedPlan {
    /// Reads a file's text; nil: no dry run wrote it, or it has been changed or cut off.
    package init?(text: String) {
        self.init(
            policySHA256: "", store: "", asOf: .distantPast, made: .distantPast, validUntil: .distantPast)
        for line in text.utf8.split(separator: UInt8(ascii: "\n")).dropFirst().dropLast() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), line[colon...].starts(with: ": ".utf8),
                take(Substring(line[..<colon]), String(Substring(line[colon...].dropFirst(2))))
            else { return nil }
        }
        // No store has more rows than an `Int` counts. A file is rejected unless writing it again gives the same text: the order, the number
        // of lines and the size of numbers must be right.
        guard steps.allSatisfy({ $0.keys.isInOrder && $0.keys.count <= Int.max }),
            self.text.utf8.elementsEqual(text.utf8)
        else { return nil }
    }
}

extension SavedPlan.Step {
    fileprivate mutating func take(_ key: Substring, _ value: String) -> Bool {
        switch key {
        case "  entity": entity = SafeText.unescaped(value)
        case "  cutoff": return SavedPlan.read(value) { cutoff = $0 }
        // The number of keys.
        case "  rows": break
        case "  oldest": return SavedPlan.read(value) { oldest = $0 }
        case "  newest": return SavedPlan.read(value) { newest = $0 }
        case "  keys":
            let ends = value.split(separator: ".").compactMap { Int64($0) }
            guard case .numbers(var ranges) = keys, let first = ends.first, let last = ends.last,
                first <= last
            else { return false }
            // The list must have one owner while it grows.
            keys = .numbers([])
            ranges.append(first...last)
            keys = .numbers(ranges)
        case "  key":
            var lines: [[UInt8]] = []
            if case .lines(let known) = keys { lines = known }
            keys = .numbers([])
            lines.append(Array(SafeText.unescaped(value).utf8))
            keys = .lines(lines)
        default: return false
        }
        return true
    }
}

extension Plan {
    /// What a rule is going to delete, with the keys of all rows; nil: it is refused or disabled.
    ///
    /// - Throws: ``StoreError``; of kind `unsupported` if rows of the entity have no key.
    func saved(_ index: Int, reader: any RetentionReader) throws(StoreError) -> SavedPlan.Step? {
        let step = steps[index]
        guard let request = step.request else { return nil }
        guard request.deleting.rollup == nil else {
            throw reader.unsupported("a plan cannot hold rows of \(request.entity) that become candles")
        }
        let siblings = steps[..<index].compactMap(\.request).filter { $0.entity == request.entity }
        var pages = KeyPages(BatchDeleteRequest(request).fetchRequest.besides(siblings.map(\.expired)))
        var keys = KeyCollector()
        while step.survey.expiredCount > 0, let page = try pages.next(reader) {
            guard try pages.areFound(page, reader) else {
                throw reader.unsupported(
                    "a plan cannot hold keys of \(request.entity): its rows cannot be found again by their keys")
            }
            keys.add(page)
        }
        var saved = SavedPlan.Step(name: step.rule.name)
        saved.entity = request.entity
        saved.cutoff = step.cutoff
        saved.oldest = step.survey.expiredCount > 0 && step.isByDateAlone ? step.survey.dates.oldest : nil
        saved.newest = step.survey.dates.newestExpired
        saved.keys = keys.keys()
        return saved
    }

    /// Limits each rule to the rows of a saved plan.
    mutating func limit(to saved: SavedPlan) {
        for index in steps.indices where steps[index].disposition == .planned {
            guard let planned = saved.steps.first(where: { $0.name == steps[index].rule.name }) else { continue }
            steps[index].plannedKeys = planned.keys
            steps[index].outline = steps[index].outline.map { PlannedDeletion.outline($0) }
        }
    }

    /// The first rule that would delete other rows than a saved plan lists; nil: none would.
    func drift(from saved: SavedPlan, reader: any RetentionReader) throws -> (index: Int, refusal: Refusal)? {
        for index in steps.indices {
            guard let now = try self.saved(index, reader: reader) else { continue }
            let before = saved.steps.first { $0.name == now.name } ?? SavedPlan.Step(name: now.name)
            guard now.keys != before.keys else { continue }
            func text(_ keys: (count: Int, first: [String]), _ verb: String) -> String? {
                guard keys.count > 0 else { return nil }
                let shown =
                    keys.first.map(SafeText.line).joined(separator: ", ") + (keys.count > keys.first.count ? ", …" : "")
                return "\(Figures.count(keys.count, "row")) \(verb) (\(keys.count == 1 ? "key" : "keys") \(shown))"
            }
            let difference = [
                text(now.keys.subtracting(before.keys), "added"), text(before.keys.subtracting(now.keys), "missing"),
            ].compactMap(\.self)
            return (
                index,
                Refusal(
                    unacceptable: .planDrifted, of: now.entity,
                    "the rows differ from the plan, which has \(Figures.count(Int(clamping: before.keys.count), "row")): "
                        + difference.joined(separator: ", "),
                    instead: "make a new plan and have it reviewed")
            )
        }
        return nil
    }
}
