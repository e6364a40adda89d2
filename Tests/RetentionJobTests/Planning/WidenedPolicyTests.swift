import Foundation
import PriceStore
import RetentionJob
import RetentionPolicy
import StoreConformance
import TestSupport
import Testing

/// Whether a rule has become wider, and by how many rows: against a judge that computes what both policies delete.
@Suite struct WidenedPolicyTests {
    enum Verdict: String { case wider, narrower, same }

    /// A rule before and after a change, as lines of a policy in front of its rules and as settings of the rule.
    struct Change: CustomTestStringConvertible {
        var old, new: String
        var verdict: Verdict
        var oldHead = ""
        var newHead = ""
        var testDescription: String { "\(oldHead) \(old) -> \(newHead) \(new)" }

        init(_ old: String, _ new: String, _ verdict: Verdict, head: String = "", newHead: String? = nil) {
            (self.old, self.new) = (Self.aged(old), Self.aged(new))
            (self.verdict, oldHead, self.newHead) = (verdict, head, newHead ?? head)
        }

        /// Without an age it is 30 days.
        private static func aged(_ rule: String) -> String {
            rule.contains("max_age") ? rule : ["max_age: 30d", rule].filter { !$0.isEmpty }.joined(separator: ", ")
        }
    }

    static let changes: [Change] = [
        // Ages.
        Change("", "max_age: 60d", .narrower), Change("max_age: 300d", "max_age: 60d", .wider),
        Change("max_age: 2w", "max_age: 14d", .same), Change("max_age: 24mo", "max_age: 2y", .same),
        Change("max_age: 90min", "max_age: 1h30min", .same), Change("max_age: 0030d", "", .same),
        Change("max_age: 1d", "max_age: 24h", .narrower),
        Change("max_age: 1d", "max_age: 24h", .wider, head: "timezone: Europe/Berlin"),
        Change("max_age: 1mo", "", .wider), Change("max_age: 1mo", "max_age: 31d", .narrower),
        Change("", "max_age: 1mo", .wider), Change("max_age: 28d", "max_age: 1mo", .narrower),
        Change("max_age: 1y", "max_age: 365d", .wider), Change("max_age: 1y", "max_age: 366d", .narrower),
        Change("", "max_age: 29d23h", .wider), Change("", "max_age: 30d1s", .narrower),
        // Where.
        Change("where: { symbol: XAU }", "", .wider), Change("", "where: { symbol: XAU }", .narrower),
        Change("where: { symbol: XAU }", "where: { symbol: EUR }", .wider),
        Change("where: { symbol: [XAU, EUR] }", "where: { symbol: XAU }", .narrower),
        Change("where: { symbol: XAU }", "where: { symbol: [XAU] }", .narrower),
        Change("where: { symbol: XAU }", "where: { symbol: XAU, v: { lt: 5 } }", .narrower),
        Change("where: { symbol: XAU }", "where: { symbol: [XAU, EUR] }", .wider),
        Change("where: { v: { lt: 5 } }", "where: { v: { lt: 4 } }", .wider),
        Change("where: { v: { lt: 5 } }", "where: { v: { le: 5 } }", .wider),
        Change("where: { v: { ge: 5 } }", "where: { v: { gt: 5 } }", .wider),
        Change("where: { symbol: XAU, v: { lt: 5 } }", "where: { v: { lt: 5 }, symbol: XAU }", .same),
        Change("where: { v: { null: true } }", "where: { v: { null: false } }", .wider),
        // What is kept.
        Change("keep_last: { count: 9 }", "keep_last: { count: 3 }", .wider),
        Change("keep_last: { count: 3 }", "keep_last: { count: 9 }", .narrower),
        Change("keep_last: { count: 3 }", "", .wider), Change("", "keep_last: { count: 3 }", .narrower),
        Change("keep_last: { count: 3, per: [symbol] }", "keep_last: { count: 3 }", .wider),
        Change("keep_last: { count: 3, per: [symbol, v] }", "keep_last: { count: 3, per: [v, symbol] }", .same),
        Change("thin: { daily: 90d }", "", .wider), Change("", "thin: { daily: 90d }", .narrower),
        Change("thin: { daily: 90d }", "thin: { daily: 60d }", .wider),
        Change("thin: { daily: 90d }", "thin: { daily: forever }", .wider),
        Change("thin: { daily: 90d }", "thin: { daily: 90d, monthly: 1y }", .wider),
        Change("thin: { daily: 90d, monthly: 1y }", "thin: { monthly: 1y }", .wider),
        Change("thin: { daily: 90d }", "thin: { weekly: 90d }", .wider),
        Change("thin: { daily: 90d }", "thin: { daily: 90d, pick: first }", .wider),
        Change("thin: { daily: 90d }", "thin: { daily: 90d, per: [symbol] }", .wider),
        Change("", "thin: { daily: 90d, pick: ohlc, price: v }", .narrower),
        Change("thin: { daily: 90d, pick: first }", "thin: { daily: 90d, pick: ohlc, price: v }", .wider),
        Change("thin: { daily: 90d, per: [symbol] }", "thin: { daily: 90d, per: [SYMBOL] }", .wider),
        Change("thin: { daily: 12w, per: [symbol, v] }", "thin: { per: [v, symbol], pick: last, daily: 84d }", .same),
        // What is a date.
        Change("earliest: 2026-01-01", "earliest: 2025-01-01", .wider),
        Change("earliest: 2025-01-01", "earliest: 2026-01-01", .narrower), Change("earliest: 2025-01-01", "", .wider),
        Change("", "earliest: 2026-01-01", .wider),
        Change("allow_empty: true, latest: 2026-06-01", "allow_empty: true, latest: 2026-09-01", .wider),
        Change("allow_empty: true, latest: 2026-06-01", "allow_empty: true", .wider),
        Change("", "latest: 2026-06-01", .narrower), Change("align: month", "", .wider),
        Change("", "align: month", .narrower), Change("align: day", "align: week", .wider),
        Change("align: week", "align: month", .wider),
        Change("", "", .wider, head: "timezone: UTC", newHead: "timezone: Asia/Tokyo"),
        // Limits, relationships, archives.
        Change("limits: { max_rows: 5 }", "limits: { max_rows: 500 }", .wider),
        Change("limits: { max_rows: 500 }", "limits: { max_rows: 400 }", .narrower),
        Change("limits: { max_fraction: 0.5 }", "", .wider), Change("", "limits: { max_fraction: 0.99 }", .narrower),
        Change("", "limits: { max_late_rows: 2000 }", .wider), Change("", "limits: { max_late_rows: 10 }", .narrower),
        Change("", "limits: { max_silence: 30d }", .wider),
        Change("limits: { max_silence: 30d }", "limits: { max_silence: 4w }", .narrower),
        Change("limits: { max_silence: 4w }", "limits: { max_silence: 30d }", .wider),
        Change("relationships: deny", "", .wider), Change("", "relationships: deny", .wider),
        Change("relationships: nullify", "relationships: cascade", .wider),
        Change("relationships: cascade", "relationships: nullify", .wider), Change("", "allow_empty: true", .wider),
        Change("", "accept: [too_many_rows]", .wider),
        Change("accept: [wrong_unit, too_many_rows]", "accept: [wrong_unit]", .narrower),
        Change("where: { symbol: \u{e9} }", "where: { symbol: e\u{301} }", .wider),
        Change("", "archive: none", .wider, head: "archive: { folder: archive }"),
        Change("archive: none", "", .narrower, head: "archive: { folder: archive }"),
        // What does not matter.
        Change("", "batch: { rows: 100 }, reclaim: none", .same), Change("relationships: as_declared", "", .same),
    ]

