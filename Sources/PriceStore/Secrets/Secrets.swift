/// Removes passwords from everything that people can read: terminals, logs, pages, reports, the ledger, notifications.
///
/// It works on text only, so it also works on policies that cannot be parsed. If it is not clear where a password ends,
/// more is hidden rather than less.
package enum Secrets {
    /// What is shown in place of a password, however long that is.
    package static let mask = "***"
    /// Stands for each hidden character in ``hidden(inLines:)``. Unicode assigns no character to it.
    package static let hiddenScalar: Unicode.Scalar = "\u{FFFF}"

    /// The text with ``mask`` in place of each password.
    package static func hidden(in text: String) -> String {
        let scalars = Array(text.unicodeScalars)
        let secrets = SecretScan.secrets(in: scalars)
        return secrets.isEmpty ? text : replacing(secrets, in: scalars, with: mask)
    }

    /// The lines of a file with ``hiddenScalar`` in place of each character of a password, so columns do not change. A
    /// password can span several lines.
    package static func hidden(inLines lines: [String]) -> [String] {
        var scalars = Array(lines.joined(separator: "\n").unicodeScalars)
        let secrets = SecretScan.secrets(in: scalars)
        guard !secrets.isEmpty else { return lines }
        for index in secrets.joined() where scalars[index] != "\n" { scalars[index] = hiddenScalar }
        return scalars.split(separator: "\n", omittingEmptySubsequences: false).map { string($0) }
    }

    /// The passwords in a text, longest first.
    package static func found(in text: String) -> [String] {
        let scalars = Array(text.unicodeScalars)
        return SecretScan.secrets(in: scalars).map { string(scalars[$0]) }.filter { !$0.isEmpty }
            .sorted { $0.count > $1.count }
    }

    /// A URL without its password, before the host or among the parameters. Everything else is unchanged, because the
    /// ledger identifies a store by this name.
    package static func removed(fromURL url: String) -> String {
        let scalars = Array(url.unicodeScalars)
        let secrets = SecretScan.secrets(in: scalars)
        guard !secrets.isEmpty else { return url }
        let hidden = String(hiddenScalar)
        let marked = replacing(secrets, in: scalars, with: hidden).split(
            separator: "?", omittingEmptySubsequences: false)
        let place = marked[0].split(separator: ":" + hidden, omittingEmptySubsequences: false).joined()
        let parameters = marked.dropFirst().joined(separator: "?").split(separator: "&").filter { !$0.contains(hidden) }
        return place + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
    }

    private static func replacing(
        _ secrets: [Range<Int>], in scalars: [Unicode.Scalar], with mask: String
    ) -> String {
        var result = ""
        var end = 0
        for secret in secrets {
            result += string(scalars[end..<secret.lowerBound]) + mask
            end = secret.upperBound
        }
        return result + string(scalars[end...])
    }

    private static func string(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }
}
