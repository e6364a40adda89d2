/// The files of a policy for many stores: `store: { files: "data/**/*.sqlite", except: ["data/old/*"] }`.
package struct StorePattern: Hashable, Sendable {
    /// The pattern as written.
    package var written: String
    /// Files that it does not match, by the same patterns.
    package var except: [String]
    /// The folder to which patterns are relative, an absolute path.
    package var baseFolder: String

    package init(_ written: String, except: [String] = [], baseFolder: String) {
        (self.written, self.except, self.baseFolder) = (written, except, baseFolder)
    }

    /// A path relative to the folder of the policy, if it is below it.
    package func display(_ path: String) -> String {
        let folder = baseFolder == "/" ? "/" : baseFolder + "/"
        return path.hasPrefix(folder) ? String(path.dropFirst(folder.count)) : path
    }
}

extension Policy {
    /// The name of the store in a pattern of pending files: that of its file, without the ending.
    package static let storePlaceholder = "{store}"

    /// The policy for one file of its pattern. All of them have one ledger, beside the policy.
    ///
    /// - Parameter path: the absolute path of the file.
    package func forStore(_ path: String) -> Policy {
        guard let stores else { return self }
        var policy = self
        (policy.stores, policy.isOneOfMany) = (nil, true)
        policy.store.kind = .file(path)
        policy.store.written = stores.display(path)
        if policy.ledger == .besideStore {
            policy.ledger = .path((stores.baseFolder == "/" ? "" : stores.baseFolder) + "/retention.ledger.sqlite")
        }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let dot = name.dropFirst().lastIndex(of: ".") ?? name.endIndex
        for index in pending.indices {
            policy.pending[index].files = pending[index].files.replacing(Self.storePlaceholder, with: name[..<dot])
        }
        return policy
    }
}
