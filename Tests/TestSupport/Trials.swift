import Foundation
import Testing

/// Trials on random subjects, each made from a seed. A failure names its seed: repeat it with
/// `RETENTION_SEED=… RETENTION_STORES=1`. `RETENTION_STORES` says how many stores are tried; with `RETENTION_QUICK` it is a
/// few.
package struct Trials: Sendable {
    /// Whether `scripts/test` runs, which tries a part of what the nightly tries.
    private static let isQuick = ProcessInfo.processInfo.environment["RETENTION_QUICK"] != nil
    private static let fewStores: UInt64 = 20

    /// The seeds in portions, one for each test case, so that a report is not one line a trial.
    package let portions: [Range<UInt64>]

    /// - Parameters:
    ///   - count: how many stores are tried where nobody says.
    ///   - portion: how many trials there are in a test case.
    ///   - factor: how many trials there are for each store.
    package init(_ count: UInt64, inPortionsOf portion: UInt64, times factor: UInt64 = 1) {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["RETENTION_SEED"].flatMap(UInt64.init) ?? 1
        let usual = Self.isQuick ? min(count, Self.fewStores) : count
        let end = first + (environment["RETENTION_STORES"].flatMap(UInt64.init) ?? usual) * factor
        portions = stride(from: first, to: end, by: UInt64.Stride(portion)).map { $0..<min($0 + portion, end) }
    }

    /// All cases of a long list, or with `RETENTION_QUICK` every fifth.
    package static func cases<Case>(_ all: [Case]) -> [Case] {
        isQuick ? stride(from: 0, to: all.count, by: 5).map { all[$0] } : all
    }

    /// Tries a subject for each seed, and records what is found, with the subject's story.
    ///
    /// - Parameters:
    ///   - make: makes the subject of a seed.
    ///   - story: what the subject is, for a failure.
    ///   - trial: adds what is wrong, a line each.
    package func run<Subject>(
        _ seeds: Range<UInt64>, on make: (_ seed: UInt64) throws -> Subject, story: (Subject) -> String,
        _ trial: (inout Subject, _ found: inout [String]) throws -> Void
    ) {
        for seed in seeds {
            var subject: Subject?
            var found: [String] = []
            do {
                var made = try make(seed)
                defer { subject = made }
                try trial(&made, &found)
            } catch {
                found.append("throws \(error)")
            }
            guard !found.isEmpty else { continue }
            let text = found.prefix(8).joined(separator: "\n  ")
            Issue.record("RETENTION_SEED=\(seed) RETENTION_STORES=1\n  \(text)\n\(subject.map(story) ?? "")")
        }
    }
}
