import PriceStore

/// Waits between two batches, in short steps, so that it notices a signal or the end of the time budget.
struct BatchPauses {
    /// A clock that never jumps.
    var uptime: () -> Duration
    var sleep: (Duration) -> Void
    /// Whether another batch may begin.
    var mayContinue: () -> Bool
    /// Called with the reason whenever the store asks to wait.
    var didBeginWaiting: (String) -> Void = { _ in }
    /// Called with the reason and the length of each wait.
    var didWait: (String, Duration) -> Void = { _, _ in }

    /// Waits for a duration, or until no other batch may begin.
    func wait(_ length: Duration, because reason: String = "pauses for other programs") {
        let began = uptime()
        defer { didWait(reason, uptime() - began) }
        while mayContinue() {
            let left = began + length - uptime()
            guard left > .zero else { return }
            sleep(min(left, .milliseconds(50)))
        }
    }

    /// Waits as long as the store asks for, for example for a standby that lags; false: the run was stopped meanwhile.
    func waitForStore(_ writer: any RetentionWriter) throws(StoreError) -> Bool {
        while mayContinue(), let reason = try writer.waitReason() {
            didBeginWaiting(reason)
            wait(.milliseconds(200), because: reason)
        }
        return mayContinue()
    }
}
