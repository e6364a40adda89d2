import Crypto
package import PriceStore
package import RetentionPolicy

/// What a dry run saw, saved in a file so that a run can carry out exactly that. The file is text, a line for each fact.
package struct SavedPlan: Hashable, Sendable {
    /// What a rule was about to delete.
    package struct Step: Hashable, Sendable {
        package var name: String
        package var entity: String
        package var cutoff: Instant
        package var rowCount: Int
        package var oldest: Instant?
        package var newest: Instant?
        /// The digest of the keys, see ``KeyDigest``.
        package var digest: String
        package var keys: KeyList

        package init(
            name: String, entity: String, cutoff: Instant, rowCount: Int, oldest: Instant?, newest: Instant?,
            digest: String, keys: KeyList
        ) {
            self.name = name
            self.entity = entity
            self.cutoff = cutoff
            self.rowCount = rowCount
            self.oldest = oldest
            self.newest = newest
            self.digest = digest
            self.keys = keys
        }
    }

    package var policySHA256: String
    /// ``StoreReader/storeIdentifier`` of the store.
    package var store: String
    package var asOf: Instant
    package var made: Instant
    package var validUntil: Instant
    /// The head of the ledger's chain when the plan was made; nil: the ledger had none.
    package var ledgerHash: String?
    package var accept: Set<RefusalCode> = []
    /// The rules that were chosen by name; empty: all.
    package var ruleNames: [String] = []
    /// The rules that were not refused.
    package var steps: [Step] = []

    package init(policySHA256: String, store: String, asOf: Instant, made: Instant, validUntil: Instant) {
        self.policySHA256 = policySHA256
        self.store = store
        self.asOf = asOf
        self.made = made
        self.validUntil = validUntil
    }

    /// How a plan's file begins.
    package static let firstLine = "format: retention.plan/1"

    // MARK: The file

    /// The file: it ends with the SHA-256 of all lines before.
    package var text: String {
        var lines = [
            Self.firstLine, "policy_sha256: \(policySHA256)", "store: \(Self.escaped(store))", "as_of: \(asOf.rfc3339)",
            "made: \(made.rfc3339)", "valid_until: \(validUntil.rfc3339)", "ledger_hash: \(ledgerHash ?? "none")",
        ]
        lines += accept.map(\.rawValue).sorted().map { "accept: \($0)" }
        lines += ruleNames.map { "only_rule: \(Self.escaped($0))" }
        for step in steps {
            lines += [
                "rule: \(Self.escaped(step.name))", "  entity: \(Self.escaped(step.entity))",
                "  cutoff: \(step.cutoff.rfc3339)", "  rows: \(step.rowCount)",
            ]
            if let oldest = step.oldest { lines.append("  oldest: \(oldest.rfc3339)") }
            if let newest = step.newest { lines.append("  newest: \(newest.rfc3339)") }
            lines.append("  digest: \(step.digest)")
            switch step.keys {
            case .numbers(let ranges):
                lines += ranges.map {
                    $0.count == 1 ? "  keys: \($0.lowerBound)" : "  keys: \($0.lowerBound)..\($0.upperBound)"
                }
            case .texts(let keys): lines += keys.map { "  key: \(Self.escaped($0))" }
            }
        }
        let body = lines.joined(separator: "\n") + "\n"
        return body + "sha256: \(Self.hash(body))\n"
    }

    /// Reads a file's text; nil: it is no plan, or has been changed or cut off.
    package init?(text: String) {
        guard text.hasPrefix(Self.firstLine + "\n"), text.hasSuffix("\n"),
            let end = text.dropLast().lastIndex(of: "\n").map({ text.index(after: $0) }),
            text[end...] == "sha256: \(Self.hash(String(text[..<end])))\n"
        else { return nil }
        self.init(
            policySHA256: "", store: "", asOf: .distantPast, made: .distantPast, validUntil: .distantPast)
        for line in text[..<end].split(separator: "\n").dropFirst() {
            guard let colon = line.firstRange(of: ": "),
                take(line[..<colon.lowerBound], String(line[colon.upperBound...]))
            else { return nil }
        }
    }

    private mutating func take(_ key: Substring, _ value: String) -> Bool {
        switch key {
        case "policy_sha256": policySHA256 = value
        case "store": store = Self.unescaped(value)
        case "as_of": return Self.read(value) { asOf = $0 }
        case "made": return Self.read(value) { made = $0 }
        case "valid_until": return Self.read(value) { validUntil = $0 }
        case "ledger_hash": ledgerHash = value == "none" ? nil : value
        case "accept":
            guard let code = RefusalCode(rawValue: value) else { return false }
            accept.insert(code)
        case "only_rule": ruleNames.append(Self.unescaped(value))
        case "rule":
            steps.append(
                Step(
                    name: Self.unescaped(value), entity: "", cutoff: .distantPast, rowCount: 0, oldest: nil,
                    newest: nil,
                    digest: "", keys: .numbers([])))
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

    /// The SHA-256 of a text, by which the ledger knows a plan's file.
    package static func hash(_ body: String) -> String { HexText.text(SHA256.hash(data: Array(body.utf8))) }

    /// A text on one line.
    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    fileprivate static func unescaped(_ text: String) -> String {
        var plain = ""
        var isEscape = false
        for character in text.unicodeScalars {
            if isEscape {
                plain.unicodeScalars.append(character == "n" ? "\n" : character)
                isEscape = false
            } else if character == "\\" {
                isEscape = true
            } else {
                plain.unicodeScalars.append(character)
            }
        }
        return plain
    }
}

extension SavedPlan.Step {
    fileprivate mutating func take(_ key: Substring, _ value: String) -> Bool {
        switch key {
        case "  entity": entity = SavedPlan.unescaped(value)
        case "  cutoff": return SavedPlan.read(value) { cutoff = $0 }
        case "  rows":
            guard let number = Int(value) else { return false }
            rowCount = number
        case "  oldest": return SavedPlan.read(value) { oldest = $0 }
        case "  newest": return SavedPlan.read(value) { newest = $0 }
        case "  digest": digest = value
        case "  keys":
            let ends = value.split(separator: ".", omittingEmptySubsequences: true).map { Int64($0) }
            guard case .numbers(var ranges) = keys, let first = ends.first ?? nil, let last = ends.last ?? nil,
                first <= last
            else { return false }
            // Not two owners of the list while it grows.
            keys = .numbers([])
            ranges.append(first...last)
            keys = .numbers(ranges)
        case "  key":
            var texts: [String] = []
            if case .texts(let known) = keys { texts = known }
            keys = .numbers([])
            texts.append(SavedPlan.unescaped(value))
            keys = .texts(texts)
        default: return false
        }
        return true
    }
}

extension Plan {
    /// What a rule is about to delete, with the keys of all rows; nil: it is refused or disabled.
    ///
    /// - Throws: ``StoreError``; of kind `unsupported` if rows of the entity have no key.
    func saved(_ index: Int, reader: any StoreReader) throws -> SavedPlan.Step? {
        let step = steps[index]
        guard let request = step.request else { return nil }
        let siblings = steps[..<index].compactMap(\.request).filter { $0.entity == request.entity }
        let rows = BatchDeleteRequest(request).fetchRequest.besides(siblings.map(\.deletion))
        var digest = KeyDigest()
        var page = rows
        page.fetchLimit = 100_000
        while step.survey.expiredCount > 0 {
            let ids = try reader.fetchObjectIDs(page)
            digest.add(ids)
            guard let last = ids.last, ids.count == page.fetchLimit else { break }
            page.predicate = rows.predicate && .key(KeyRange(after: last.key, through: nil))
        }
        let keys = digest.keys()
        return SavedPlan.Step(
            name: step.rule.name, entity: request.entity, cutoff: step.cutoff, rowCount: step.survey.expiredCount,
            oldest: step.survey.expiredCount > 0 && step.isByDateAlone ? step.survey.oldest : nil,
            newest: step.survey.newestExpired, digest: digest.finish(), keys: keys)
    }

    /// Limits each rule to the rows of a plan: to their number and, where keys are whole numbers, to keys up to the last one, so
    /// that rows that arrive while the run works stay.
    mutating func limit(to saved: SavedPlan, reader: any StoreReader) throws {
        for index in steps.indices {
            guard steps[index].disposition == .planned, var request = steps[index].surveyRequest,
                let planned = saved.steps.first(where: { $0.name == steps[index].rule.name })
            else { continue }
            steps[index].maxRows = min(steps[index].maxRows ?? .max, max(1, planned.rowCount))
            guard case .numbers(let keys) = planned.keys, let last = keys.last?.upperBound else { continue }
            request.filter = request.filter && .key(KeyRange(after: nil, through: [.integer(last)]))
            _ = try reader.survey(request)
            steps[index].surveyRequest = request
            steps[index].outline = try reader.outline(of: request)
        }
    }

    /// The first rule that would delete other rows than a saved plan has; nil: all would delete the same.
    func drift(from saved: SavedPlan, reader: any StoreReader) throws -> (index: Int, refusal: Refusal)? {
        for index in steps.indices {
            guard let now = try self.saved(index, reader: reader) else { continue }
            let before = saved.steps.first { $0.name == now.name }
            guard now.rowCount != before?.rowCount ?? 0 || now.digest != before?.digest ?? now.digest else { continue }
            let added = now.keys.subtracting(before?.keys ?? .numbers([]))
            let missing = (before?.keys ?? .numbers([])).subtracting(now.keys)
            func text(_ keys: (count: Int, first: [String]), _ verb: String) -> String? {
                guard keys.count > 0 else { return nil }
                let shown =
                    keys.first.map(SafeText.line).joined(separator: ", ") + (keys.count > keys.first.count ? ", …" : "")
                return "\(Figures.count(keys.count, "row")) \(verb) (\(keys.count == 1 ? "key" : "keys") \(shown))"
            }
            let difference = [text(added, "added"), text(missing, "missing")].compactMap(\.self).joined(separator: ", ")
            return (
                index,
                Refusal(
                    .planDrifted,
                    reason: "refusing to delete from \(now.entity): the rows differ from the plan, which has "
                        + "\(Figures.count(before?.rowCount ?? 0, "row")): \(difference)",
                    wayPast: "this cannot be accepted; make a new plan and have it reviewed", isAcceptable: false)
            )
        }
        return nil
    }
}
