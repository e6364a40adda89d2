/// Why a policy file cannot be used.
package enum PolicyError: Error, Sendable {
    /// There is no file of that name.
    case missing(path: String)
    /// The file exists but cannot be read: the system's error number and message.
    case unreadable(path: String, code: Int32, reason: String)
    /// The mistakes in the file, sorted by position; at least one.
    case invalid([Diagnostic], PolicySource)
}

extension PolicyError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .missing(let path): "\(path): policy file not found"
        case .unreadable(let path, _, let reason): "\(path): the policy cannot be read: \(reason)"
        case .invalid(let diagnostics, let source): DiagnosticText.render(diagnostics, source: source)
        }
    }
    /// The first mistake with its place, and how many others there are.
    package var firstText: String {
        guard case .invalid(let diagnostics, let source) = self, let first = diagnostics.first else {
            return description
        }
        let others = diagnostics.count > 1 ? " (and \(diagnostics.count - 1) more)" : ""
        return "\(source.path):\(first.mark.line):\(first.mark.column): \(first.message)\(others)"
    }

    /// The same as one sentence without a full stop, for a record: the first mistakes without their places.
    package var reason: String {
        guard case .invalid(let diagnostics, _) = self else { return description }
        let others = diagnostics.count > 5 ? ["and \(diagnostics.count - 5) more"] : []
        return (diagnostics.prefix(5).map(\.message) + others).joined(separator: "; ")
    }
}
