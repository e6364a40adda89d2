import PriceObjects
import PriceStore
import RetentionJob
import Testing

@Suite struct RunIDTests {
    @Test func isTheSpecificationsExample() {
        // Source: the ULID specification's time 01ARYZ6S41 is 1469918176385 ms.
        let id = RunID.make(
            at: Instant(microseconds: 1_469_918_176_385_000), random: [UInt8](repeating: 0xFF, count: 10))
        #expect(id == "01ARYZ6S41ZZZZZZZZZZZZZZZZ")
    }

    @Test func startsWithZeroesIn1970AndBefore() {
        #expect(RunID.make(at: Instant(unixSeconds: 0), random: []) == String(repeating: "0", count: 26))
        #expect(RunID.make(at: .distantPast, random: []) == String(repeating: "0", count: 26))
    }

    @Test func sortsByTimeWhateverTheRandomBytes() {
        let full = [UInt8](repeating: 0xFF, count: 10)
        let empty = [UInt8](repeating: 0, count: 10)
        let start: Int64 = 1_795_219_200_000_000
        for step: Int64 in [1_000, 31_000, 32_000, 86_400_000_000, 31_536_000_000_000] {
            let earlier = RunID.make(at: Instant(microseconds: start), random: full)
            let later = RunID.make(at: Instant(microseconds: start + step), random: empty)
            #expect(earlier < later)
            #expect(later.utf8.count == 26)
        }
    }

    @Test func everyRandomByteCounts() {
        let at = Instant(unixSeconds: 1_795_219_200)
        var ids: Set<String> = [RunID.make(at: at, random: [])]
        for place in 0..<RunID.randomByteCount {
            var random = [UInt8](repeating: 0, count: 10)
            random[place] = 1
            ids.insert(RunID.make(at: at, random: random))
        }
        #expect(ids.count == 11)
    }

    @Test func knowsItsOwnForm() {
        let start = Instant(microseconds: 1_469_918_176_385_000)
        let id = RunID.make(at: start, random: [1, 2, 3])
        #expect(RunID.isRunID(id) && RunID.start(of: id) == start)
        for text in [
            "", "01ARYZ6S41", id + "0", id.lowercased(), "8" + id.dropFirst(), "0U" + id.dropFirst(2),
            "é" + id.dropFirst(),
        ] {
            #expect(!RunID.isRunID(text) && RunID.start(of: text) == nil, "\(text)")
        }
    }

    @Test func takesTenBytesOfManyMore() {
        let at = Instant(unixSeconds: 1)
        #expect(
            RunID.make(at: at, random: [UInt8](repeating: 7, count: 10))
                == RunID.make(at: at, random: [UInt8](repeating: 7, count: 99)))
    }
}
