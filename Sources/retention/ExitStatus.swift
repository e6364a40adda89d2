import PriceStore
import RetentionJob
import RetentionPolicy

/// An error of a command that has no type of its own, such as wrong usage.
struct CommandFailure: Error, Hashable {
    var exitCode: Int32
    /// What is wrong, without a full stop.
    var message: String
    /// What to do next.
    var hint: String?

    /// Wrong usage of the command line.
    static func usage(_ message: String, hint: String? = nil) -> CommandFailure {
        CommandFailure(exitCode: 64, message: message, hint: hint)
    }
}

/// The exit status of a process, and its lines about an error.
struct ExitStatus: Hashable {
    var code: Int32
    /// The lines for standard error.
    var lines: [String]

    /// The error and its hint, for a record.
    var reason: String

    /// Whether the store is what cannot be used: it is missing, not reachable, damaged or locked.
    var isOfStore: Bool { [66, 69, 74, 75].contains(code) }

    private static let prefix = "retention: error: "

    /// The lines for a terminal of the given width, with sentences wrapped.
    func lines(width: Int?) -> [String] {
        guard let width else { return lines }
        return lines.flatMap { line in
            guard TextWidth.of(line) > width else { return [line] }
            guard line.hasPrefix("  ") else { return TextWidth.wrap(line, width: max(40, width), indent: 2) }
            return TextWidth.wrap(line, width: max(40, width) - 2).map { "  " + $0 }
        }
    }

}

extension ExitStatus {
    /// Converts errors to exit statuses. Nothing else does.
    init(of error: any Error) {
        switch error {
        case let failure as CommandFailure:
            self.init(code: failure.exitCode, message: failure.message, hint: failure.hint)
        case let policy as PolicyError:
            self.init(of: policy)
        case let store as StoreError:
            let engineCode = store.engineCode.map { " (\($0))" } ?? ""
            self.init(
                code: RunStatus.exitCode(of: store.kind), message: "\(store.store): \(store.message)\(engineCode)",
                hint: store.hint ?? Self.nextStep(after: store.kind))
        case let lock as RunLock.Failure:
            self.init(code: lock.exitCode, message: lock.description, hint: nil)
        default:
            self.init(
                code: 70, message: "an internal error: \(error)",
                hint: "report it with the command and the policy")
        }
    }

    /// The hint for an error that has no better one.
    private static func nextStep(after kind: StoreError.Kind) -> String {
        switch kind {
        case .missing: "check the path; in a policy it is relative to the policy's folder"
        case .unreachable: "check the server and the network, and try again"
        case .permission: "run it as the file's owner, or change who may read and write the file and its folder"
        case .busy: "try again later, or raise store.busy_timeout"
        case .inputOutput:
            "name a SQLite file; if it is one, check it for damage, and see whether the disk is full"
        case .constraint: "check the rows in the message: a trigger or a constraint of the store protects them"
        case .unsupported, .unpredictable: "retention inspect shows what is in the store"
        case .unknownName: "retention inspect shows the names of the store"
        case .cannotCreate: "check the folder and its permissions"
        case .replaced: "run the command again on the new file"
        case .cancelled: "run it again"
        case .historyMissing: "read the store again"
        case .defect: "report it with the command and the policy"
        }
    }

    private init(of error: PolicyError) {
        switch error {
        case .missing:
            self.init(
                code: 66, message: error.description,
                hint: "name it with -c FILE, or create one: retention init STORE --output retention.yaml")
        case .unreadable(_, let code, _):
            self.init(
                code: PolicyAccess.exitCode(ofSystemError: code), message: error.description,
                hint: "check that it is a file, and who may read it")
        case .invalid(let diagnostics, let source):
            self.init(
                code: 78,
                lines: DiagnosticText.render(diagnostics, source: source).split(separator: "\n").map(String.init),
                reason: Self.line(error.reason))
        }
    }

    private init(code: Int32, message: String, hint: String?) {
        let (message, hint) = (Self.line(message), hint.map(Self.line))
        self.init(
            code: code, lines: [Self.prefix + message] + (hint.map { ["  " + $0] } ?? []),
            reason: message + (hint.map { "; " + $0 } ?? ""))
    }

    /// The text as one line that cannot control the terminal and shows no password.
    private static func line(_ text: String) -> String { SafeText.line(Secrets.hidden(in: text)) }
}
