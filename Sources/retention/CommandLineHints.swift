import ArgumentParser
import PriceStore
import RetentionPolicy

/// What people write who know other programs, and what to write instead.
enum CommandLineHints {
    /// An error that says what to write, for a command line that the parser refuses; nil: the parser's own says it.
    static func failure(_ arguments: [String], parserText text: String) -> CommandFailure? {
        if text.contains("--since"), arguments.contains(where: { $0.wholeMatch(of: #/-\d+\w+/#) != nil }) {
            return sign
        }
        let command = arguments.first(where: RetentionCommand.commandNames.contains) ?? ""
        if has("--html", command), text.contains("The value 'html' is invalid for '--format") {
            return .usage("--format 'html' is unknown", hint: "write --html FILE; - is standard output")
        }
        if let match = text.firstMatch(of: #/Unknown option '([^']+)'/#) {
            let option = String(match.1)
            if !command.isEmpty, command != arguments.first {
                let rest = arguments.filter { $0 != command }.joined(separator: " ")
                return .usage(
                    "'\(option)' is before the command", hint: "options come after it: retention \(command) \(rest)")
            }
            let near = NearestName.match(option, in: options(of: command)).map { "did you mean \($0)?" }
            let help = "see: retention \(command.isEmpty ? "" : command + " ")--help"
            return .usage("unknown option '\(option)'", hint: hint(option, of: command) ?? near ?? help)
        }
        guard let word = text.firstMatch(of: #/[Uu]nexpected arguments?:? '([^']+)'/#).map({ String($0.1) }) else {
            return nil
        }
        return hint(word: word, of: command).map { .usage("unexpected argument '\(word)'", hint: $0) }
    }

    /// What to write instead of an option that a command does not have; nil: it is not known.
    static func hint(_ option: String, of command: String) -> String? {
        let own = texts.first { words, text in
            // Options after `retention NAME` are those of that command.
            let owner = text.firstMatch(of: #/retention ([a-z]+)/#).map { String($0.1) } ?? command
            return words.split(separator: " ").contains(Substring(option))
                && text.matches(of: #/(?:^|\s)(--?[a-z][a-z-]*)/#).allSatisfy { has(String($0.1), owner) }
        }
        let others = RetentionCommand.commandNames.filter { has(option, $0) }
        return own?.text ?? (others.isEmpty ? nil : "it is an option of retention \(others.listed("and"))")
    }

    private static func hint(word: String, of command: String) -> String? {
        let hints = [
            (command == "init", "to write the policy to a file: --output FILE"),
            (command == "explain", "one code: retention explain \(word)"),
            (word == "last" && has("--run", command), "the newest run is shown with --run last"),
            (has("--\(word)", command), "did you mean --\(word)?"),
            (word.hasSuffix(".yaml") || word.hasSuffix(".yml"), "did you mean -c \(word)?"),
            (has("-c", command), "the policy names the store and the rules; another policy is named with -c FILE"),
        ]
        return hints.first { $0.0 }?.1
    }

    private static func options(of command: String) -> [String] {
        (helps[command] ?? "").matches(of: #/\n  (?:-\w, )?(--[a-z-]+)/#).map { String($0.1) }
    }

    static func has(_ option: String, _ name: String) -> Bool {
        let help = helps[name] ?? ""
        return ["\n  \(option) ", "\n  \(option),", ", \(option) "].contains { help.contains($0) }
    }

    /// The help of each command, and without a name of the program, made once.
    private static let helps = Dictionary(
        firstOf: RetentionCommand.configuration.subcommands.map {
            ($0.configuration.commandName ?? "", RetentionCommand.helpMessage(for: $0, columns: 999))
        } + [("", RetentionCommand.helpMessage(for: RetentionCommand.self, columns: 999))]
    )

    /// What to write instead of a command of other programs; nil: it is not known.
    static func hint(command word: String) -> String? {
        commands.first { $0.words.split(separator: " ").contains(Substring(word)) }.map { "write \($0.text)" }
    }

    private static let commands: [(words: String, text: String)] = [
        ("version", "retention --version"), ("status stats show", "retention report"),
        ("dry-run preview diff plan", "retention run --dry-run"),
        ("forget prune delete clean cleanup purge expire rm", "retention run --dry-run, then retention run"),
        ("restore rollback recover", "retention undo RUN"), ("validate lint test", "retention check"),
        ("history list ls snapshots runs", "retention log"),
    ]

    /// An age is written without a sign.
    static let sign = CommandFailure.usage("--since: an age has no sign", hint: "write it as --since 7d")

    /// Options of other programs, and what to write instead: the first text whose options the command has.
    static let texts: [(words: String, text: String)] = [
        ("--dry --test -d", "write --dry-run, or -n"),
        ("-v", "write --verbose"), ("-v -V", "write --version"),
        ("-f --follow", "--last N shows the newest runs; the log file (log.file) is followed with tail -F FILE"),
        ("-f", "a policy is named with -c FILE, and a refusal accepted with --accept CODE"),
        ("-f --config-file --policy --file -p", "write -c FILE"), ("--debug", "write --log-level debug"),
        ("--force --yes -y --no-confirm", "a refusal is accepted by its name, for one run: --accept CODE"),
        ("--force --yes -y --no-confirm", "no command asks for a confirmation: leave it out"),
        (
            "--apply --execute --commit --delete --no-dry-run",
            "leave it out: without --dry-run the command changes the store"
        ),
        ("--table --entity -r", "write --rule NAME"),
        ("--batch-size --batch", "the size of batches is in the policy: batch: { rows: 1000 }"),
        ("--from --after --date --days", "write --since 7d, or --since 2026-11-01"),
        ("--older-than --max-age --keep", "ages are in the policy: max_age"),
        ("--days", "ages are in the policy: max_age; the runs of some days are shown by: retention log --since 7d"),
        ("--silent", "write --quiet, or -q"), ("--text", "leave it out: the format is text by default"),
        ("--all", "leave it out: without --rule it is for all rules"),
        ("--cron --schedule", "leave it out: cron or a timer starts the runs"),
        ("--email --mail --notify", "the policy names the command that tells of a bad night: on_failure"),
        ("--explain --why", "a code is explained by: retention explain CODE"),
        ("-n --tail --limit", "write --last N"),
        ("--limit", "limits are in the policy: limits: { max_rows: 1000 }"), ("--no-color", "set NO_COLOR=1"),
        ("--timeout", "write --max-runtime 10min, or --wait 10min for a locked store"),
        ("-o", "write --output FILE"), ("-o --output", "write --html FILE"), ("-o", "write --format json"),
        ("--head", "the hash of an earlier run is for the ledger: retention log --verify --head HASH"),
        ("--failed --errors --error", "write --outcome failed"),
        ("--last", "--list shows the runs; the newest one is undone with: undo last"),
    ]
}
