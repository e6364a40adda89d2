@preconcurrency import Glibc
// Owns timespec where it is loaded before Glibc.
import SwiftOverlayShims
import PriceStore

/// The clocks of the machine. Only this program reads them; targets below get the time as an argument.
enum SystemClock {
    private static let start = ContinuousClock.now

    static func now() -> Instant {
        var time = timeval()
        gettimeofday(&time, nil)
        return Instant(unixSeconds: Int64(time.tv_sec)).advanced(byMicroseconds: Int64(time.tv_usec))
    }

    /// Waits for a time. A signal may end the wait earlier.
    static func sleep(_ length: Duration) {
        let parts = length.components
        var time = timespec(tv_sec: Int(parts.seconds), tv_nsec: Int(parts.attoseconds / 1_000_000_000))
        nanosleep(&time, nil)
    }

    /// The time since the process started; monotonic.
    static func uptime() -> Duration { ContinuousClock.now - start }
}
