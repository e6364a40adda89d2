import Foundation
import RetentionJob
import Testing

@Suite(.serialized) struct InterruptionTests {
    /// The second signal would end the test's own process; it is tried on the launched program.
    @Test(arguments: [SIGINT, SIGTERM]) func theFirstSignalIsRemembered(number: Int32) async throws {
        let interruption = Interruption()
        defer {
            signal(SIGINT, SIG_DFL)
            signal(SIGTERM, SIG_DFL)
        }
        #expect(interruption.signal == nil)
        kill(getpid(), number)
        for _ in 0..<500 where interruption.signal == nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(interruption.signal == number)
    }
}
