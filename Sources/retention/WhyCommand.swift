import ArgumentParser
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention why`: what each rule says about one row.
struct WhyCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Shows why a row is kept or deleted, and when it goes.",
        usage: "retention why <entity> <key=value> ... [<options>]",
        discussion: """
            Opens the store read-only and changes nothing. For each rule of the entity it shows the date of the row as the \
            rule reads it, the cutoff, and what keeps the row: its age, a hold, keep_last, thin, another rule, a refusal, or a \
            date that cannot be read. A row may also go with a row that it refers to.

            EXAMPLES
              retention why YahooGoldPricePoint id=190
              retention why YahooGoldPricePoint symbol=XAUUSD id=190 -c prices.yaml
            """)

    @Argument(help: ArgumentHelp("The entity of the row.", valueName: "entity"))
    var entity: String
    @Argument(help: ArgumentHelp("Attributes that only this row has, such as its primary key.", valueName: "key=value"))
    var values: [String]
    @OptionGroup var policyOption: PolicyOption
    @OptionGroup var asOfOption: AsOfOption

    func run(_ console: Console) throws -> Int32 {
        try asOfOption.check()
        let file = try policyOption.read(orInstalled: true, takesMany: true)
        guard let stores = ManyStores(file) else {
            let opening = StoreOpening(file)
            try console.report(lines: try lines(opening, opening.reader(), isOneOfMany: false), indent: 4)
            return 0
        }
        for problem in stores.problems { console.diagnose("warning", problem) }
        var (isFound, hasEntity, names) = (false, false, Set<String>())
        let code = try stores.each(console) { opening in
            let reader = try opening.reader()
            guard try reader.entity(named: entity) != nil else { return names.formUnion(try reader.entityNames()) }
            hasEntity = true
            let lines = try lines(opening, reader, isOneOfMany: true)
            guard !lines.isEmpty else { return }
            isFound = true
            let name = SafeText.line(opening.policy.store.written)
            try console.report(lines: ["\(name):"] + lines.map { "  " + $0 }, indent: 4)
        }
        guard isFound || code != 0 else {
            guard hasEntity else { throw unknownEntity("no store", names.sorted()) }
            let count = Figures.count(stores.files.paths.count, "store")
            throw CommandFailure(
                exitCode: 66,
                message:
                    "no row of \(SafeText.line(entity)) has \(SafeText.line(values.joined(separator: " "))) in \(count)"
            )
        }
        return code
    }

    /// What each rule says about the row.
    ///
    /// - Parameter isOneOfMany: whether nothing is said if the store lacks the row.
    private func lines(
        _ opening: StoreOpening, _ reader: any RetentionInserter, isOneOfMany: Bool
    ) throws -> [String] {
        let clock = SystemClock.now()
        let asOf = try asOfOption.instant(for: opening.policy, clock: clock)
        let policy = try opening.policy.completed(from: reader)
        guard let found = try reader.entity(named: entity) else {
            throw unknownEntity("the store", try reader.entityNames())
        }
        let row = StorePredicate.and(try values.map { try Self.condition($0, found) })
        let count = try reader.count(StoreFetchRequest(entity: found.name, predicate: row, fetchLimit: 2))
        if count == 0, isOneOfMany { return [] }
        guard count == 1 else {
            let words = SafeText.line(values.joined(separator: " "))
            throw CommandFailure(
                exitCode: 66,
                message: count == 0
                    ? "no row of \(found.name) has \(words)" : "several rows of \(found.name) have \(words)",
                hint: found.primaryKey.isEmpty
                    ? "name as many attributes as distinguish the row"
                    : "name the whole primary key: \(found.primaryKey.joined(separator: ", "))")
        }
        let plan = try Planner(
            policy: policy, asOf: asOf, clock: clock, memory: opening.memory(reader), countsAllRows: false
        ).plan(reader: reader)
        let runs = try PastRuns(opening).ofPolicy().own.expected(of: policy, now: clock)
        let verdicts = try RowExplanation(
            of: row, in: found, plan: plan, policy: policy, asOf: asOf, lastRun: runs.last?.report.started,
            failure: Self.failure(of: plan, policy, opening, reader, clock: clock), reader: reader
        ).verdicts
        let lines = verdicts.flatMap { verdict in
            ["\(SafeText.line(verdict.rule)): \(verdict.text)"]
                + [verdict.date].compactMap(\.self).map { "  \($0); the cutoff is \(Figures.instant(verdict.cutoff))" }
        }
        let none = ["no rule is about \(SafeText.line(found.name))"]
        return (lines.isEmpty ? none : lines) + Self.parents(of: found, policy)
    }

    /// Why a run would fail now, as a dry run finds it; nil: it would not.
    private static func failure(
        of plan: Plan, _ policy: Policy, _ opening: StoreOpening, _ reader: any RetentionReader, clock: Instant
    ) -> String? {
        do {
            try opening.checkLock()
            try StoreCheck.requireNoMistake(of: policy, in: reader, clock: clock)
            try ArchiveFolder.check(policy, for: plan, in: reader)
            return nil
        } catch {
            return ExitStatus(of: error).reason
        }
    }

    /// The error for an entity that is not in a store or in several.
    private func unknownEntity(_ place: String, _ names: [String]) -> CommandFailure {
        let near = NearestName.suggestion(for: entity, in: names, otherwise: "")
        return CommandFailure(
            exitCode: 66,
            message: "\(place) has \(place == "no store" ? "an" : "no") entity '\(SafeText.line(entity))'" + near)
    }

    /// The sentence that a row may go with another one, if that is so.
    private static func parents(of entity: Entity, _ policy: Policy) -> [String] {
        let cascades = policy.rules.contains { $0.relationships == .cascade }
        let parents = Set(entity.relationships.filter { cascades || $0.deleteRule == .cascade }.map(\.destination))
            .sorted()
        guard !parents.isEmpty else { return [] }
        return [
            "a row of \(entity.name) may also go with the row of \(parents.joined(separator: " or ")) that it refers to"
        ]
    }

    /// The condition of an argument `key=value`.
    private static func condition(_ words: String, _ entity: Entity) throws -> StorePredicate {
        let parts = words.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else {
            throw CommandFailure.usage("'\(SafeText.line(words))' is not KEY=VALUE", hint: "such as id=42")
        }
        guard let attribute = entity.attribute(named: parts[0]) else {
            let near = NearestName.suggestion(for: parts[0], in: entity.attributes.map(\.name), otherwise: "")
            throw CommandFailure.usage("\(entity.name) has no attribute '\(SafeText.line(parts[0]))'\(near)")
        }
        return attribute.rows(writtenAs: parts[1])
    }
}
