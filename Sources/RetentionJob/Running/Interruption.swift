import Dispatch
@preconcurrency import Glibc
import Synchronization

/// Listens for SIGINT and SIGTERM: the first one asks the run to stop after the batch in hand, a second one ends the
/// process at once with 128 and its number.
///
/// Made only for a command that deletes: every other command ends at the first signal, as programs do.
package final class Interruption {
    /// The first signal's number; 0: none came. Apart from the sources, so that their handlers can share it.
    private final class Flag: Sendable {
        let number = Atomic<Int32>(0)
    }

    private let flag = Flag()
    private let sources: [any DispatchSourceSignal]

    /// Begins to listen, and returns once both signals are listened to.
    ///
    /// The default action stays until then: a signal that comes earlier ends the process, which has done nothing yet,
    /// and none is lost. Dispatch replaces the action when it registers the source, about 0.3 ms after `resume`.
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
