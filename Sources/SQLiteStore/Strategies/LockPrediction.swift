import GRDB
import PriceStore

extension SQLiteFileConnection {
    /// How long one statement would lock the store that deletes rows with what belongs to them; nil: not long, where it
    /// may be locked at all.
    func predictRelatedLock(
        _ table: SQLiteTable, _ survey: Findings, maxLock: Duration, _ db: Database
    ) throws -> Duration? {
        let count = survey.expiredCount + survey.cascadedCount + survey.nullifiedCount
        guard count >= TechniqueChoice.fewestRows || maxLock < LockModel.fewRowsTake else { return nil }
        var all = survey
        all.expiredCount = count
        return try predictLocks(table, rowCount: max(count, survey.rowCount ?? 0), all, db)[.whole].map {
            $0 * LockModel.relatedFactor
        }
    }

    /// How long the strategies that are one transaction would lock the store.
    ///
    /// A sample of the rows is copied to a temporary table: what that takes is what a row costs on this machine, with
    /// this load, now. The factors were found by hand, on a table of one index.
    func predictLocks(
        _ table: SQLiteTable, rowCount: Int, _ survey: Findings, _ db: Database
    ) throws -> [Technique: Duration] {
        let sample = temporaryName("sample")
        let rows = "SELECT * FROM \(table.sql) NOT INDEXED LIMIT \(LockModel.sampleRows)"
        // What the first rows cost is the temporary file and the pages of the store that are not in memory yet.
        try db.execute(sql: "CREATE TEMP TABLE \(sample) AS \(rows)")
        let pagesBefore = try Int.fetchOne(db, sql: "PRAGMA temp.page_count") ?? 0
        var elapsed = Duration.seconds(3_600)
        // The quicker of two, since anything may have come in between.
        for isAgain in [false, true] {
            if isAgain { try db.execute(sql: "DELETE FROM temp.\(sample)") }
            let began = ContinuousClock.now
            try db.execute(sql: "INSERT INTO temp.\(sample) \(rows)")
            elapsed = min(elapsed, ContinuousClock.now - began)
        }
        let pages = try max(1, (Int.fetchOne(db, sql: "PRAGMA temp.page_count") ?? 0) - pagesBefore)
        try db.execute(sql: "DROP TABLE temp.\(sample)")
        let sampled = Double(min(LockModel.sampleRows, max(1, rowCount)))
        let live =
            Double(try pragma("page_count", db) - pragma("freelist_count", db)) * Double(try pragma("page_size", db))
        let model = LockModel(
            secondsPerRow: (elapsed / .seconds(1)) / sampled,
            bytesPerRow: Double(pages) * Double(try Int.fetchOne(db, sql: "PRAGMA temp.page_size") ?? 4096) / sampled,
            indexCount: Double(table.indexes.count), rowCount: Double(rowCount),
            expiredCount: Double(survey.expiredCount),
            readCount: survey.readCount(ofAll: rowCount),
            liveBytes: live)
        return [.whole: model.whole, .rebuild: model.rebuild, .rebuildInPlace: model.rebuildInPlace]
    }
}

extension Findings {
    /// How many rows must be read to find the remaining ones.
    fileprivate func readCount(ofAll rowCount: Int) -> Double {
        switch stayingRows {
        case .rowIDs(let rowIDs): min(Double(rowCount), Double(rowIDs.upperBound) - Double(rowIDs.lowerBound) + 1)
        case .newerRows: Double(rowCount - survey.expiredCount)
        case nil: Double(rowCount)
        }
    }
}

/// What one transaction for all rows costs, in multiples of the time that copying a row takes.
struct LockModel {
    static let sampleRows = 4_000
    /// A row whose references are looked up costs so many times what a row costs that is deleted alone.
    static let relatedFactor = 2
    /// Rows that are too few for a choice of technique take less.
    static let fewRowsTake = Duration.milliseconds(500)

    var secondsPerRow: Double
    var bytesPerRow: Double
    var indexCount: Double
    var rowCount: Double
    var expiredCount: Double
    /// Rows that are read where a rebuild looks for the survivors.
    var readCount: Double
    /// Bytes of the pages in use, of all tables.
    var liveBytes: Double

    /// All rows are deleted: their pages are put on the list of free ones, and cleared where SQLite was built so.
    var whole: Duration { duration(expiredCount * (0.3 + 0.15 * indexCount)) }

    /// The rows where the survivors are are read and all rows counted; the survivors are written, indexed, and written
    /// again to the WAL with all other tables, which is synced.
    var rebuild: Duration {
        let survivors = rowCount - expiredCount
        let ownBytes = min(liveBytes, bytesPerRow * rowCount * (1 + 0.5 * indexCount))
        let written = survivors * (0.4 + 0.2 * indexCount) + 2 * (liveBytes - ownBytes) / bytesPerRow
        let counted = (indexCount > 0 ? 0.03 : 0.05) * rowCount
        return .milliseconds(20)
            + duration(0.17 * readCount + counted + survivors * (1.2 + 0.75 * indexCount) + written)
    }

    /// All rows are read, the rows deleted from the table alone, the indexes of the survivors written.
    var rebuildInPlace: Duration {
        duration(0.17 * rowCount + 0.45 * expiredCount + (rowCount - expiredCount) * 0.75 * indexCount)
    }

    private func duration(_ rows: Double) -> Duration { .seconds(rows * secondsPerRow * Self.caution) }

    /// If a prediction is too short, a rebuild is abandoned partway through.
    private static let caution = 1.5
}
