import ArgumentParser
import PriceStore
import RetentionJob
import RetentionReports

/// `retention inspect`: shows what is in a store.
struct InspectCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Shows the entities of a store, their rows, and the dates in them.",
        discussion: """
            Opens the store read-only and changes nothing. Counts are exact: every row is read once or twice. The format \
            of a date is recognised from some of its values; it is shown with the reasons for and against it, and is \
            never used to delete anything.

            Of a pattern of files it shows a line for each, and what differs from most of them.

            EXAMPLES
              retention inspect prices.sqlite
              retention inspect '*.sqlite'
            """)

    @OptionGroup var source: StoreOption

    func run(_ console: Console) throws -> Int32 {
        let files = try source.files()
        guard !files.paths.isEmpty else {
            try console.report(InspectionReport(try source.inspect()).text(console.layout))
            return 0
        }
        for problem in files.problems { console.diagnose("warning", problem) }
        var (stores, code): ([StoresInspection.Store], Int32) = ([], files.problems.isEmpty ? 0 : 74)
        for path in files.paths {
            do {
                stores.append(.init(try source.inspect(path)))
            } catch {
                let status = ExitStatus(of: error)
                code = RunStatus.worst(of: [code, status.code])
                stores.append(.init(path, trouble: status.reason))
            }
        }
        try console.report(StoresInspection(source.store, stores).text(console.layout))
        return code
    }
}
