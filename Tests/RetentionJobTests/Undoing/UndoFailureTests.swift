import Foundation
import Logging
import PriceStore
import TestSupport
import Testing

@testable import RetentionJob

/// Undos that end before all rows are restored, or that cannot be recorded.
struct UndoFailureTests {
    private let file: PriceFile
    private let run = ArchiveFixture.run(at: PriceFile.now)
    private let recorder = RunKeeper()

    /// A store whose 3,000 expired rows are in an archive.
    init() throws {
        file = try PriceFile()
        try file.addPrices(daysOld: [0])
        try file.addPrices(daysOld: 31..<3031)
        try ArchiveFixture.make(in: file.folder.path, run: run, of: file.path, now: PriceFile.now)
        try #require(file.count() == 1)
    }

    /// Undoes the run.
    ///
    /// - Parameter failingBatch: the batch that fails, from 1.
    private func undo(
        failingBatch: Int? = nil, with kind: StoreError.Kind = .inputOutput, signal: (() -> Int32?)? = nil
    ) throws -> RunReport {
        var (batches, stop): (Int, Int32?) = (0, nil)
        let writer = HookedWriter(try file.writer()) { change throws(StoreError) in
            guard change == .restore else { return }
            batches += 1
            // A server ends the running statement at a signal.
            if batches == failingBatch, kind == .cancelled { stop = 15 }
            if batches == failingBatch { throw StoreError(kind, store: "prices", message: "no disk") }
        }
        let setup = RunSetup(
            policy: file.policy(.prices()), runID: "01UNDO", asOf: PriceFile.now, clock: { PriceFile.now },
            uptime: { .zero })
        let archive = RunReport.Archive(path: file.folder.path + "/\(run).sqlite", rows: 3000, isComplete: false)
        return try Undo(
            Undo.Request(run: run, archive: archive), setup: setup, writer: writer, recorder: recorder,
            logger: Logger(label: "test") { _ in LogCapture() }, signal: signal ?? { stop }
        ).perform()
    }

    @Test func aBatchThatFailsEndsTheUndoWithWhatIsCommitted() throws {
        let none = try undo(failingBatch: 1)
        #expect(none.failure?.hasSuffix("no disk; nothing was restored") == true && none.exitCode == 74)
        #expect(try file.count() == 1)
        let some = try undo(failingBatch: 2)
        let restored = try file.count() - 1
        #expect(0 < restored && restored < 3000)
        #expect(
            some.failure?.hasSuffix("no disk; \(Figures.count(restored, "row")) restored before it and committed")
                == true,
            "\(some.failure ?? "")")
        #expect(some.exitCode == 74 && recorder.finished.map(\.exitCode) == [74, 74])
        // The same undo goes on.
        let rest = try undo()
        #expect(rest.failure == nil && rest.exitCode == 0)
        #expect(try file.count() == 3001)
    }

    @Test func aSignalStopsItAndTheSameUndoGoesOn() throws {
        var asked = 0
        let stopped = try undo(signal: {
            asked += 1
            return asked > 2 ? 2 : nil
        })
        #expect(stopped.exitCode == 130)
        #expect(
            stopped.warnings.contains(
                "undo stopped: some rows are not restored yet; run the same undo again to continue"))
        #expect(try file.count() < 3001)
        #expect(try undo().exitCode == 0)
        #expect(try file.count() == 3001)
    }

    @Test func aStatementThatASignalEndsStopsIt() throws {
        let stopped = try undo(failingBatch: 2, with: .cancelled)
        #expect(stopped.exitCode == 143 && stopped.failure == nil && stopped.undo?.isInterrupted == true)
        #expect(try undo().exitCode == 0)
        #expect(try file.count() == 3001)
    }

    @Test func anUndoThatIsNotRecordedFails() throws {
        recorder.failsAtEnd = true
        let report = try undo()
        #expect(report.exitCode == 73 && report.warnings.contains { $0.hasPrefix("undo not recorded: ") })
        #expect(try file.count() == 3001)
    }

    @Test func whatTheNextRunRefusesMayStayUnknown() throws {
        recorder.failingMemory = 2
        let report = try undo()
        #expect(report.exitCode == 0 && report.warnings.contains { $0.hasPrefix("waiting rules not known: ") })
        #expect(report.undo?.waiting.isEmpty == true)
    }
}
