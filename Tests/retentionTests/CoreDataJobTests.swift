import CoreDataSamples
import Foundation
import GRDB
import Testing

/// The job on Core Data stores, as a person runs it.
struct CoreDataJobTests {
    /// 100 points, the last of them a minute before 2025-01-01: with two symbols two a minute, else one.
    private func job(
        _ rule: String = "", entity: String = "YahooGoldPricePoint", date: String = "updateTime", top: String = "",
        objects: GoldObjects = GoldObjects(symbols: ["XAUUSD", "XAUEUR"])
    ) throws -> LaunchedJob {
        let job = try LaunchedJob(
            "SELECT 1",
            policy: """
                version: 1
                store: prices.sqlite
                \(top)
                rules:
                  - name: gold
                    entity: \(entity)
                    date_attribute: \(date)
                    max_age: 30min
                    \(rule)
                """)
        try FileManager.default.removeItem(atPath: job.path("prices.sqlite"))
        try objects.write(to: job.path("prices.sqlite"))
        return job
    }

    private let asOf = ["--as-of", "2025-01-01T00:00:00Z"]

    @Test func entitiesAndDatesGoByTheModelsNames() throws {
        let job = try job()
        let predicted = try job.report(["--dry-run"] + asOf)
        #expect(predicted.exitCode == 0 && predicted.rules[0].expired == 40)
        #expect(predicted.rules[0].dateFormat == "apple_seconds")
        let done = try job.report(asOf)
        #expect(done.exitCode == 0 && done.rules[0].deleted == 40)
        #expect(done.rules[0].cascaded == 0 && predicted.rules[0].cascaded == 0)
        #expect(done.rules[0].nullified == 0 && predicted.rules[0].nullified == 0)
        #expect(try job.number("SELECT count(*) FROM ZYAHOOGOLDPRICEPOINT") == 60)
        // Each symbol lost 20 points: its lock counter began at 1.
        #expect(try job.rows("SELECT Z_OPT FROM ZSYMBOL") == ["21", "21"])
        #expect(try job.report(asOf).rules[0].deleted == 0)
    }

    @Test func aOneToOneCascadeIsPredictedAndCounted() throws {
        let job = try job(objects: GoldObjects(.detail))
        let predicted = try job.report(["--dry-run"] + asOf).rules[0]
        let done = try job.report(asOf).rules[0]
        #expect(predicted.expired == 70 && predicted.cascaded == 70)
        #expect(done.deleted == 70 && done.cascaded == 70)
        #expect(try job.number("SELECT count(*) FROM ZPRICEDETAIL") == 30)
    }

    @Test func aHistoryOfAnUnknownFormIsRefused() throws {
        let job = try job(objects: GoldObjects(hasHistory: true))
        try job.change("ALTER TABLE ACHANGE ADD COLUMN ZNEWS BLOB")
        for arguments in [["--dry-run"], []] {
            let report = try job.report(arguments + asOf)
            #expect(report.exitCode == 65 && report.rules[0].refusal == "history_tracking")
            #expect(report.rules[0].message?.hasPrefix("refusing to") == true)
        }
        #expect(try job.number("SELECT count(*) FROM ZYAHOOGOLDPRICEPOINT") == 100)
    }

    /// The delete rules of the model apply: nothing of a rule replaces them.
    @Test(arguments: ["deny", "nullify", "cascade"])
    func relationshipsInARuleAreRefused(_ setting: String) throws {
        let job = try job("relationships: \(setting)", objects: GoldObjects(.detail))
        for arguments in [["--dry-run"], [], ["--accept", "relationship_denied"]] {
            let report = try job.report(arguments + asOf)
            #expect(report.exitCode == 65 && report.rules[0].refusal == "unsupported_schema")
            #expect(report.rules[0].message?.hasSuffix("; this cannot be accepted; leave out `relationships`") == true)
        }
        #expect(try job.number("SELECT count(*) FROM ZYAHOOGOLDPRICEPOINT") == 100)
    }

    @Test func anotherFormatThanTheModelsIsAMistake() throws {
        let end = try job("date_format: unix_seconds").retention("check")
        #expect(end.status == 78)
        #expect(end.words.contains("updateTime is apple_seconds, not unix_seconds; leave out date_format"), "\(end)")
        #expect(try job("date_format: apple_seconds").retention("check").status == 0)
    }

