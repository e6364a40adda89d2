package import PriceStore
import RetentionJob
package import RetentionPolicy

/// The files that a policy tells the program to write, checked before anything is opened.
///
/// None of them may be the store, the ledger, the policy, a file beside a database that begins with its name, another output file, or a
/// pending file. None may overwrite a file that does not begin as the program writes it. See
/// docs/decisions/0019-files-that-are-written.md.
package struct OutputFiles {
    private struct Output {
        /// The name in messages: `'log.file'`.
        var name: String
        var place: FilePlace
        var content: OutputContent
        var mark: Mark
    }

    private struct Used {
        /// The name in messages: `the store`.
        var what: String
        var place: FilePlace
    }

    private let policy: Policy
    private var outputs: [Output] = []
    private var used: [Used] = []
    private var databases: [Used] = []

    /// Collects the files of a policy.
    package init(_ policy: Policy, ledger: String?) {
        self.policy = policy
        used.append(Used(what: "the policy", place: FilePlace(policy.file.path, followsLink: true)))
        if let path = policy.store.kind.file {
            used.append(Used(what: "the store", place: FilePlace(path, followsLink: true)))
            // A program that used a link to the store may have made side files with the name of the link.
            for place in [FilePlace(path, followsLink: true), FilePlace(path)] {
                databases.append(Used(what: "the store", place: place))
            }
        }
        let marks = policy.marks
        if let ledger {
            let isNamed = policy.ledger != .besideStore
            let mark = marks.values["ledger.path"] ?? marks.value("ledger")
            add(
                isNamed ? "'ledger'" : Self.ledgerBesideStore, ledger, .ledger, isNamed ? mark : policy.store.mark)
            databases.append(Used(what: "the ledger", place: FilePlace(ledger)))
        }
        if let path = policy.log?.file { add("'log.file'", path, .log, marks.value("log.file")) }
        if let path = policy.metricsFile { add("'metrics.textfile'", path, .figures, marks.value("metrics.textfile")) }
    }

    private mutating func add(_ name: String, _ path: String, _ content: OutputContent, _ mark: Mark) {
        outputs.append(Output(name: name, place: FilePlace(path), content: content, mark: mark))
    }

    /// The reasons why files must not be written, at their positions in the policy.
    package var diagnostics: [Diagnostic] {
        var found: [Diagnostic] = []
        for (index, output) in outputs.enumerated() {
            guard let reason = objection(to: output, after: outputs[..<index]) else { continue }
            found.append(Diagnostic(at: output.mark, "\(output.name) cannot be written: \(reason)"))
        }
        for source in policy.pending {
            for folder in PendingPattern(source).realFolders() {
                let done = FilePlace(folder + "/" + PendingFile.doneFolder)
                guard let facts = done.facts, !facts.isFolder else { continue }
                found.append(
                    Diagnostic(
                        at: source.marks.value("files"),
                        "imported files cannot be moved: \(done.path) \(facts.isLink ? "is a symbolic link" : "is not a folder")"
                    ))
            }
        }
        return found.byPlace
    }

    /// The outputs whose folder does not exist. A ledger beside the store is not included, because without its folder there is no store
    /// either.
    private var outputsWithoutFolder: [Output] {
        outputs.filter { !$0.place.hasFolder && $0.name != Self.ledgerBesideStore }
    }

    /// The name of a ledger without a path in the policy.
    private static let ledgerBesideStore = "the ledger"

    /// The files whose folder does not exist, at their positions in the policy. A run then ends with 73.
    package var missingFolders: [Diagnostic] {
        outputsWithoutFolder.map {
            Diagnostic(
                at: $0.mark, "\($0.name) cannot be written: the folder of \($0.place.path) does not exist; create it")
        }.byPlace
    }

    /// Throws `StoreError` of kind `cannotCreate` if the folder of one of the files does not exist, so that a dry run reports what a run
    /// would find.
    package func checkFolders() throws(StoreError) {
        guard let output = outputsWithoutFolder.first else { return }
        throw StoreError(
            .cannotCreate, store: output.place.path,
            message: "\(output.name) cannot be written: its folder does not exist", hint: "create the folder")
    }

    /// Throws ``PolicyError/invalid(_:_:)`` if one of the files must not be written.
    package func check() throws(PolicyError) {
        let diagnostics = diagnostics
        guard diagnostics.isEmpty else { throw PolicyError.invalid(diagnostics, policy.file) }
    }

    /// Why a file that the command line names must not be written, as a clause that begins with the path; nil: it may.
    package func objection(to content: OutputContent, at path: String) -> String? {
        let output = Output(name: "", place: FilePlace(path), content: content, mark: Mark(line: 1, column: 1))
        return objection(to: output, after: outputs[...])
    }

    private func objection(to output: Output, after others: ArraySlice<Output>) -> String? {
        let path = output.place.path
        if let same = used.first(where: { $0.place.isSame(as: output.place) }) { return "\(path) is \(same.what)" }
        if let same = others.first(where: { $0.place.isSame(as: output.place) }) {
            return "\(path) is also the file of \(same.name)"
        }
        if policy.pending.contains(where: { PendingPattern($0).takes(output.place) }) {
            return "\(path) matches a pattern of pending files"
        }
        if let same = databases.first(where: { $0.place.isSideFile(output.place) }) {
            return "\(path) is a file that belongs to \(same.what)"
        }
        if let reason = output.content.objection(to: output.place) { return "\(path) \(reason)" }
        // The figures of many stores are looked at once, for all.
        guard case .figures = output.content, !policy.isOneOfMany,
            let other = MetricsText.other(than: policy, in: output.place.firstBytes(1 << 20) ?? [])
        else { return nil }
        return "\(path) has the figures of another policy, \(other); name a file for each policy"
    }
}
