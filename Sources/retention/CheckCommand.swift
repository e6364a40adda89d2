import ArgumentParser
import PriceStore
import RetentionJob
import RetentionPolicy

/// `retention check`: every mistake of the policy file, then of the file against its store.
struct CheckCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Shows every mistake of the policy file, and where it does not fit the store.",
        discussion: """
            Opens the store read-only and changes nothing. Advice about missing indexes is no mistake.

            EXAMPLES
              retention check
              retention check -c /etc/retention/prices.yaml --offline
            """)

    @OptionGroup var policyOption: PolicyOption
    @Flag(help: "Look at the file alone; do not open the store.")
    var offline = false
    @Flag(help: "Read a policy file that others may write, even as root.")
    var allowInsecure = false

    func run(_ console: Console) throws -> Int32 {
        let policy: Policy
        do {
            policy = try PolicyAccess.read(policyOption.config, allowsInsecure: allowInsecure)
        } catch PolicyError.invalid(let diagnostics, let source) {
            // The mistakes are what was asked for: they are the report.
            try console.report(DiagnosticText.render(diagnostics, source: source) + "\n")
            return 78
        }
        let diagnostics = offline ? [] : try storeDiagnostics(policy)
        if !diagnostics.isEmpty {
            try console.report(DiagnosticText.render(diagnostics, source: policy.file) + "\n")
        }
        guard !diagnostics.contains(where: { $0.severity == .error }) else { return 78 }
        let scope = offline ? "the store was not looked at" : "\(policy.store.written) fits"
        try console.report("\(SafeText.line(policy.file.path)): no errors; \(SafeText.line(scope))\n")
        return 0
    }

    private func storeDiagnostics(_ policy: Policy) throws -> [Diagnostic] {
        let reader = try StoreOpening(policy).reader()
        return try StoreCheck.diagnostics(
            policy: policy.completed(from: reader), reader: reader, clock: SystemClock.now())
    }
}
