import Foundation
import Testing

@testable import retention

/// Each command's `--help` has two examples at least, and they work.
struct HelpTests {
    static let commands = [
        "run", "check", "why", "inspect", "init", "log", "undo", "report", "explain", "schema", "completion",
    ]

    private func help(_ arguments: [String]) throws -> String {
        let folder = try TemporaryFolder()
        let end = try LaunchedProgram.run("retention", arguments, in: folder.url)
        #expect(end.status == 0 && end.errors.isEmpty, "\(end)")
        return end.output
    }

    /// The lines below EXAMPLES, without the text after two spaces.
    private func examples(_ help: String) -> [String] {
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.drop { !$0.contains("EXAMPLES") }.dropFirst().prefix { !$0.isEmpty }.map { line in
            let text = line.drop { $0 == " " }
            return String(text.firstRange(of: "   ").map { text[..<$0.lowerBound] } ?? text)
        }
    }

    @Test func everyCommandIsTested() throws {
        let subcommands = try help(["--help"]).components(separatedBy: "SUBCOMMANDS:\n").last ?? ""
        let names = subcommands.split(separator: "\n").compactMap {
            $0.wholeMatch(of: #/  ([a-z]+) .*/#).map { String($0.1) }
        }
        #expect(Set(names).subtracting(["help"]) == Set(Self.commands), "\(names)")
    }

    @Test(arguments: commands)
    func theExamplesWork(command: String) throws {
        let examples = try examples(help([command, "--help"]))
        #expect(!examples.isEmpty, "\(command)")
        let policy = Sample.policy(
            Sample.rule(name: "yahoo-gold", entity: "YahooGoldPricePoint", date: "updateTime"),
            head: "archive: { folder: archive, keep: 30d }")
        let job = try LaunchedJob("SELECT 1", policy: policy)
        let made = try LaunchedProgram.shell(
            """
            rm prices.sqlite; mkdir -m 700 archive; cp retention.yaml prices.yaml
            goldprices prices.sqlite --rows 200 --every 86400 && retention run && mkdir .kept && cp -Rp * .kept
            """, in: job.folder.url)
        try #require(made.status == 0, "\(made)")
        let run = try #require(try job.log().last?.run)
        for example in examples {
            #expect(example.hasPrefix("retention \(command)"), "\(example)")
            // Each finds the store as that run has left it.
            let line = "rm -R *; cp -Rp .kept/. .; " + example.replacing("01KAN3ZJ5V", with: run)
            let end = try LaunchedProgram.shell(line, in: job.folder.url)
            #expect(end.status == 0, "\(example): \(end)")
        }
    }

    @Test func theProgramsOwnExamplesWork() throws {
        let job = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule()))
        try job.folder.write(Sample.policy(Sample.rule()), to: "prices.yaml")
        let examples = try examples(help(["--help"]))
        #expect(examples.count >= 2)
        for example in examples {
            #expect(try LaunchedProgram.shell(example, in: job.folder.url).status == 0, "\(example)")
        }
    }

    /// A command line that is wrong, and what is said of it.
    struct Wrong: CustomTestStringConvertible, Sendable {
        var words: String
        var says: String
        var testDescription: String { words }

        init(_ words: String, _ says: String) { (self.words, self.says) = (words, says) }
    }

    static let wrong: [Int32: [Wrong]] = [
        64: [
            Wrong("prune", "write retention run --dry-run, then retention run"), Wrong("rn", "did you mean 'run'?"),
            Wrong("chek", "did you mean 'check'?"), Wrong("inspct", "did you mean 'inspect'?"),
            Wrong(
                "destroy",
                "the commands are run, check, why, inspect, init, log, undo, report, explain, schema, completion"),
            Wrong("run --force", "--accept CODE"), Wrong("run -y", "--accept CODE"), Wrong("run --dry", "--dry-run"),
            Wrong("run -v", "--verbose"), Wrong("check -V", "--version"),
            Wrong("run retention.yaml", "-c retention.yaml?"),
            Wrong("check retention.yaml", "-c retention.yaml?"), Wrong("-c x.yaml run", "retention run -c x.yaml"),
            Wrong("init prices.sqlite new.yaml", "--output FILE"), Wrong("log --follow", "tail -F FILE"),
            Wrong("log -f", "tail -F FILE"), Wrong("log -n 5", "--last N"), Wrong("run --table Price", "--rule NAME"),
            Wrong("run --rule gold,silver", "--rule gold --rule silver"), Wrong("run --older-than 30d", "max_age"),
            Wrong("log --outcome success", "did you mean 'completed'?"), Wrong("log --since yesterday", "an age: 7d"),
            Wrong("log --since -7d", "write it as --since 7d"), Wrong("log --since=-7d", "write it as --since 7d"),
            Wrong("run --accept future_dates,wrong_unit", "--accept future_dates --accept wrong_unit"),
            Wrong("init prices.sqlite -o x.yaml", "write --output FILE"), Wrong("undo last --force", "leave it out"),
            Wrong("check -f x.yaml", "write -c FILE"), Wrong("undo --last", "undo last"),
            Wrong("run dry-run", "did you mean --dry-run?"), Wrong("run prices.sqlite", "named with -c FILE"),
            Wrong("explain exit 65", "retention explain 65"), Wrong("report --output x", "write --html FILE"),
            Wrong("help foo", "unknown command 'foo'"),
            Wrong("why Price id=1 --json", "retention run, log, undo and report"),
            Wrong("check -q", "it is an option of retention run and undo"),
            Wrong("run --head abc", "retention log --verify --head HASH"),
            Wrong("log --verify --head abc", "retention log --verify prints"),
            Wrong("explain policy_wide", "did you mean 'policy_widened'?"), Wrong("explain 99", "one of "),
            Wrong("completion fis", "did you mean 'fish'?"), Wrong("run --wait 5", "'5' has no unit"),
            Wrong("run --no-such-flag", "see: retention run --help"),
            Wrong("run --strategy range", "unknown option '--strategy'"),
            Wrong("log last", "with --run last"), Wrong("run --test", "write --dry-run"),
            Wrong("run --explain", "retention explain CODE"), Wrong("undo --all", "without --rule"),
            Wrong("log --from 7d", "write --since 7d"), Wrong("run --acept all", "did you mean --accept?"),
            Wrong("run --rule glod", "did you mean 'gold'?"), Wrong("run --rule silver", "the rules are gold"),
            Wrong("run --accept future_date", "did you mean 'future_dates'?"),
            Wrong("run --accept all", "unknown refusal code"),
            Wrong("run --as-of yesterday", "is not an ISO 8601 instant"),
            Wrong("run --as-of 2999-01-01", "is later than the clock"),
            Wrong("run --max-runtime 10m", "'10m' is ambiguous"), Wrong("run --max-runtime 5", "'5' has no unit"),
            Wrong("log --missed", "add a line: expected_every: 1d"),
            Wrong("log --missed --verify", "--missed and --verify are mutually exclusive"),
            Wrong("log --outcome refusd", "did you mean 'refused'?"),
            Wrong("log --outcome good", "one of running, completed"),
            Wrong("log --last 0", "must be greater than zero"),
            Wrong("log --rule glod", "did you mean 'gold'?"), Wrong("log --limit 5", "write --last N"),
            Wrong("log --verify --json", "--verify prints no JSON"), Wrong("report --format html", "write --html FILE"),
            Wrong("-V", "write --version"), Wrong("-v", "write --version"), Wrong("version", "retention --version"),
            Wrong("run --apply", "leave it out"), Wrong("run -r gold", "--rule NAME"),
            Wrong("run --batch-size 5", "batch: { rows: 1000 }"),
            Wrong("log --failed", "write --outcome failed"), Wrong("log --outcome ok", "did you mean 'completed'?"),
            Wrong("log --outcome MISSED", "write --missed"), Wrong("log --outcome undo", "retention undo --list"),
            Wrong("status", "write retention report"), Wrong("dry-run", "write retention run --dry-run"),
            Wrong("restore last", "write retention undo RUN"), Wrong("validate", "write retention check"),
            Wrong("snapshots", "write retention log"), Wrong("lint", "write retention check"),
            Wrong("rollback", "write retention undo RUN"), Wrong("stats", "write retention report"),
            Wrong("delete", "unknown command 'delete'"),
        ],
        66: [
            Wrong("run -c none.yaml", "none.yaml: policy file not found"),
            Wrong("inspect none.sqlite", "none.sqlite: store not found"),
            Wrong("inspect prces.sqlite", "did you mean 'prices.sqlite'?"),
            Wrong("init none.sqlite", "none.sqlite: store not found"), Wrong("log --run X", "no ID begins with 'X'"),
            Wrong("log --run last", "no run is recorded"), Wrong("undo last", "has deleted rows"),
            Wrong("undo latest", "the newest is called last"), Wrong("log --run latest", "--run last is the newest"),
        ],
        73: [Wrong("report --html none/page.html", "No such file or directory")],
        74: [Wrong("inspect retention.yaml", "the file is not a SQLite database")],
    ]

    /// An error without a next step leaves its reader alone.
    @Test(arguments: wrong.flatMap { status, commands in commands.map { (status, $0) } })
    func anErrorNamesTheNextStepAndTouchesNothing(status: Int32, _ wrong: Wrong) throws {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(10, daysAgo: 100), policy: Sample.policy(Sample.rule("allow_empty: true")))
        let end = try job.perform(wrong.words.split(separator: " ").map(String.init))
        let lines = end.errors.split(separator: "\n").filter { !$0.hasPrefix("Usage: ") }
        #expect(end.status == status && lines.count >= 2 && lines[1].hasPrefix("  "), "\(end)")
        #expect(end.errors.contains(wrong.says) && end.output.isEmpty, "\(end)")
        #expect(try job.number("SELECT count(*) FROM Price") == 10)
    }

    @Test func aHintNamesOnlyOptionsThatTheCommandHas() {
        var shown: Set<String> = []
        for option in CommandLineHints.texts.flatMap({ $0.words.split(separator: " ").map(String.init) }) {
            for command in RetentionCommand.commandNames where !CommandLineHints.has(option, command) {
                guard let hint = CommandLineHints.hint(option, of: command) else { continue }
                shown.insert(hint)
                let owner = hint.firstMatch(of: #/retention ([a-z]+) /#).map { String($0.1) } ?? command
                for part in hint.split(whereSeparator: { " ,:".contains($0) })
                where part.hasPrefix("-") && part == part.lowercased() {
                    #expect(CommandLineHints.has(String(part), owner), "\(command) \(option): \(hint)")
                }
            }
        }
        for (_, text) in CommandLineHints.texts { #expect(shown.contains(text), "\(text)") }
        #expect(!CommandLineHints.has("--accept", "undo") && CommandLineHints.has("--output", "init"))
        #expect(!CommandLineHints.has("--format", "init") && !CommandLineHints.has("--json", "why"))
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionsOfferTheValuesOfOptions(shell: String) throws {
        let script = try help(["--generate-completion-script", shell])
        for words in [["too_many_rows", "clock_jumped"], ["interrupted", "crashed"], ["json"]] {
            for word in words { #expect(script.contains(word), "\(word)") }
        }
        #expect(!script.contains("method"))
    }

    @Test func everyExitCodeOfThePageIsInTheHelp() throws {
        let page = try String(contentsOf: LaunchedProgram.project.appending(path: "docs/output.md"), encoding: .utf8)
        let table = page.components(separatedBy: "## Exit codes").last?.components(separatedBy: "\n## ").first ?? ""
        func numbers(_ text: Substring) -> [Substring] { text.matches(of: /[0-9]+/).map(\.0) }
        let codes = table.matches(of: #/\n\| ([0-9, ]+)/#).flatMap { numbers($0.1) }
        let help = try help(["--help"]).components(separatedBy: "Exit codes:").last ?? ""
        #expect(codes.count > 10)
        #expect(numbers(help.components(separatedBy: "\n\n")[0][...]) == codes)
    }
}
