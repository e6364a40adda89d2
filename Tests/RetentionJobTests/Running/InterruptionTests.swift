import Foundation
import RetentionJob
import Testing

@Suite struct InterruptionTests {
    /// A second signal would end the test's own process; that is tried on the launched program.
    @Test func theFirstSignalIsRememberedAndNoneIsLost() async throws {
        let interruption = Interruption()
        #expect(interruption.signal == nil)
        kill(getpid(), SIGTERM)
        for _ in 0..<500 where interruption.signal == nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(interruption.signal == SIGTERM)
    }
}
