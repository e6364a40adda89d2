import Dispatch
@preconcurrency import Glibc
import Synchronization

/// Handles SIGINT and SIGTERM: the first signal stops the run after the current batch, a second one ends the process
/// immediately with 128 plus its number.
///
/// Used only by a command that deletes. Every other command ends at the first signal.
package final class Interruption {
    /// The number of the first signal; 0: none. Separate from the sources, so that their handlers can share it.
    private final class Flag: Sendable {
        let number = Atomic<Int32>(0)
    }

    private let flag = Flag()
    private let sources: [any DispatchSourceSignal]

    /// Starts to handle signals, and returns once both are handled.
    ///
    /// Until then the default action applies: an earlier signal ends the process, which has done nothing yet. Dispatch
    /// replaces the action when it registers the source, about 0.3 ms after `resume`.
    package init() {
        let isRegistered = DispatchSemaphore(value: 0)
        sources = [SIGINT, SIGTERM].map { [flag] number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInitiated))
            source.setEventHandler { @Sendable in
                let (isFirst, _) = flag.number.compareExchange(expected: 0, desired: number, ordering: .relaxed)
                if !isFirst { _exit(128 + number) }
            }
            source.setRegistrationHandler { @Sendable in isRegistered.signal() }
            source.resume()
            return source
        }
        for _ in sources { _ = isRegistered.wait(timeout: .now() + .seconds(1)) }
    }

    deinit {
        for source in sources { source.cancel() }
    }

    /// The number of the first signal that came, or nil if none came yet.
    package var signal: Int32? {
        let number = flag.number.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }
}
