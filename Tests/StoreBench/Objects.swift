import ArgumentParser
import CoreDataSamples

extension GoldObjects.Shape: ExpressibleByArgument {}

/// Makes a Core Data store, as `goldprices` makes others. Its options are those of that program.
struct Objects: ParsableCommand {
    @Argument(help: "The file to create.")
    var store: String

    @Option(help: "What the points are related to: symbol, detail or none.")
    var relationship: GoldObjects.Shape

    @Option(help: "How many points the store has.")
    var rows: Int

    @Option(help: "All points are before this time, in seconds since 1970.")
    var until: Int

    @Option(help: "Seconds from one point to the next.")
    var every: Int

    func run() throws {
        try GoldObjects(relationship, rows: rows, step: every, until: until).write(to: store)
    }
}
