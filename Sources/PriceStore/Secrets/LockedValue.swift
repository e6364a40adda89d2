import Foundation

/// A value that several threads may use, one at a time.
///
/// It does what `Synchronization.Mutex` does, with a lock that the thread sanitizer understands. The sanitizer reports a race in everything
/// that a `Mutex` guards on Linux.
package final class LockedValue<Value: Sendable>: Sendable {
    private let lock = NSLock()
    // Touched only while the lock is held.
    nonisolated(unsafe) private var value: Value

    package init(_ value: Value) { self.value = value }

    /// Runs `body` on the value while no other thread has access. `body` must not call it again.
    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
