/// What people write who know other programs, and what to write instead.
enum CommandLineHints {
    /// An error that says what to write, for a command line that the parser refuses; nil: the parser's own says it.
    static func failure(_ arguments: [String], parserText text: String, commands: [String]) -> CommandFailure? {
        if text.contains("--since"), arguments.contains(where: { $0.wholeMatch(of: #/-\d+\w+/#) != nil }) {
            return sign
        }
        if let match = text.firstMatch(of: #/Unknown option '([^']+)'/#) {
            let option = String(match.1)
            if let command = arguments.first(where: commands.contains), command != arguments.first {
                let rest = arguments.filter { $0 != command }.joined(separator: " ")
                return .usage(
                    "'\(option)' is before the command", hint: "options come after it: retention \(command) \(rest)")
            }
            let hint = arguments.first == "log" ? ofLog[option] ?? options[option] : options[option]
            return hint.map { .usage("unknown option '\(option)'", hint: $0) }
        }
        guard let word = text.firstMatch(of: #/[Uu]nexpected arguments?:? '([^']+)'/#).map({ String($0.1) }) else {
            return nil
        }
        let isPolicy = word.hasSuffix(".yaml") || word.hasSuffix(".yml")
        let hint = isPolicy ? "did you mean -c \(word)?" : nil
        return (arguments.first == "init" ? "to write the policy to a file: --output FILE" : hint).map {
            .usage("unexpected argument '\(word)'", hint: $0)
        }
    }

    /// An age is written without a sign.
    static let sign = CommandFailure.usage("--since: an age has no sign", hint: "write it as --since 7d")

    private static let accept = "a refusal is accepted by its name, for one run: --accept CODE"
    private static let policy = "write -c FILE"
    private static let age = "ages are in the policy: max_age"

    private static let options = [
        "--dry": "write --dry-run, or -n", "-v": "write --verbose", "-V": "write --version", "-f": accept,
        "--debug": "write --log-level debug", "--force": accept, "--yes": accept, "-y": accept, "--no-confirm": accept,
        "--config-file": policy, "--policy": policy, "--file": policy, "-p": policy, "--table": "write --rule NAME",
        "--entity": "write --rule NAME", "--older-than": age, "--days": age, "--max-age": age, "--keep": age,
        "--limit": "limits are in the policy: limits: { max_rows: 1000 }", "--no-color": "set NO_COLOR=1",
        "--timeout": "write --max-runtime 10min, or --wait 10min for a locked store", "-o": "write --format json",
        "--head": "the hash of an earlier run is for the ledger: retention log --verify --head HASH",
    ]

    private static let follow = "the log file of the policy (log.file) can be followed: tail -f FILE"
    private static let ofLog = ["-f": follow, "--follow": follow, "-n": "write --last N", "--tail": "write --last N"]
}
