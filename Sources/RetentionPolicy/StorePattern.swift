/// The files of a policy for many stores: `store: { files: "data/**/*.sqlite", except: ["data/old/*"] }`.
package struct StorePattern: Hashable, Sendable {
    package var written: String
    /// Files that it does not match, by the same patterns.
    package var except: [String]
    /// The folder to which patterns are relative, an absolute path.
    package var baseFolder: String

    package init(_ written: String, except: [String] = [], baseFolder: String) {
        (self.written, self.except, self.baseFolder) = (written, except, baseFolder)
    }

    /// What is wrong with a pattern of files, as a sentence without a full stop; nil: nothing.
    static func mistake(in pattern: String) -> String? {
        if pattern.split(separator: "/").contains("..") {
            return "'..' in a pattern is not allowed; write the folder in full"
        }
        if pattern.hasPrefix("~") { return "'~' is not expanded in '\(pattern)'; write the folder in full" }
        if pattern.contains("://") { return "a pattern is for files; '\(pattern)' is a URL" }
        return nil
    }

    /// The parts of a pattern's absolute path, without empty ones and `.`.
    package func parts(of pattern: String) -> [String] {
        (pattern.hasPrefix("/") ? pattern : "\(baseFolder)/\(pattern)").split(separator: "/").map(String.init)
            .filter { $0 != "." }
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

    /// The policy for one file of its pattern, an absolute path.
    package func forStore(_ path: String) -> Policy {
        guard let stores else { return self }
        var policy = self
        policy.stores = nil
        policy.patternText = ([stores.written] + stores.except.sorted().map { "except \($0)" }).joined(separator: " ")
        policy.store.kind = .file(path)
        policy.store.written = stores.display(path)
        // In a pattern the characters of a name are no wildcards.
        let name = Self.name(ofStore: path).map { "*?[".contains($0) ? "[\($0)]" : String($0) }.joined()
        for index in pending.indices {
            policy.pending[index].files = pending[index].files.replacing(Self.storePlaceholder, with: name)
        }
        return policy
    }

    /// The name of a store's file, without the ending.
    package static func name(ofStore path: String) -> Substring {
        let name = path.split(separator: "/").last ?? ""
        return name[..<(name.dropFirst().lastIndex(of: ".") ?? name.endIndex)]
    }
}
