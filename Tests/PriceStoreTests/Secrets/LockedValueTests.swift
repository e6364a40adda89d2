import Dispatch
import PriceStore
import Testing

/// A value that is used by one thread at a time.
struct LockedValueTests {
    @Test func noChangeOfManyThreadsIsLost() {
        let count = LockedValue(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<20_000 { count.withLock { $0 += 1 } }
        }
        #expect(count.withLock { $0 } == 160_000)
    }

    @Test func whatIsThrownIsHandedOnAndTheLockIsFree() {
        struct Refusal: Error {}
        let value = LockedValue("a")
        #expect(throws: Refusal.self) {
            try value.withLock {
                $0 = "b"
                throw Refusal()
            }
        }
        #expect(value.withLock { $0 } == "b")
    }
}