    /// Rows of a day each, of two symbols, some without a value or a date.
    private static func store() throws -> PriceFile {
        let file = try PriceFile("ALTER TABLE price ADD COLUMN v INTEGER")
        try file.addPrices(daysOld: 0..<400)
        try file.addPrices(daysOld: (0..<400).filter { $0 % 3 == 0 }, symbol: "EUR")
        try file.execute("UPDATE price SET v = id % 11 WHERE id % 7 > 0; UPDATE price SET at = NULL WHERE id % 50 = 0")
        return file
    }

    private static func read(_ head: String, _ rules: [String], in file: PriceFile) throws -> Policy {
        let path = file.folder.appending(path: "policy.yaml").path(percentEncoded: false)
        let lines = rules.enumerated().map { index, body in
            body.contains("name:")
                ? "  - { entity: price, date_attribute: at, date_format: unix_seconds, \(body) }"
                : "  - { name: r\(index), entity: price, date_attribute: at, date_format: unix_seconds, \(body) }"
        }
        let text = "version: 1\nstore: \(file.path)\n\(head)\nrules:\n\(lines.joined(separator: "\n"))\n"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try PolicyFile.read(path: path)
    }

    /// What the ledger remembers of a run of a policy.
    private static func memory(of policy: Policy) throws -> RunMemory {
        var memory = RunMemory(ends: [PriceFile.now.advanced(byMicroseconds: -1)])
        memory.agreed = try policy.rules.map { rule in
            let line = AgreedRule(
                rule, of: policy, holds: policy.holds, file: "policy", run: "01RUN", ended: PriceFile.now
            ).line
            #expect(!line.contains("\n"))
            let again = try #require(AgreedRule(line: line), "\(line)")
            #expect(again.line == line)
            return again
        }
        return memory
    }

