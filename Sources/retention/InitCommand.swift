import ArgumentParser
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention init`: the beginning of a policy for a store.
struct InitCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Writes a commented policy for a store to standard output.",
        discussion: """
            One disabled rule for each entity with a date that says how old its rows are; only the ages are left to \
            choose. Opens the store read-only and changes nothing.

            EXAMPLES
              retention init prices.sqlite
              retention init prices.sqlite > draft.yaml
            """)

    @Argument(
        help: ArgumentHelp("The SQLite file, as the policy names it.", valueName: "store"), completion: .file())
    var store: String
    @Option(
        help: ArgumentHelp("The compiled model of a Core Data store that lacks its own.", valueName: "file"),
        completion: .file())
    var model: String?

    func run(_ console: Console) throws -> Int32 {
        let reader = try StoreOpening.reader(ofStoreNamed: store, model: model)
        let draft = PolicyDraft(try StoreInspection.read(reader, clock: SystemClock.now()), model: model)
        guard draft.hasRules else {
            let name = Secrets.removed(fromURL: store)
            throw CommandFailure(
                exitCode: 65,
                message:
                    "no entity of \(name) has a date that says how old its rows are, so that no rule can be proposed",
                hint: "retention inspect \(name) shows what is in it")
        }
        // Editors that know this line complete keys and underline mistakes.
        let schema = InstalledFiles.schema.map { "# yaml-language-server: $schema=\($0)\n" } ?? ""
        try console.report(schema + draft.text)
        return 0
    }
}
