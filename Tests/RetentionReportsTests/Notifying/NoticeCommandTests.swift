import Foundation
import RetentionJob
import RetentionReports
import TestSupport
import Testing

struct NoticeCommandTests {
    private func sleep(_ length: Duration) { usleep(UInt32(length.components.attoseconds / 1_000_000_000_000)) }

    @Test func aCommandThatTakesTooLongIsKilledWithAllThatItStarted() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("notice-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let script = "sleep 600 & echo $! > '\(file.path)'; wait"
        var waits = 0
        let command = NoticeCommand(["/bin/sh", "-c", script], timeLimit: .seconds(60)) { _ in
            // The clock advances only after the command has started the process to be killed.
            waits += 1
            #expect(eventually { (try? String(contentsOf: file, encoding: .utf8))?.hasSuffix("\n") == true })
        }
        #expect(command.run(input: "")?.hasSuffix("took longer than 1 min 00 s and was killed") == true)
        #expect(waits == 6000)
        let child = try #require(pid_t(try String(contentsOf: file, encoding: .utf8).dropLast()))
        // A child that has not been waited for still has its process ID, but no longer runs.
        #expect(
            eventually {
                let state = try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)
                return state.map { $0.contains(") Z ") } ?? true
            })
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
