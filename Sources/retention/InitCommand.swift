import ArgumentParser
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention init`: drafts a policy for a store.
struct InitCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Writes a commented policy for a store to standard output.",
        discussion: """
            Writes one disabled rule for each entity with a date that says how old its rows are; you choose the \
            ages. Opens the store read-only and changes nothing.

            EXAMPLES
              retention init prices.sqlite
              retention init prices.sqlite > draft.yaml
              retention init --tiers prices.sqlite
            """)

    @OptionGroup var source: StoreOption

    @Flag(help: "Add examples of tiers and candles to each rule, as comments.")
    var tiers = false

    func run(_ console: Console) throws -> Int32 {
        let draft = PolicyDraft(try source.inspect(), model: source.model, showsTiers: tiers)
        guard draft.hasRules else {
            throw CommandFailure(
                exitCode: 65,
                message: draft.obstacles.isEmpty
                    ? "no entity of \(source.store) has a date that says how old its rows are, so that no rule can be proposed"
                    : "no rule can be proposed for \(source.store): \(draft.obstacles.joined(separator: "; "))",
                hint: "retention inspect \(source.store) shows what is in it")
        }
        // Editors that know this line complete keys and underline mistakes.
        let schema = InstalledFiles.schema.map { "# yaml-language-server: $schema=\($0)\n" } ?? ""
        try console.report(schema + draft.text)
        return 0
    }
}
