import ArgumentParser

/// The command that scripts/bench measures: one piece of the library's work in a process, and the same done another way.
///
/// It is no product. Stores come from `goldprices`; the bench checks that both ways left the same rows. A command has
/// the name of its type: `delete-batch`, `insert-grdb`.
@main
struct StoreBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "storebench",
        abstract: "Does one piece of the library's work, for scripts/bench to measure.",
        subcommands: [
            DeleteBatch.self, DeleteMerged.self, DeleteClassic.self, InsertBatch.self, InsertTyped.self,
            InsertGRDB.self, FetchPoints.self, Merge.self,
        ])
}
