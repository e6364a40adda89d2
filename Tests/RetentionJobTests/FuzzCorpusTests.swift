import Foundation
import Testing

/// Inputs from which a reader was once fuzzed, or at which it failed.
struct FuzzCorpusTests {
    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fuzz/Corpus")

    @Test(arguments: FuzzTarget.allCases)
    func aReaderKeepsItsLaws(target: FuzzTarget) throws {
        let folder = Self.corpus.appending(path: target.rawValue)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files { target.take([UInt8](try Data(contentsOf: file))) }
    }
}