    @Test func withoutAModelNothingIsDeletedUnlessTheModelIsGiven() throws {
        let job = try job()
        try job.change("DROP TABLE Z_MODELCACHE")
        let report = try job.report(asOf)
        #expect(report.exitCode == 65 && report.rules[0].refusal == "unsupported_schema")
        let reason = "the store has no model, so its relationships are unknown; this cannot be accepted; name"
        #expect(report.rules[0].message?.contains(reason) == true)
        #expect(try job.number("SELECT count(*) FROM ZYAHOOGOLDPRICEPOINT") == 100)
    }

    @Test func columnNamesWhatTheModelDoesNot() throws {
        let job = try job()
        try job.change(
            "ALTER TABLE ZYAHOOGOLDPRICEPOINT ADD COLUMN ZUPDATETIME1 TIMESTAMP; "
                + "UPDATE ZYAHOOGOLDPRICEPOINT SET ZUPDATETIME1 = ZUPDATETIME")
        let refused = try job.report(["--dry-run"] + asOf)
        #expect(refused.exitCode == 65 && refused.rules[0].refusal == "unsupported_schema")
        let reason = "updateTime can be any of the columns ZUPDATETIME, ZUPDATETIME1, and the model does not say which"
        #expect(refused.rules[0].message?.contains(reason) == true)
        try job.folder.write(
            try job.text("retention.yaml").replacing("max_age", with: "column: ZUPDATETIME1\n    max_age"),
            to: "retention.yaml")
        let report = try job.report(asOf)
        #expect(report.exitCode == 0 && report.rules[0].deleted == 40)
    }

    @Test func pendingRowsBecomeObjects() throws {
        let job = try job(
            top: "pending: [{ files: \"new/*.csv\", entity: YahooGoldPricePoint }]",
            objects: GoldObjects(.none))
        try job.folder.write(
            """
            updateTime,price,symbol
            2024-12-31T22:00:00Z,2600.5,XAUUSD
            2024-12-31T23:59:30Z,2601.5,XAUUSD
            2024-12-31T23:59:40Z,,XAUUSD

            """, to: "new/a.csv")
        let predicted = try job.report(["--dry-run"] + asOf)
        #expect(predicted.exitCode == 65 && predicted.pending.saved == 2 && predicted.pending.rejected == 1)
        #expect(predicted.rules[0].expired == 71)
        let done = try job.report(asOf)
        #expect(done.pending.saved == 2 && done.rules[0].deleted == 71)
        #expect(
            try job.rows("SELECT Z_PK, Z_ENT, Z_OPT, ZPRICE FROM ZYAHOOGOLDPRICEPOINT WHERE Z_PK > 100")
                == ["102|1|1|2601.5"])
        #expect(try job.rows("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'YahooGoldPricePoint'") == ["102"])
        #expect(try job.text("new/a.csv.rejected").contains("price must have a value"))
    }

    /// Objects that belong to a symbol become candles of it; those to which others belong do not.
    @Test func objectsBecomeCandles() throws {
        let rollup = "rollup: { into: candle, every: 1h, per: [symbol], price: price, volume: volume }"
        let job = try job(rollup, objects: GoldObjects(.symbol, rows: 3000, until: 1_767_398_400))
        let asOf = ["--as-of", "2026-01-02T00:30:00Z"]
        let run = try job.report(asOf)
        // From 2025-12-31T22:00Z to 2026-01-02T00:00Z.
        #expect(run.exitCode == 0 && run.rules[0].cutoff == "2026-01-02T00:00:00Z", "\(run)")
        #expect(run.rules[0].deleted == 1560 && run.rules[0].candlesCreated == 26, "\(run)")
        #expect(try job.report(asOf).rules[0].deleted == 0)
        let detail = try self.job(rollup, objects: GoldObjects(.detail)).retention("check")
        #expect(detail.status == 78, "\(detail)")
        #expect(detail.words.contains("rows of PriceDetail refer to rows of YahooGoldPricePoint"), "\(detail)")
    }

    @Test func inspectShowsTheModel() throws {
        let end = try job().retention("inspect", "prices.sqlite")
        #expect(end.status == 0)
        for text in ["YahooGoldPricePoint", "updateTime", "apple_seconds", "Symbol", "points", "cascade", "nullify"] {
            #expect(end.output.contains(text), "\(text)")
        }
    }
}
