@preconcurrency import Glibc
import ArgumentParser
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// `retention init`: drafts a policy for a store.
struct InitCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Writes a commented policy for a store.",
        discussion: """
            Writes one disabled rule for each entity with a date that says how old its rows are; you choose the \
            ages. Opens the store read-only and does not change it.

            EXAMPLES
              retention init prices.sqlite
              retention init prices.sqlite --output new.yaml
              retention init --tiers prices.sqlite
            """)

    @OptionGroup var source: StoreOption

    @Flag(help: "Add examples of tiers and candles to each rule, as comments.")
    var tiers = false

    @Option(
        help: ArgumentHelp(
            "Write the policy to this new file, and make the folder for its archive.", valueName: "file"),
        completion: .file())
    var output: String?

    func run(_ console: Console) throws -> Int32 {
        let output = output == "-" ? nil : output
        let place = output.map { FilePlace($0) }
        if let place,
            let objection = OutputContent.policy.objection(to: place) ?? (place.hasFolder ? nil : "has no folder")
        {
            throw CommandFailure(
                exitCode: 73, message: "the policy cannot be written: \(place.path) \(objection)",
                hint: "nothing was changed; name a new file in an existing folder")
        }
        var draft = PolicyDraft(try source.inspect())
        (draft.model, draft.showsTiers) = (source.model, tiers)
        guard draft.hasRules else {
            throw CommandFailure(
                exitCode: 65,
                message: draft.obstacles.isEmpty
                    ? "no entity of \(source.store) has a date that says how old its rows are, so that no rule can be proposed"
                    : "no rule can be proposed for \(source.store): \(draft.obstacles.joined(separator: "; "))",
                hint: "retention inspect \(source.store) shows what is in it")
        }
        // Editors that know this line complete keys and underline mistakes.
        let schema = InstalledFiles.schema.map { "# yaml-language-server: $schema=\($0)\n" } ?? ""
        guard let output, let place else {
            try console.report(schema + draft.text)
            return 0
        }
        if !StoreKind(source.store).isServer {
            let beside = FilePlace(source.store).folder
            // The user of the job can write beside the store, and often not in the folder of the policy.
            if !(beside + "/").hasPrefix(place.folder == "/" ? "/" : place.folder + "/") { draft.folder = beside }
            try Self.makeArchiveFolder(in: draft.folder ?? place.folder)
            draft.hasArchiveFolder = true
        }
        // Paths in a policy begin at its folder.
        if let here = FilePlace.realPath("."), place.folder != here {
            func absolute(_ path: String) -> String { path.hasPrefix("/") ? path : FilePlace.path(path, in: here) }
            if !StoreKind(draft.store).isServer { draft.store = absolute(draft.store) }
            draft.model = draft.model.map(absolute)
        }
        try ReplacedFile.write(
            schema + draft.text, to: output, as: .policy, hint: "name a new file in a folder that can be written")
        let file = SafeText.line(output)
        let check = SafeText.command(["retention", "check", "-c", output])
        try console.report(lines: ["The policy is in \(file). Write the ages, then: \(check)"])
        return 0
    }

    /// Makes the folder `archive`, which belongs to the owner of the folder around it if root makes it; one that is there is checked.
    private static func makeArchiveFolder(in folder: String) throws(StoreError) {
        var facts = stat()
        let isForOwner = geteuid() == 0 && stat(folder, &facts) == 0 && facts.st_uid != 0
        let path = FilePlace.path("archive", in: folder)
        // If it cannot be made, the check says why.
        if isForOwner {
            // A folder is not given away after it is made: its owner could have put another one there.
            let group = getegid()
            setegid(facts.st_gid)
            seteuid(facts.st_uid)
            mkdir(path, 0o700)
            seteuid(0)
            setegid(group)
        } else {
            mkdir(path, 0o700)
        }
        try ArchiveFolder(path).check(user: isForOwner ? facts.st_uid : geteuid())
    }
}
