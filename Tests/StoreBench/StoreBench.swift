import ArgumentParser

/// One piece of the library's work in a process, and the same done another way, for scripts/bench to measure.
///
/// It is no product. Stores come from `goldprices`, those of Core Data from here; the bench checks that both ways left the same rows.
@main
struct StoreBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "storebench", subcommands: [Delete.self, Insert.self, Merge.self, Objects.self])
}
