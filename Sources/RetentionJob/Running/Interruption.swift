@preconcurrency import Glibc
import Synchronization

/// Handles SIGINT and SIGTERM until the process ends: the first signal stops the run after the current batch, a second one ends the process
/// immediately with 128 plus its number.
///
/// Used only by a command that deletes or waits. Every other command ends at the first signal.
package struct Interruption {
    /// The number of the first signal; 0: none. A signal handler can use only globals.
    private static let first = Atomic<Int32>(0)

    /// Handles signals from now on, even if the parent process blocked or ignored them. Until then the default action applies: an earlier
    /// signal ends the process, which has done nothing yet.
    package init() {
        // The handler must not be the one that initializes it.
        _ = Self.first.load(ordering: .relaxed)
        var handled = sigset_t()
        sigemptyset(&handled)
        for number in [SIGINT, SIGTERM] {
            sigaddset(&handled, number)
            // Interrupted system calls are restarted, except those that wait for a time.
            Glibc.signal(number) { number in
                let (isFirst, _) = Interruption.first.compareExchange(expected: 0, desired: number, ordering: .relaxed)
                if !isFirst { _exit(128 + number) }
                Interruption.acknowledge()
            }
        }
        pthread_sigmask(SIG_UNBLOCK, &handled, nil)
    }

    /// Says on a terminal that the signal has come. Only functions that a signal handler may call are used.
    private static func acknowledge() {
        let code = errno
        defer { errno = code }
        var terminal = termios()
        guard tcgetattr(STDERR_FILENO, &terminal) == 0 else { return }
        let text: StaticString = "\nstopping after this batch; again to stop at once\n"
        _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }

    /// The number of the first signal; nil: none has come.
    package var signal: Int32? {
        let number = Self.first.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }
}
