import ArgumentParser
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention schema`: writes the JSON Schema of the policy file, for editors. Its text is docs/retention.schema.json.
struct SchemaCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Writes the JSON Schema of the policy file to standard output.",
        discussion: """
            Editors that know it complete keys and underline mistakes. It is installed in share/retention.

            EXAMPLES
              retention schema > retention.schema.json
            """)

    func run(_ console: Console) throws -> Int32 {
        try console.report(PolicySchema.document.document + "\n")
        return 0
    }
}
