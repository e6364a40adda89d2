import Foundation
import Testing

/// Each command's `--help` has two examples at least, and they work.
struct HelpTests {
    static let commands = ["run", "check", "inspect", "init", "log", "undo", "report"]

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
        #expect(examples.count >= 2, "\(command)")
        let policy = Sample.policy(
            Sample.rule(name: "yahoo-gold", entity: "YahooGoldPricePoint", date: "updateTime"),
            head: "archive: { folder: archive, keep: 30d }")
        for example in examples {
            let job = try LaunchedJob("SELECT 1", policy: policy)
            try job.folder.write(policy, to: "prices.yaml")
            try? FileManager.default.removeItem(atPath: job.path("prices.sqlite"))
            try FileManager.default.createDirectory(
                atPath: job.path("archive"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            let made = try LaunchedProgram.shell(
                "goldprices prices.sqlite --rows 200 --every 86400 && retention run", in: job.folder.url)
            try #require(made.status == 0, "\(made)")
            #expect(example.hasPrefix("retention \(command)"), "\(example)")
            let run = try #require(try job.log().last?.run)
            let end = try LaunchedProgram.shell(example.replacing("01KAN3ZJ5V", with: run), in: job.folder.url)
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

    /// An error without a next step leaves its reader alone.
    @Test(
        arguments: [
            64: [
                ["run", "--rule", "silver"], ["run", "--accept", "all"], ["run", "--as-of", "noon"],
                ["log", "--missed"], ["log", "--outcome", "good"], ["run", "--max-runtime", "5"],
                ["log", "--last", "0"],
            ],
            66: [
                ["run", "-c", "none.yaml"], ["inspect", "none.sqlite"], ["init", "none.sqlite"],
                ["log", "--run", "X"],
            ],
            73: [["report", "--html", "none/page.html"]],
            74: [["inspect", "retention.yaml"]],
        ].flatMap { status, commands in commands.map { (Int32(status), $0) } })
    func anErrorNamesTheNextStep(status: Int32, arguments: [String]) throws {
        let job = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule()))
        let end = try job.perform(arguments)
        let lines = end.errors.split(separator: "\n")
        #expect(end.status == status && lines.count >= 2 && lines[1].hasPrefix("  "), "\(arguments): \(end)")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionsOfferTheValuesOfOptions(shell: String) throws {
        let script = try help(["--generate-completion-script", shell])
        for words in [["too_many_rows", "clock_jumped"], ["interrupted", "crashed"], ["json"]] {
            for word in words { #expect(script.contains(word), "\(word)") }
        }
        #expect(!script.contains("technique"))
    }

    @Test func everyExitCodeOfThePageIsInTheHelp() throws {
        let page = try String(contentsOf: LaunchedProgram.project.appending(path: "docs/output.md"), encoding: .utf8)
        let table = page.components(separatedBy: "## Exit codes").last?.components(separatedBy: "\n## ").first ?? ""
        let codes = table.matches(of: #/\n\| ([0-9]+)/#).map { String($0.1) }
        let help = (try help(["--help"]).components(separatedBy: "Exit codes:").last ?? "").replacing("\n", with: " ")
        #expect(codes.count > 10)
        for code in codes { #expect(help.contains(" \(code) ") || help.contains(" \(code)/"), "\(code)") }
    }
}
