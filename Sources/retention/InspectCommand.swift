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

            EXAMPLES
              retention inspect prices.sqlite
            """)

    @OptionGroup var source: StoreOption

    func run(_ console: Console) throws -> Int32 {
        try console.report(InspectionReport(try source.inspect()).text(console.layout))
        return 0
    }
}
