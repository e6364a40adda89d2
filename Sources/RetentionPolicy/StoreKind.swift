/// The kind of store that a policy names, and its location.
package enum StoreKind: Hashable, Sendable {
    /// A file, by its absolute path.
    case file(String)
    /// A database on a server, by its URL.
    case server(String)

    /// The kind that a text names: a server if it is a URL, otherwise a file.
    package init(_ text: String) {
        let isServer = ["postgresql://", "postgres://"].contains { text.lowercased().hasPrefix($0) }
        self = isServer ? .server(text) : .file(text)
    }

    package var file: String? { if case .file(let path) = self { path } else { nil } }
    package var url: String? { if case .server(let url) = self { url } else { nil } }
    package var isServer: Bool { url != nil }
}