    private static func step(_ file: PriceFile, _ policy: Policy, _ memory: RunMemory) throws -> Plan.Step {
        let plan = try Planner(
            policy: policy, asOf: PriceFile.now, clock: PriceFile.now, memory: memory, countsAllRows: true
        ).plan(reader: try file.reader())
        return try #require(plan.steps.first)
    }

    /// The rows that each rule of a policy deletes, by the judge of the engines.
    ///
    /// - Parameter isPlanned: whether each rule is carried out; nil: it is if its limits allow that.
    private static func deleted(
        by policy: Policy, in file: PriceFile, isPlanned: [Bool]? = nil
    ) throws -> [Set<Int64>] {
        let reader: any RetentionReader = try file.reader()
        let attributes = try reader.entity(named: "price")?.attributes ?? []
        let names = attributes.map(\.name)
        let rows = try reader.fetch(StoreFetchRequest(entity: "price"), attributes: names).map { values in
            guard case .integer(let id) = values[0] else { throw StoreError(.defect, store: "", message: "no id") }
            return ReferenceStore.Row(id: id, values: Dictionary(uniqueKeysWithValues: zip(names, values)))
        }
        let table = ReferenceStore.Table(attributes: attributes, rows: rows)
        let requests = try Planner(policy: policy, asOf: PriceFile.now, clock: PriceFile.now, countsAllRows: true)
            .plan(reader: reader).steps.map { step in
                var request = try #require(step.surveyRequest)
                // The judge takes names as they are written.
                request.keepers.thinning = request.keepers.thinning.map {
                    Thinning(
                        tiers: $0.tiers, pick: $0.pick, groupedBy: $0.groupedBy.map { $0.lowercased() },
                        among: $0.among, date: $0.date)
                }
                return request
            }
        var judge = ReferenceJudge(ReferenceStore(tables: ["price": table]))
        return policy.rules.enumerated().map { index, rule in
            let others = Array(requests[..<index] + requests[(index + 1)...])
            var without = judge
            let verdict = judge.judge(requests[index], beside: others)
            let fraction = Double(verdict.deleted.count) / Double(verdict.survey.readableCount ?? 0)
            let isAllowed =
                verdict.deleted.count <= rule.limits.maxRows ?? .max && fraction <= rule.limits.maxFraction ?? .infinity
            if !(isPlanned?[index] ?? isAllowed) {
                _ = without.judge(requests[index], beside: others, isWithheld: true)
                judge = without
            }
            return isAllowed ? verdict.deleted : []
        }
    }

