@preconcurrency import Glibc
import PriceStore

/// The clocks of the machine. Read only in this program; everything below is told the time.
enum SystemClock {
    /// The time of day.
    static func now() -> Instant {
        let time = read(CLOCK_REALTIME)
        return Instant(unixSeconds: Int64(time.tv_sec)).advanced(byMicroseconds: Int64(time.tv_nsec) / 1000)
    }

    /// The time since some moment in the past; never goes back.
    static func uptime() -> Duration {
        let time = read(CLOCK_MONOTONIC)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
