import ArgumentParser
import PriceStore
import RetentionPolicy

/// The program, with its subcommands.
@main
struct RetentionCommand: ParsableCommand {
    static let name = "retention"
    /// The program's version, as the ledger records it.
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Deletes expired rows of time-series price data, according to a policy file.",
        discussion: """
            Exit codes: 0 success, 64 usage error, 65 a rule was refused or a pending line was bad, 66 policy or store not \
            found, 69 the server cannot be reached, 70 internal error, 73 ledger or log cannot be created, 74 input/output error, \
            75 try again later, 77 no permission, 78 the policy is invalid, 130/143 stopped by a signal.

            EXAMPLES
              retention run --dry-run           what would be deleted, and why
              retention check -c prices.yaml    every mistake in a policy file
            """,
        version: ([version] + StoreOpening.libraries).joined(separator: "\n"),
        subcommands: [
            RunCommand.self, CheckCommand.self, InspectCommand.self, InitCommand.self, LogCommand.self,
            UndoCommand.self, ReportCommand.self, SchemaCommand.self,
        ])

    /// Parses the command line, carries the command out, and ends the process with the status of docs/output.md.
    static func main() {
        let console = Console()
        do {
            try OpenFiles.prepare()
            // Without a name of the program they could not be read, and a job would seem to ask for help.
            guard !CommandLine.arguments.isEmpty else {
                throw CommandFailure(
                    exitCode: 74, message: "the arguments of the command cannot be read",
                    hint: "mount /proc, or let the sandbox see it")
            }
            guard let command = try parse(console) else { ProcessEnd.exit(0) }
            ProcessEnd.exit(try command.run(console))
        } catch PolicyError.invalid(let diagnostics, let source) {
            console.diagnose(DiagnosticText.render(diagnostics, source: source, width: console.errorWidth))
            ProcessEnd.exit(78)
        } catch {
            let status = ExitStatus(of: error)
            for line in status.lines(width: console.errorWidth) { console.diagnose(line) }
            ProcessEnd.exit(status.code)
        }
    }

    /// The command that the arguments name; nil if they only requested help, which is then printed.
    private static func parse(_ console: Console) throws -> (any ConsoleCommand)? {
        if let command = runCommand() { return command }
        try refuseUnknownCommand()
        do {
            var command = try parseAsRoot()
            if let command = command as? any ConsoleCommand { return command }
            // The program without a subcommand, and `help`: both throw the requested help text.
            try command.run()
            return nil
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            let text = fullMessage(for: error)
            if exitCode(for: error) == .success {
                try console.report(text + "\n")
                return nil
            }
            console.diagnose(Secrets.hidden(in: text))
            ProcessEnd.exit(exitCode(for: error).rawValue)
        }
    }
}

extension RetentionCommand {
    /// Names the nearest command for one that there is not.
    private static func refuseUnknownCommand() throws(CommandFailure) {
        guard let word = CommandLine.arguments.dropFirst().first, !word.hasPrefix("-") else { return }
        let commands = Self.configuration.subcommands.map { $0.configuration }
        guard word != "help", !commands.contains(where: { $0.commandName == word }) else { return }
        let names = commands.filter { $0.shouldDisplay }.compactMap { $0.commandName }
        let near = NearestName.suggestion(for: word, in: names)
        throw .usage("unknown command '\(word)'\(near)", hint: "the commands are \(names.joined(separator: ", "))")
    }

    /// The command of an ordinary run, as cron starts it; nil: the arguments are something else, or not right.
    ///
    /// Parsed as one of all commands it would take as long as all that a run with nothing to do does.
    private static func runCommand() -> RunCommand? {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.first == RunCommand.configuration.commandName else { return nil }
        return try? RunCommand.parseAsRoot(Array(arguments.dropFirst())) as? RunCommand
    }
}

/// A command that prints through the console and says how the process ends.
protocol ConsoleCommand: ParsableCommand {
    /// Carries the command out.
    ///
    /// - Returns: the exit status.
    func run(_ console: Console) throws -> Int32
}

extension ConsoleCommand {
    /// Never called: ``RetentionCommand`` calls ``run(_:)`` itself, so that one place decides the exit status.
    func run() throws { throw CleanExit.helpRequest(self) }
}
