@preconcurrency import Glibc
import RetentionJob

/// A program of the policy, found as the system finds it, and the interpreters that run it.
struct NoticeProgram {
    /// A file or folder that determines what is executed.
    struct Place {
        var path: String
        /// What messages call it: `the program`.
        var what: String
    }

    /// The name in the policy or in the first line of a script.
    private let word: String
    /// What messages call the program.
    private let what: String
    /// How many scripts lead to the program.
    private let depth: Int

    /// The maximum depth of interpreters that are scripts themselves, as in the kernel.
    private static let mostScripts = 5

    /// Makes the program of a command of the policy.
    init(_ word: String) { self.init(word, "the program", depth: 0) }

    private init(_ word: String, _ what: String, depth: Int) {
        (self.word, self.what, self.depth) = (word, what, depth)
    }

    /// What leads to the program and to its interpreters. A program without a slash is looked up in the `PATH`, and again when it is run.
    /// Until then nobody else may put another one into an earlier folder.
    ///
    /// - Throws: ``CommandFailure`` with 77 if the first line of a script does not show which program `env` runs.
    func places() throws(CommandFailure) -> [Place] {
        var places = folders.map { Place(path: $0, what: "the folder of the PATH") }
        guard let path else { return word.contains("/") ? [Place(path: word, what: what)] : places }
        places.append(Place(path: path, what: what))
        for interpreter in try interpreters() { places += try interpreter.places() }
        // The script that an interpreter runs, or the program that it starts, as `env` does.
        for word in firstLine(of: path).dropFirst() where access(word, F_OK) == 0 {
            places.append(Place(path: word, what: "the interpreter's argument"))
        }
        return places
    }

    /// Why the program cannot be run, as a clause; nil: it can.
    var trouble: String? {
        guard let path else {
            guard word.contains("/") else { return "\(what) \(word) is in no folder of the PATH" }
            let isThere = access(word, F_OK) == 0
            return "\(what) \(word) \(isThere ? "is not an executable file" : "does not exist")"
        }
        guard let interpreters = try? interpreters() else { return nil }
        return interpreters.lazy.compactMap(\.trouble).first.map { "\($0), and \(path) needs it" }
    }

    /// The folders of the `PATH` that are searched, up to the one that contains the program; empty: the program is named by its path.
    private var folders: [String] {
        guard !word.contains("/") else { return [] }
        let all = (getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin")
            .split(separator: ":", omittingEmptySubsequences: false).map { $0.isEmpty ? "." : String($0) }
        let index = all.firstIndex { Self.isProgram($0 + "/" + word) }
        return Array(all[...(index ?? all.count - 1)])
    }

    /// The path of the program; nil: it was not found.
    private var path: String? {
        let path = folders.last.map { $0 + "/" + word } ?? word
        return Self.isProgram(path) ? path : nil
    }

    private static func isProgram(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    /// The interpreter in the first line of a script (`#!`), and the program that it runs if it is `env`.
    private func interpreters() throws(CommandFailure) -> [NoticeProgram] {
        guard depth < Self.mostScripts, let path else { return [] }
        let words = firstLine(of: path)
        guard let first = words.first else { return [] }
        var found = [first]
        if Self.isEnv(first) {
            // Other options have arguments of their own, which look like a program.
            let rest = words.dropFirst().drop { $0 == "-S" || $0 == "-i" || !$0.hasPrefix("-") && $0.contains("=") }
            guard let program = rest.first, !program.hasPrefix("-"), program.allSatisfy({ !"\"'\\$".contains($0) })
            else {
                throw CommandFailure(
                    exitCode: 77,
                    message: "refusing to run as root: the first line of \(path) does not show which program runs it",
                    hint: "name the program itself, as in #!/usr/bin/python3, or pass --allow-insecure")
            }
            found.append(program)
        }
        let depth = depth + 1
        return found.enumerated().map { index, word in
            // The kernel reads the interpreter as a path; `env` searches the `PATH`.
            NoticeProgram(index > 0 || word.contains("/") ? word : "./" + word, "the interpreter", depth: depth)
        }
    }

    /// Whether an interpreter is `env`, through any links. One program may have several names and behave according to the name.
    private static func isEnv(_ word: String) -> Bool {
        let names = FilePlace.links(word).compactMap { $0.ofFile?.name } + [FilePlace(word, followsLink: true).name]
        let env = FilePlace("/usr/bin/env", followsLink: true)
        return FilePlace(word).name == "env" || names.contains("env")
            || env.name == "env" && env.isSame(as: FilePlace(word, followsLink: true))
    }

    /// The words of a script's first line; empty: it is not a script.
    private func firstLine(of path: String) -> [String] {
        guard let bytes = FilePlace(path, followsLink: true).firstBytes(256), bytes.starts(with: "#!".utf8) else {
            return []
        }
        let line = String(decoding: bytes.dropFirst(2).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        return line.split { $0 == " " || $0 == "\t" }.map(String.init)
    }
}
