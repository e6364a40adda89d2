import ArgumentParser

/// The command that scripts/bench measures: one piece of the library's work in a process, and the same done another way.
///
/// It is no product. Stores come from `goldprices`; the bench checks that both ways left the same rows. The peers
/// (`delete-in-chunks`, `delete-one-by-one`) and the live work know nothing of the library.
@main
struct StoreBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "storebench",
        abstract: "Does one piece of the library's work, for scripts/bench to measure.",
        subcommands: [
            DeleteBatch.self, DeleteMerged.self, DeleteClassic.self, DeleteInChunks.self, DeleteOneByOne.self,
            InsertBatch.self, InsertTyped.self, InsertGRDB.self, FetchPoints.self, Merge.self, LiveWriter.self,
            LiveReader.self,
        ])
}
