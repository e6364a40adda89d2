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

    /// Begins to listen. The signals' default action is off from here to the end of the process.
    package init() {
        sources = [SIGINT, SIGTERM].map { [flag] number in
            // First, so that no signal can end the process between here and the source's registration.
            Glibc.signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInitiated))
            source.setEventHandler { @Sendable in
                let (isFirst, _) = flag.number.compareExchange(expected: 0, desired: number, ordering: .relaxed)
                if !isFirst { _exit(128 + number) }
            }
            source.resume()
            return source
        }
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