    @Test(arguments: changes) func aChangeIsJudgedByTheRowsOfBothPolicies(_ change: Change) throws {
        let file = try Self.store()
        try file.execute("CREATE TABLE note(price INTEGER REFERENCES price ON DELETE SET NULL)")
        let old = try Self.read(change.oldHead, [change.old], in: file)
        let new = try Self.read(change.newHead, [change.new], in: file)
        let step = try Self.step(file, new, Self.memory(of: old))
        #expect((step.widened != nil) == (change.verdict == .wider), "\(step.widened?.text ?? "")")
        let (before, now) = (try Self.deleted(by: old, in: file)[0], try Self.deleted(by: new, in: file)[0])
        let more = now.subtracting(before)
        if let widened = step.widened {
            #expect(widened.rowCount == more.count, "\(widened.rowText)")
            #expect(step.report.refusal == .policyWidened)
            #expect(step.report.message?.contains(widened.text) == true, "\(step.report.message ?? "")")
        } else {
            #expect(more.isEmpty)
        }
        if change.verdict == .same { #expect(now == before) }
    }

    private static let rollup = "into: c, every: 1h, per: [symbol], price: v"

    static let rollups: [(old: String, new: String, verdict: Verdict)] = [
        (rollup, "into: c, every: 60min, per: [symbol], price: v, session: { start: \"00:00\" }", .same),
        ("", rollup, .narrower), (rollup, "", .wider), (rollup, "\(rollup), volume: id", .wider),
        (rollup, "into: c, every: 1d, per: [symbol], price: v", .wider),
        (rollup, "into: c, every: 1h, per: [symbol, id], price: v", .wider),
        (rollup, "into: d, every: 1h, per: [symbol], price: v", .wider),
        (rollup, "\(rollup), session: { start: \"17:00\" }", .wider),
        (rollup, "\(rollup), session: { zone: Asia/Tokyo }", .wider),
        (rollup, "\(rollup), allow_non_positive: true", .wider),
        (rollup, "\(rollup), columns: { open: first }", .wider),
        ("into: c, every: 1h, from: candles", "into: c, every: 1h, per: [symbol], from: candles", .wider),
    ]

    /// What became a candle is not there for another one, so all rows that expire are concerned.
    @Test(arguments: rollups)
    func otherCandlesAreAWiderPolicy(_ old: String, _ new: String, _ verdict: Verdict) throws {
        let file = try Self.store()
        for field in CandleField.allCases where field != .time {
            try file.execute("ALTER TABLE price ADD COLUMN \(field.rawValue) INTEGER")
        }
        func policy(_ rollup: String) throws -> Policy {
            try Self.read("", ["max_age: 30d" + (rollup.isEmpty ? "" : ", rollup: { \(rollup) }")], in: file)
        }
        let step = try Self.step(file, policy(new), Self.memory(of: policy(old)))
        #expect((step.widened != nil) == (verdict == .wider), "\(step.widened?.text ?? "")")
        if let widened = step.widened {
            #expect(widened.changes.map(\.key) == ["rollup"] && widened.rowCount == step.survey.expiredCount)
        }
    }

    /// A rule is compared with the one that had its name. A new name is a new rule, which deletes nothing more.
    @Test func aNewNameHasToBeAccepted() throws {
        let file = try Self.store()
        func verdict(_ old: [String], _ new: [String]) throws -> [Int?] {
            let memory = try Self.memory(of: Self.read("", old, in: file))
            return try Planner(
                policy: Self.read("", new, in: file), asOf: PriceFile.now, clock: PriceFile.now, memory: memory,
                countsAllRows: true
            ).plan(reader: try file.reader()).steps.map { $0.widened?.rowCount }
        }
        // Two rules that change places; a part of a rule.
        #expect(
            try verdict(
                ["name: a, max_age: 90d, where: { symbol: EUR }", "name: b, max_age: 60d, where: { symbol: XAU }"],
                ["name: b, max_age: 90d, where: { symbol: EUR }", "name: a, max_age: 60d, where: { symbol: XAU }"])
                == [0, 0])
        #expect(try verdict(["name: a, max_age: 90d"], ["name: b, max_age: 90d, where: { symbol: EUR }"]) == [0])
        // A second rule, which is wider.
        let second = try verdict(["name: a, max_age: 90d"], ["name: a, max_age: 90d", "name: b, max_age: 85d"])
        #expect(second[0] == nil && (second[1] ?? 0) > 0)
    }

    /// A rule that is refused deletes nothing, so the rows that it would delete go only because another one is wider.
    @Test func whatARefusedRuleWouldDeleteIsCounted() throws {
        let file = try Self.store()
        let rest = "name: rest, max_age: 300d"
        let wider = "name: rest, max_age: 60d"
        func count(_ other: String, accept: Set<RefusalCode> = []) throws -> Int? {
            var options = Planner.Options(accept: accept)
            options.accept.insert(.policyWidened)
            let memory = try Self.memory(of: Self.read("", [other, rest], in: file))
            let plan = try Planner(
                policy: Self.read("", [other, wider], in: file), asOf: PriceFile.now, clock: PriceFile.now,
                memory: memory,
                options: options, countsAllRows: true
            ).plan(reader: try file.reader())
            return plan.steps.last?.widened?.rowCount
        }
        let between = try file.count("at < 1795219200 - 60 * 86400 AND at >= 1795219200 - 300 * 86400")
        #expect(try count("name: all, max_age: 60d, where: { symbol: [XAU, EUR] }") == 0)
        #expect(try count("name: all, max_age: 60d, limits: { max_rows: 5 }") == between)
        #expect(try count("name: all, max_age: 60d, limits: { max_rows: 5 }", accept: [.tooManyRows]) == 0)
        #expect(try count("name: all, max_age: 60d, limits: { max_fraction: 0.1 }") == between)
    }

