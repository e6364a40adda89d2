import PriceStore
import RetentionPolicy
import SQLiteStore
import Testing

@testable import RetentionJob

@Suite struct PendingFolderTests {
    let fixture: PendingStoreFixture

    init() throws { fixture = try PendingStoreFixture() }

    private func counts(files: Int = 0, saved: Int = 0, ignored: Int = 0, rejected: Int = 0) -> RunReport.Pending {
        var counts = RunReport.Pending()
        counts.files = files
        counts.saved = saved
        counts.ignored = ignored
        counts.rejected = rejected
        return counts
    }

    @Test func aFileThatTwoEntriesTakeIsLeft() throws {
        try fixture.folder.write("pending/a.csv", "updateTime\n1\n")
        try fixture.folder.write("pending/b.csv", "updateTime\n2\n")
        var policy = fixture.policy()
        policy.pending.append(policy.pending[0])
        policy.pending[1].files = "pending/b*"
        let report = try fixture.save(policy: policy)
        #expect(try fixture.dates() == [1] && report.files == 1)
        #expect(
            report.problems == [
                "pending/b.csv: two entries of `pending` take it, with the patterns pending/* and pending/b*; change one of them"
            ])
        #expect(fixture.pendingFiles() == ["b.csv", "done/a.csv"])
    }

    @Test func savesCSVAndNDJSONAndMovesThemToDone() throws {
        try fixture.folder.write("pending/a.csv", "updateTime,price,symbol\n1970-01-02,18.93,\"X\"\"AU\"\n2,,\n")
        try fixture.folder.write(
            "pending/b.ndjson", "{\"updateTime\":3,\"price\":1.5}\n{\"updateTime\":\"1970-01-01T00:00:04Z\"}\n")
        #expect(try fixture.save() == counts(files: 2, saved: 4))
        #expect(
            try fixture.rows() == [
                [.integer(2), .null, .null], [.integer(3), .real(1.5), .null], [.integer(4), .null, .null],
                [.integer(86400), .real(18.93), .text("X\"AU")],
            ])
        #expect(fixture.pendingFiles() == ["done/a.csv", "done/b.ndjson"])
        #expect(try !fixture.hasTakenRecord())
        #expect(try fixture.save() == counts())
    }

    @Test func withoutFilesNothingHappens() throws {
        #expect(try fixture.save() == counts())
        #expect(fixture.folder.files() == ["prices.sqlite"])
    }

    @Test func badLinesGoToRejectedWithTheirReasonsInOrder() throws {
        try fixture.folder.write(
            "pending/a.csv", "updateTime,price\n1,1\nx,1\n2,y\n1,\"\n\"\n3\n4,\"5\n6,7\r\n1,8")
        #expect(try fixture.save() == counts(files: 1, saved: 2, rejected: 6))
        #expect(try fixture.dates() == [1, 6])
        #expect(
            try fixture.folder.read("pending/a.csv.rejected") == """
                # line 3: updateTime: not an ISO 8601 date, nor a number in unix_seconds
                x,1
                # line 4: price: not a number
                2,y
                # line 5: price: not a number
                1,"
                "
                # line 7: wrong number of fields: 1, the header has 2
                3
                # line 8: broken quotes: a quote is never closed
                4,"5
                # line 10: UNIQUE constraint failed: Price.updateTime
                1,8

                """)
        #expect(fixture.pendingFiles() == ["a.csv.rejected", "done/a.csv"])
    }

    @Test func anExistingRejectedFileIsNeverOverwritten() throws {
        for (round, text) in ["x", "x", "y", "x"].enumerated() {
            try fixture.folder.write("pending/a.csv", "updateTime\n\(text)\n")
            #expect(try fixture.save() == counts(files: 1, rejected: 1), "round \(round)")
        }
        #expect(fixture.pendingFiles().filter { $0.hasSuffix(".rejected") } == ["a.csv-2.rejected", "a.csv.rejected"])
        #expect(try fixture.folder.read("pending/a.csv.rejected").hasSuffix("\nx\n"))
        #expect(try fixture.folder.read("pending/a.csv-2.rejected").hasSuffix("\ny\n"))
        #expect(
            fixture.pendingFiles().filter { $0.hasPrefix("done/") } == [
                "done/a-2.csv", "done/a-3.csv", "done/a-4.csv", "done/a.csv",
            ])
    }

    @Test func aLineLongerThanTheLimitIsWholeInRejected() throws {
        let long = String(repeating: "1", count: 3 << 20)
        try fixture.folder.write("pending/a.csv", "updateTime\n1\n\(long)\n2\n")
        #expect(try fixture.save() == counts(files: 1, saved: 2, rejected: 1))
        #expect(
            try fixture.folder.read("pending/a.csv.rejected") == "# line 3: line too long, more than 1 MiB\n\(long)\n")
    }

    struct WrongFile: CustomTestStringConvertible {
        var text: String
        var problem: String
        var testDescription: String { problem }
    }

    static let wrongFiles: [WrongFile] = [
        .init(
            text: "updatetime,prise\n1,2\n",
            problem: "pending/a.csv: wrong header: Price has no attribute 'prise'; did you mean 'price'?"),
        .init(text: "", problem: "pending/a.csv: wrong header: the file is empty"),
        .init(
            text: "\"updateTime\n1\n", problem: "pending/a.csv: wrong header: broken quotes: a quote is never closed"),
        .init(text: "updateTime\0\n1\n", problem: "pending/a.csv: wrong header: a NUL byte"),
        .init(
            text: String(repeating: "x", count: 3_000_000),
            problem: "pending/a.csv: wrong header: line too long, more than 1 MiB"),
    ]

    @Test(arguments: wrongFiles) func aWrongHeaderLeavesTheFileAsItIs(_ sample: WrongFile) throws {
        try fixture.folder.write("pending/a.csv", sample.text)
        try fixture.folder.write("pending/b.csv", "updateTime\n1\n")
        var expected = counts(files: 1, saved: 1)
        expected.problems = [sample.problem]
        #expect(try fixture.save() == expected)
        #expect(try fixture.folder.read("pending/a.csv") == sample.text)
        #expect(fixture.pendingFiles() == ["a.csv", "done/b.csv"])
    }

    struct Conflict: CustomTestStringConvertible {
        var policy: ConflictPolicy
        var counts: (saved: Int, ignored: Int, rejected: Int)
        var price: StoreValue
        var testDescription: String { policy.rawValue }
    }

    static let conflicts: [Conflict] = [
        .init(policy: .fail, counts: (1, 0, 1), price: .real(1)),
        .init(policy: .ignore, counts: (1, 1, 0), price: .real(1)),
        .init(policy: .replace, counts: (2, 0, 0), price: .real(2)),
    ]

    @Test(arguments: conflicts) func aKeyThatIsThereFollowsOnConflict(_ sample: Conflict) throws {
        try fixture.folder.write("pending/a.csv", "updateTime,price\n1,1\n")
        try fixture.save()
        fixture.source.onConflict = sample.policy
        try fixture.folder.write("pending/b.csv", "updateTime,price\n1,2\n2,2\n")
        let expected = counts(
            files: 1, saved: sample.counts.saved, ignored: sample.counts.ignored, rejected: sample.counts.rejected)
        #expect(try fixture.save(into: SQLiteReader(path: fixture.storePath)) == expected)
        #expect(try fixture.save() == expected)
        #expect(try fixture.rows().first == [.integer(1), sample.price, .null])
        #expect(try fixture.dates() == [1, 2])
    }

    @Test func aDryRunPredictsTheCountsAndTouchesNothing() throws {
        try fixture.folder.write("pending/a.csv", "updateTime,price\n1,1\n2,x\n1,2\n3\n")
        try fixture.folder.write("pending/b.csv", "nothing\n")
        let before = fixture.folder.files()
        let store = try fixture.folder.read("prices.sqlite")
        let reader = try SQLiteReader(path: fixture.storePath)
        let predicted = try fixture.save(into: reader)
        #expect(predicted.saved == 1)
        #expect(predicted.rejected == 3)
        #expect(predicted.problems.count == 1)
        #expect(try reader.count(StoreFetchRequest(entity: "Price")) == 1)
        #expect(fixture.folder.files() == before)
        #expect(try fixture.folder.read("prices.sqlite") == store)
        #expect(try fixture.save() == predicted)
    }

    @Test func aFileThatChangesWhileItIsReadWaits() throws {
        try fixture.folder.write("pending/a.csv", "updateTime\n1\nx\n")
        var notes: [String] = []
        var isFirst = true
        let hooked = HookedWriter(try fixture.writer()) { [folder = fixture.folder] change in
            guard change == .insert, isFirst else { return }
            isFirst = false
            #expect((try? folder.write("pending/a.csv", "updateTime\n1\n2\n")) != nil)
        }
        let report = try fixture.save(into: hooked, note: { notes.append($0) })
        #expect(report == counts())
        #expect(notes == ["pending/a.csv changed while it was read, and waits for the next run"])
        #expect(try fixture.dates() == [])
        #expect(fixture.pendingFiles() == ["a.csv"])
        #expect(try fixture.save() == counts(files: 1, saved: 2))
    }

    @Test func filesBeyondTheBudgetWait() throws {
        for name in ["a", "b", "c"] {
            try fixture.folder.write("pending/\(name).csv", "updateTime\n\(name.utf8.count)\n")
        }
        fixture.source.onConflict = .ignore
        var expected = counts(files: 2, saved: 1, ignored: 1)
        expected.isInterrupted = true
        let folder = fixture.folder
        #expect(try fixture.save(mayContinue: { !folder.exists("pending/done/b.csv") }) == expected)
        #expect(fixture.pendingFiles() == ["c.csv", "done/a.csv", "done/b.csv"])
    }
}
