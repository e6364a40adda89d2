import Foundation
import PostgresStore
import TestSupport
import Testing

/// What README and docs show is true: policies are valid, commands work, links lead somewhere.
@Suite(.tags(.clock)) struct DocsTests {
    /// All pages of the project, as paths from its folder.
    static let pages: [String] = {
        let root = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
        let docs = FileManager.default.enumerator(atPath: LaunchedProgram.project.appending(path: "docs").path)
        let paths = (docs?.allObjects as? [String] ?? []).filter { $0.hasSuffix(".md") }.map { "docs/" + $0 }
        return root + paths.sorted()
    }()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: LaunchedProgram.project.appending(path: path), encoding: .utf8)
    }

    private static func blocks(_ page: String) throws -> [CodeBlock] { CodeBlock.blocks(of: try text(page)) }

    // MARK: Policies

    struct Sample: CustomTestStringConvertible, Sendable {
        var place: String
        var text: String
        var isForServers: Bool { text.contains("postgresql://") }
        var testDescription: String { place }
    }

    /// Every whole policy of the pages, and the shipped ones.
    static func policies() throws -> [Sample] {
        try ["retention.yaml", "cron/retention.yaml"].map { Sample(place: $0, text: try text($0)) }
            + pages.flatMap { page in
                try blocks(page).filter(\.isPolicy).map { Sample(place: "\(page):\($0.line)", text: $0.text) }
            }
    }

    @Test func findsThePoliciesOfThePages() throws {
        #expect(try Self.policies().contains { $0.place.hasPrefix("README.md:") })
    }

    @Test(arguments: try policies().filter { !$0.isForServers })
    func showsValidPolicies(_ sample: Sample) throws {
        try expectValid(sample)
    }

    @Test(
        .enabled(if: PostgresDatabase.isAvailable, "built without the trait Postgres"),
        arguments: try policies().filter(\.isForServers))
    func showsValidPoliciesForServers(_ sample: Sample) throws {
        try expectValid(sample)
    }

    private func expectValid(_ sample: Sample) throws {
        let folder = try TemporaryFolder()
        try folder.write(sample.text, to: "retention.yaml")
        let end = try LaunchedProgram.perform(["check", "--offline"], in: folder.url)
        #expect(end.status == 0, "\(sample.place): \(end.output)\(end.errors)")
    }

    // MARK: Commands

    /// A folder with the README's policy, in which its sessions were played; the endings of their commands.
    private func playREADME() throws -> (
        folder: TemporaryFolder, lines: [(command: CodeBlock.Command, end: LaunchedProgram.Ending)]
    ) {
        let folder = try TemporaryFolder()
        let blocks = try Self.blocks("README.md")
        let policy = try #require(blocks.first { $0.isPolicy })
        try folder.write(policy.text, to: "retention.yaml")
        let commands = blocks.filter { $0.language == "console" }.flatMap(\.commands)
        return (folder, try commands.map { ($0, try LaunchedProgram.shell($0.line, in: folder.url)) })
    }

    /// The sessions (`console`) of the README print exactly what it shows, but at another time.
    @Test func theREADMEShowsWhatIsPrinted() throws {
        let lines = try playREADME().lines
        try #require(lines.contains { $0.command.line.hasPrefix("retention run --dry-run") })
        for (command, end) in lines {
            #expect(end.status == 0, "\(command.line): \(end.errors)")
            #expect(trimmed(end.output) == trimmed(command.output), "\(command.line) printed:\n\(end.output)")
        }
    }

    /// Who goes on as the README says sees no refusal.
    @Test func theSampleOfTheREADMEEndsWell() throws {
        let folder = try playREADME().folder
        for line in ["retention run", "retention report"] {
            let end = try LaunchedProgram.shell(line, in: folder.url)
            #expect(end.status == 0 && end.words.contains("Deleted 560 rows in"), "\(end)")
        }
        #expect(try LaunchedProgram.shell("retention report", in: folder.url).output.contains("\nAttention: nothing\n"))
    }

    private func trimmed(_ text: String) -> String {
        text.replacing(/\d{4}-\d\d-\d\d \d\d:\d\d/, with: "then").replacing(/then:\d\dZ/, with: "then")
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.replacing(/\s+$/, with: "") }.joined(separator: "\n")
            .trimmingCharacters(in: .newlines)
    }

    /// The `retention` lines of all other pages do what they are shown for; FirstStepsTests has those of its page.
    @Test func thePagesShowCommandsThatExist() throws {
        let (folder, _) = try playREADME()
        for page in Self.pages where !["README.md", "docs/first-steps.md"].contains(page) {
            let commands = try Self.blocks(page).filter(\.isShell).flatMap(\.commands).map(\.line)
            for line in commands where line.hasPrefix("retention ") {
                let local = line.replacing("/etc/retention/", with: "")
                let end = try LaunchedProgram.shell(local, in: folder.url)
                #expect(end.status == 0, "\(page): \(line): \(end)")
            }
        }
    }

    /// Scripts that the pages name are there, can be started, and know the options they are shown with.
    @Test(arguments: pages)
    func namesScriptsThatExist(_ page: String) throws {
        let words = try Self.blocks(page).filter(\.isShell).flatMap { $0.text.split(separator: "\n") }
        for line in words {
            let parts = line.drop { "$ ".contains($0) }.prefix { $0 != "#" }.split(separator: " ")
            guard let script = parts.first, script.hasPrefix("scripts/") || script.hasPrefix(".ci/") else { continue }
            let url = LaunchedProgram.project.appending(path: String(script))
            #expect(FileManager.default.isExecutableFile(atPath: url.path), "\(page): \(script)")
            let text = try String(contentsOf: url, encoding: .utf8)
            for option in parts.dropFirst() where option.hasPrefix("--") {
                #expect(text.contains(option), "\(page): \(script) \(option)")
            }
        }
    }

    @Test func theREADMEBeginsWithTheCommands() throws {
        let first = try #require(try Self.blocks("README.md").first)
        #expect(
            first.text.split(separator: "\n").map { $0.prefix { $0 != " " } } == [
                "scripts/install", "scripts/demo", "scripts/test",
            ])
    }

    /// docs/output.md explains every field of the JSON report.
    @Test func explainsEveryFieldOfTheReport() throws {
        let folder = try playREADME().folder
        let end = try LaunchedProgram.shell("retention run --dry-run --format json", in: folder.url)
        try #require(end.status == 0, "\(end.errors)")
        let page = try Self.text("docs/output.md")
        let names = end.output.matches(of: #/"([a-z_]+)": /#).map { String($0.1) }
        try #require(Set(names).isSuperset(of: ["schema", "rules", "residue", "exit_code"]))
        for name in Set(names) { #expect(page.contains("`\(name)`"), "\(name)") }
    }

    // MARK: Links

    @Test(arguments: pages)
    func hasNoDeadLinks(_ page: String) throws {
        let folder = LaunchedProgram.project.appending(path: page).deletingLastPathComponent()
        for match in try Self.text(page).matches(of: /\]\(([^)#\s]+)(#[^)]*)?\)/) where !match.1.contains("://") {
            let target = folder.appending(path: String(match.1))
            #expect(FileManager.default.fileExists(atPath: target.path), "\(page): \(match.1)")
        }
    }

    /// Installed pages lie in one folder, without the files that only the source has.
    @Test func noLinkOfAnInstalledPageIsDead() throws {
        let folder = try TemporaryFolder()
        let pages = LaunchedProgram.project.appending(path: "scripts/pages").path(percentEncoded: false)
        try folder.write("{}", to: "share/retention/retention.schema.json")
        try folder.write("", to: "share/doc/retention/examples/retention.yaml")
        let made = try LaunchedProgram.shell(
            "'\(pages)' share/doc/retention && '\(pages)' --check share/doc/retention", in: folder.url)
        #expect(made.status == 0 && made.errors.isEmpty, "\(made)")
        try folder.write("See [that](docs/output.md).", to: "share/doc/retention/extra.md")
        let dead = try LaunchedProgram.shell("'\(pages)' --check share/doc/retention", in: folder.url)
        #expect(dead.status == 65 && dead.errors.contains("extra.md: the link to docs/output.md is dead"), "\(dead)")
    }
}

/// A fenced block of a Markdown page.
struct CodeBlock {
    var language: String
    /// The line of the page on which the block's text begins, from 1.
    var line: Int
    var text: String

    /// A command of a session, and what the page says it prints.
    struct Command {
        var line: String
        var output: String
    }

    /// Whether the block is a whole policy, as opposed to a part of one.
    var isPolicy: Bool { language == "yaml" && text.split(separator: "\n").contains { $0.hasPrefix("version: 1") } }

    var isShell: Bool { ["sh", "bash", "console"].contains(language) }

    /// The lines that begin with `$ `, each with the lines that follow it.
    var commands: [Command] {
        var commands: [Command] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("$ ") {
                commands.append(Command(line: String(line.dropFirst(2)), output: ""))
            } else if !commands.isEmpty {
                commands[commands.count - 1].output += line + "\n"
            }
        }
        return commands
    }

    /// The blocks of a page, in order.
    static func blocks(of page: String) -> [CodeBlock] {
        var blocks: [CodeBlock] = []
        var open: CodeBlock?
        for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let fence = line.drop { $0 == " " }
            switch (open, fence.hasPrefix("```")) {
            case (nil, true):
                open = CodeBlock(language: String(fence.dropFirst(3)), line: index + 2, text: "")
            case (let block?, true):
                blocks.append(block)
                open = nil
            case (_?, false): open?.text += line + "\n"
            case (nil, false): break
            }
        }
        return blocks
    }
}