    /// Rows that the former setting could not delete are all due to the change, with those that cascades take.
    @Test func aRuleThatItsFormerSettingRefusedDeletesAllRowsByTheChange() throws {
        let file = try PriceFile(
            "CREATE TABLE child (id INTEGER PRIMARY KEY, price INTEGER REFERENCES price ON DELETE CASCADE)")
        try file.addPrices(daysOld: [0, 40, 50])
        try file.execute("INSERT INTO child (price) SELECT id FROM price")
        let memory = try Self.memory(of: Self.read("", ["name: all, max_age: 30d, relationships: deny"], in: file))
        let step = try Self.step(file, Self.read("", ["name: all, max_age: 30d"], in: file), memory)
        #expect(step.widened?.rowCount == 4)
    }

    private static let trials = Trials(200, inPortionsOf: 50)

    /// A plan that is not refused deletes no row that the former policy keeps.
    @Test(arguments: trials.portions) func randomChanges(_ seeds: Range<UInt64>) throws {
        Self.trials.run(seeds, on: { RandomRules(random: SeededRandom($0)) }, story: { $0.story }) { rules, found in
            let file = try Self.store()
            let (old, new) = rules.pair()
            let before = try Self.read("", old, in: file)
            let now = try Self.read("", new, in: file)
            let plan = try Planner(
                policy: now, asOf: PriceFile.now, clock: PriceFile.now, memory: Self.memory(of: before),
                countsAllRows: true
            ).plan(reader: try file.reader())
            let kept = try Self.deleted(by: before, in: file).reduce(into: Set()) { $0.formUnion($1) }
            let deleted = try Self.deleted(by: now, in: file, isPlanned: plan.steps.map { $0.disposition == .planned })
            for (index, step) in plan.steps.enumerated() {
                let more = deleted[index].subtracting(kept)
                if let widened = step.widened {
                    // What is refused for its number of rows deletes none.
                    if widened.rowCount != more.count, !step.refusals.contains(where: { $0.code == .tooManyRows }) {
                        found.append("\(index): \(widened.rowCount) rows, and the judge has \(more.count)")
                    }
                } else if !more.isEmpty {
                    found.append("\(index) is not wider, and deletes \(more.count) rows more")
                }
            }
        }
    }
}

/// Pairs of policies for one table, the second often a small change of the first.
private struct RandomRules: Choosing {
    var random: SeededRandom
    private(set) var story = ""

    init(random: SeededRandom) { self.random = random }

    mutating func pair() -> (old: [String], new: [String]) {
        let old = (0..<pick([1, 1, 2])).map { rule(named: "r\($0)") }
        var new = old
        for index in new.indices where chance(70) { new[index] = rule(named: chance(70) ? "r\(index)" : "s\(index)") }
        if chance(20) { new.append(rule(named: "t")) }
        if chance(10), new.count > 1 { new.removeFirst() }
        story = "\(old)\n\(new)"
        return (old, new)
    }

    private mutating func rule(named name: String) -> String {
        var text =
            "name: \(name), max_age: \(pick(["30d", "1mo", "60d", "720h", "90d", "8w", "1y"])), allow_empty: true"
        let conditions = ["symbol: XAU", "symbol: [XAU, EUR]", "v: { lt: 5 }", "v: { ge: 3 }", "v: { null: true }"]
        if chance(50) { text += ", where: { \(pick(conditions)) }" }
        if chance(30) { text += ", keep_last: { count: \(pick([1, 5, 20])), per: \(pick(["[]", "[symbol]"])) }" }
        if chance(30) {
            let tiers = [
                "daily: 2y", "hourly: 400d, monthly: forever", "weekly: 13mo", "monthly: 3y", "daily: forever",
            ]
            text +=
                ", thin: { \(pick(tiers)), per: \(pick(["[]", "[symbol]"])), pick: \(pick(["last", "last", "first"])) }"
        }
        if chance(20) { text += ", earliest: \(pick(["2025-12-01", "2026-03-01"]))" }
        if chance(20) { text += ", latest: \(pick(["2026-06-01", "2026-08-01"]))" }
        if chance(20) { text += ", align: \(pick(["day", "week", "month"]))" }
        if chance(30) { text += ", limits: { max_rows: \(pick([1, 100, 200, 300])) }" }
        return text
    }
}
