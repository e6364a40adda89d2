import PriceStore
@testable import SQLiteStore
import Testing

/// Which strategy is chosen for which rows.
struct TechniqueChoiceTests {
    private func facts(
        _ expired: Int, of rows: Int = 1_000_000, _ change: (inout TechniqueChoice.Facts) -> Void = { _ in }
    ) -> TechniqueChoice.Facts {
        var facts = TechniqueChoice.Facts(batches: .range, rowCount: rows, expiredCount: expired)
        facts.predictedLock = [.whole: .milliseconds(400), .rebuild: .milliseconds(900), .rebuildInPlace: .seconds(1)]
        change(&facts)
        return facts
    }

    private func choose(
        _ expired: Int, of rows: Int = 1_000_000, _ change: (inout TechniqueChoice.Facts) -> Void = { _ in }
    ) -> Technique {
        TechniqueChoice(facts(expired, of: rows, change)).technique
    }

    @Test func rowsInOrderGoByRangesUntilMostOfThemAreExpired() {
        #expect(choose(10_000) == .range)
        #expect(choose(500_000) == .range)
        #expect(choose(619_999) == .range)
        #expect(choose(620_000) == .rebuild)
        #expect(choose(999_999) == .rebuild)
        #expect(choose(1_000_000) == .whole)
    }

    @Test func rowsInNoOrderGoSortedAndThenByARebuild() {
        func random(_ facts: inout TechniqueChoice.Facts) { facts.isInFileOrder = false }
        #expect(choose(50_000, of: 5_000_000, random) == .range)
        #expect(choose(50_000, random) == .sorted)
        #expect(choose(199_999, random) == .sorted)
        #expect(choose(200_000, random) == .rebuild)
    }

    @Test func fewRowsAreNotWorthAChoice() {
        #expect(choose(49_999, of: 50_000) == .range)
        #expect(choose(49_999, of: 49_999) == .range)
        #expect(TechniqueChoice(facts(49_999, of: 50_000)).reason == nil)
    }

    @Test func othersAtWorkKeepTheStoreUnlocked() {
        let choice = TechniqueChoice(facts(900_000) { $0.isInUseByOthers = true })
        #expect(choice.technique == .range)
        #expect(choice.reason == "other processes are using the store")
        #expect(choice.predictedLock == nil)
        let random = TechniqueChoice(
            facts(900_000) {
                $0.isInUseByOthers = true
                $0.isInFileOrder = false
            })
        #expect(random.technique == .sorted)
    }

    @Test func aLockThatWouldBeTooLongIsNotTaken() {
        #expect(choose(900_000) { $0.maxLock = .milliseconds(900) } == .rebuild)
        let choice = TechniqueChoice(facts(900_000) { $0.maxLock = .milliseconds(899) })
        #expect(choice.technique == .range)
        #expect(
            choice.reason == "90 % of the rows are deleted, but a rebuild in place would lock the store for about 1.0 s"
        )
    }

    @Test(arguments: [false, true]) func onlyShortBatchesAreTakenWhereNothingMayLockTheStore(_ isInFileOrder: Bool) {
        for expired in [100_000, 900_000, 1_000_000] {
            let choice = choose(expired) { ($0.maxLock, $0.isInFileOrder) = (.zero, isInFileOrder) }
            #expect(choice == .range)
        }
    }

    @Test func aRebuildThatIsNotPossibleGivesWayToTheNext() {
        #expect(choose(900_000) { $0.obstacles[.rebuild] = "no WAL" } == .rebuildInPlace)
        let choice = TechniqueChoice(facts(900_000) { $0.roomObstacle = "no room" })
        #expect(choice.technique == .range)
        #expect(choice.reason == "90 % of the rows are deleted, but no room")
        #expect(choose(100_000) { ($0.isInFileOrder, $0.roomObstacle) = (false, "no room") } == .range)
        #expect(
            choose(900_000) { $0.obstacles = [.rebuild: "a trigger", .rebuildInPlace: "objects"] } == .range)
    }

    @Test func theReasonNamesThePartAndTheLock() {
        let choice = TechniqueChoice(facts(900_000))
        #expect(
            choice.reason == "90 % of the rows are deleted, no other process is using the store, a lock of about 0.9 s")
        #expect(choice.predictedLock == .milliseconds(900))
        #expect(choice.batches == .range)
        #expect(
            TechniqueChoice(facts(1_000_000)).reason
                == "all rows are deleted, no other process is using the store, a lock of about 0.4 s")
    }

    @Test func aTableWithoutADateIndexIsRebuiltToo() {
        #expect(choose(500_000) { $0.batches = .windows } == .windows)
        #expect(choose(900_000) { $0.batches = .windows } == .rebuild)
    }
}
