import Foundation
import RetentionJob
import RetentionReports
import Testing

struct NoticeCommandTests {
    private func sleep(_ length: Duration) { usleep(UInt32(length.components.attoseconds / 1_000_000_000_000)) }

    @Test func aCommandThatTakesTooLongIsKilledWithAllThatItStarted() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("notice-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let script = "sleep 600 & echo $! > '\(file.path)'; wait"
        var waits = 0
        let command = NoticeCommand(["/bin/sh", "-c", script], timeLimit: .seconds(60)) { length in
            // The clock advances only after the command has started the process to be killed.
            waits += 1
            while (try? String(contentsOf: file, encoding: .utf8))?.hasSuffix("\n") != true { usleep(1000) }
            _ = length
        }
        #expect(command.run(input: "")?.hasSuffix("took longer than 1 min 00 s and was killed") == true)
        #expect(waits == 6000)
        let child = try #require(pid_t(try String(contentsOf: file, encoding: .utf8).dropLast()))
        var isGone = false
        for _ in 0..<1000 where !isGone {
            // A child that has not been waited for still has its process ID, but no longer runs.
            let state = try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)
            isGone = state.map { $0.contains(") Z ") } ?? true
            usleep(10_000)
        }
        #expect(isGone)
    }

    @Test func aCommandThatReadsNothingDoesNotBlock() {
        let input = String(repeating: "x", count: 1 << 20)
        #expect(NoticeCommand(["true"], sleep: sleep).run(input: input) == nil)
    }

    @Test func itsEndIsReported() {
        #expect(
            NoticeCommand(["/bin/sh", "-c", "exit 3"], sleep: sleep).run(input: "")
                == "/bin/sh ended with exit status 3")
        #expect(
            NoticeCommand(["/bin/sh", "-c", "kill -9 $$"], sleep: sleep).run(input: "")
                == "/bin/sh was ended by signal 9")
        #expect(NoticeCommand([], sleep: sleep).run(input: "") == nil)
    }
}
