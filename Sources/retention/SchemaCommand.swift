import ArgumentParser
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention schema`: writes the JSON Schema of the policy file, for editors. Its text is docs/retention.schema.json.
struct SchemaCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Writes the JSON Schema of the policy file to standard output.",
        // It is for the project's own scripts, and for those who need the schema of exactly this version.
        shouldDisplay: false)

    func run(_ console: Console) throws -> Int32 {
        try console.report(PolicySchema.document.document + "\n")
        return 0
    }
}
