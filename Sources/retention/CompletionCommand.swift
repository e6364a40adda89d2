import ArgumentParser
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention completion`: writes the completion script of a shell.
struct CompletionCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Writes the completion script of a shell to standard output.",
        discussion: """
            It completes commands, options, codes, the names of rules and the IDs of runs. Packages install it.

            EXAMPLES
              retention completion bash > retention.bash
            """)

    @Argument(help: ArgumentHelp("bash, zsh or fish.", valueName: "shell"), completion: .list(Self.shells))
    var shell: String

    private static let shells = CompletionShell.allCases.map(\.rawValue)

    func run(_ console: Console) throws -> Int32 {
        let shell = CompletionShell(rawValue: try OptionValue.word(shell, option: "the shell", of: Self.shells))
        try console.report(RetentionCommand.completionScript(for: shell ?? .bash) + "\n")
        return 0
    }
}

extension CompletionKind {
    static var rules: CompletionKind { .custom { words, _, _ in policy(words)?.rules.map(\.name) ?? [] } }

    /// The IDs of the newest recorded runs.
    static var runs: CompletionKind {
        .custom { words, _, _ in
            let runs = policy(words).flatMap { try? PastRuns(StoreOpening($0)).runs(.init(last: 20)) } ?? []
            return [PastRuns.last] + runs.reversed().map(\.report.runID)
        }
    }

    /// The policy of a command line that is not complete; nil: it cannot be read.
    private static func policy(_ words: [String]) -> Policy? {
        let option = words.lastIndex { ["-c", "--config"].contains($0) }
        let named = option.flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil }
        return try? PolicyFile.read(path: PolicyOption.path(named, orInstalled: true))
    }
}
