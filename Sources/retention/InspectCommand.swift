import ArgumentParser
import PriceStore
import RetentionJob
import RetentionReports

/// `retention inspect`: what is in a store.
struct InspectCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Shows the entities of a store, their rows, and the dates in them.",
        discussion: """
            Opens the store read-only and changes nothing. Counts are exact: every row is read once or twice. The format \
            of a date is recognised from some of its values; it is shown with the reasons for and against it, and is \
            never used to delete anything.

            EXAMPLES
              retention inspect prices.sqlite
              retention inspect prices.sqlite --format json
            """)

    @Argument(
        help: ArgumentHelp("The SQLite file, or the URL of a PostgreSQL database.", valueName: "store"),
        completion: .file())
    var store: String
    @Option(
        help: ArgumentHelp("The compiled model of a Core Data store that lacks its own.", valueName: "file"),
        completion: .file())
    var model: String?
    @Option(help: "How the report is written.")
    var format = ReportFormat.text

    func run(_ console: Console) throws -> Int32 {
        let reader = try StoreOpening.reader(ofStoreNamed: store, model: model)
        let report = InspectionReport(try StoreInspection.read(reader, clock: SystemClock.now()))
        try console.report(
            format == .json
                ? report.json
                : report.text(
                    width: min(console.width, 100), tableWidth: console.tableWidth, usesColour: console.usesColour))
        return 0
    }
}
