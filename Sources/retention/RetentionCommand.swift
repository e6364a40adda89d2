import ArgumentParser
@preconcurrency import Glibc
import PriceStore
import RetentionPolicy

/// The program, with its subcommands.
@main
struct RetentionCommand: ParsableCommand {
    static let name = "retention"
    /// The program's version, as the ledger records it: the last release, with `+unreleased` if the changelog has changes since.
    static let version = "0.1.0+unreleased"

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
            RunCommand.self, CheckCommand.self, WhyCommand.self, InspectCommand.self, InitCommand.self, LogCommand.self,
            UndoCommand.self, ReportCommand.self, ExplainCommand.self, SchemaCommand.self, CompletionCommand.self,
        ])

    /// Carries out the command line of the process, and ends the process.
    static func main() {
        let console = Console()
        do {
            try OpenFiles.prepare()
            // Without the program's name the arguments could not be read, and a job would seem to ask for help.
            guard !CommandLine.arguments.isEmpty else {
                throw CommandFailure(
                    exitCode: 74, message: "the arguments of the command cannot be read",
                    hint: "mount /proc, or let the sandbox see it")
            }
        } catch {
            Glibc.exit(show(error, console))
        }
        Glibc.exit(perform(Array(CommandLine.arguments.dropFirst()), console))
    }

    /// Parses a command line and carries out the command in the working folder.
    ///
    /// - Returns: the exit status of docs/output.md.
    static func perform(_ arguments: [String], _ console: Console) -> Int32 {
        do {
            // Nothing of such a command line is shown.
            guard !arguments.contains(where: Secrets.areIn) else {
                throw CommandFailure.usage(
                    "a password on the command line is seen by every user of the machine",
                    hint: "set PGPASSFILE or PGPASSWORD, or name its file in 'password_file'; \(Secrets.note)")
            }
            let command: any ConsoleCommand
            do {
                command = try parse(arguments)
            } catch let failure as CommandFailure {
                throw failure
            } catch {
                // The parser throws for requested help too.
                let text = fullMessage(for: error)
                guard exitCode(for: error) == .success else {
                    let hint = CommandLineHints.failure(arguments, parserText: text)
                    if let hint { throw hint }
                    console.diagnose(text)
                    return exitCode(for: error).rawValue
                }
                try console.report(text + "\n")
                return 0
            }
            return try command.run(console)
        } catch PolicyError.invalid(let diagnostics, let source) {
            console.diagnose(DiagnosticText.render(diagnostics, source: source, width: console.errorWidth))
            return 78
        } catch {
            return show(error, console)
        }
    }

    private static func show(_ error: any Error, _ console: Console) -> Int32 {
        let status = ExitStatus(of: error)
        for line in status.lines(width: console.errorWidth) { console.diagnose(line) }
        return status.code
    }

    /// The command that the arguments name. Throws the help text if they request it.
    private static func parse(_ arguments: [String]) throws -> any ConsoleCommand {
        if let command = runCommand(arguments) { return command }
        try refuseUnknownCommand(arguments)
        var command = try parseAsRoot(arguments)
        if let command = command as? any ConsoleCommand { return command }
        // The program without a subcommand and `help` both throw.
        try command.run()
        throw CleanExit.helpRequest(self)
    }

    /// Refuses an unknown command, and names the nearest one.
    private static func refuseUnknownCommand(_ arguments: [String]) throws(CommandFailure) {
        guard let word = arguments.first == "help" ? arguments.dropFirst().first : arguments.first,
            !word.hasPrefix("-"), word != "help", !commandNames.contains(word)
        else { return }
        let meant = CommandLineHints.hint(command: word)
        let near = meant == nil ? NearestName.suggestion(for: word, in: commandNames) : ""
        throw .usage(
            "unknown command '\(word)'\(near)",
            hint: meant ?? "the commands are \(commandNames.joined(separator: ", "))")
    }

    static let commandNames = configuration.subcommands.compactMap { $0.configuration.commandName }

    /// The command of an ordinary run, as cron starts it; nil: the arguments are something else, or wrong.
    ///
    /// Parsing it as one of all commands would take as long as a whole run with nothing to do.
    private static func runCommand(_ arguments: [String]) -> RunCommand? {
        guard arguments.first == RunCommand.configuration.commandName else { return nil }
        return try? RunCommand.parseAsRoot(Array(arguments.dropFirst())) as? RunCommand
    }
}

/// A command that prints through the console and returns the exit status.
protocol ConsoleCommand: ParsableCommand {
    /// Carries out the command.
    ///
    /// - Returns: the exit status.
    func run(_ console: Console) throws -> Int32
}

extension ConsoleCommand {
    /// Never called: ``RetentionCommand`` calls ``run(_:)``, so that one place determines the exit status.
    func run() throws { throw CleanExit.helpRequest(self) }
}
