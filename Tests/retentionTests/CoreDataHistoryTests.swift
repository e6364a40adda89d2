import CoreDataSamples
import Foundation
import Testing

/// Rules for the history that Core Data keeps in a store, as a person runs them.
struct CoreDataHistoryTests {
    /// 60 transactions, the oldest 60 days before 2025-01-01 and the newest a day before, each with three changes, besides those of the
    /// objects. The string 11 is in all of them, 12 in the oldest five, 13 in one of each ten.
    private func job(
        _ rules: String, top: String = "", hasHistory: Bool = true, sql: String = ""
    ) throws -> LaunchedJob {
        let job = try LaunchedJob(
            "SELECT 1", policy: "version: 1\nstore: prices.sqlite\n\(top)\nrules:\n  \(rules)\n")
        try FileManager.default.removeItem(atPath: job.path("prices.sqlite"))
        try GoldObjects(.detail, hasHistory: hasHistory).write(to: job.path("prices.sqlite"))
        guard hasHistory else { return job }
        try job.change(
            """
            DELETE FROM ACHANGE; DELETE FROM ATRANSACTION; DELETE FROM ATRANSACTIONSTRING;
            INSERT INTO ATRANSACTIONSTRING (Z_PK, Z_ENT, ZNAME)
            VALUES (11, 16003, 'app'), (12, 16003, 'first version'), (13, 16003, 'widget'), (14, 16003, 'retention');
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
            INSERT INTO ATRANSACTION (Z_PK, Z_ENT, ZAUTHORTS, ZBUNDLEIDTS, ZCONTEXTNAMETS, ZPROCESSIDTS, ZTIMESTAMP)
            SELECT i, 16002, iif(i = 2, 14, NULL), iif(i % 10 = 0, 13, NULL), iif(i <= 5, 12, NULL), 11,
                757382400.0 - (61 - i) * 86400 FROM n;
            INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID)
            SELECT t.Z_PK * 3 - c.value, 16001, 1, 1, 1, t.Z_PK FROM ATRANSACTION AS t, json_each('[0, 1, 2]') AS c;
            UPDATE Z_PRIMARYKEY SET Z_MAX = 200 WHERE Z_ENT >= 16000;
            \(sql)
            """)
        return job
    }

    private static let rule = "- { name: history, entity: persistent_history, max_age: 30d }"
    private let asOf = ["--as-of", "2025-01-01T00:00:00Z"]

    @Test func transactionsGoWithTheirChangesAndUnusedStrings() throws {
        let job = try job(Self.rule)
        let predicted = try job.report(["--dry-run"] + asOf).rules[0]
        let done = try job.report(asOf).rules[0]
        // 30 days: transactions 1 to 30. The one at the cutoff is kept. Of the strings only the first version's goes.
        #expect(predicted.expired == 30 && predicted.cascaded == 91)
        #expect(done.deleted == 30 && done.cascaded == 91 && done.expired == 30)
        #expect(try job.rows("SELECT min(Z_PK), count(*) FROM ATRANSACTION") == ["31|30"])
        #expect(try job.rows("SELECT min(ZTRANSACTIONID), count(*) FROM ACHANGE") == ["31|90"])
        #expect(try job.rows("SELECT ZNAME FROM ATRANSACTIONSTRING ORDER BY Z_PK") == ["app", "widget", "retention"])
        #expect(try job.rows("SELECT DISTINCT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT >= 16000") == ["200"])
        let again = try job.report(asOf)
        #expect(again.exitCode == 0 && again.rules[0].deleted == 0)
    }

    @Test func theNewestTransactionStays() throws {
        let job = try job("- { name: history, entity: persistent_history, max_age: 1h, batch: { rows: 7 } }")
        let predicted = try job.report(["--dry-run"] + asOf).rules[0]
        let done = try job.report(asOf).rules[0]
        #expect(predicted.expired == 59 && done.deleted == 59 && done.cascaded == predicted.cascaded)
        #expect(try job.rows("SELECT Z_PK FROM ATRANSACTION") == ["60"])
        #expect(try job.rows("SELECT count(*) FROM ACHANGE") == ["3"])
    }

    /// What the run itself adds is new.
    @Test(arguments: [true, false]) func rulesOnEntitiesAddToTheHistory(_ isFirst: Bool) throws {
        let gold = "- { name: gold, entity: YahooGoldPricePoint, date_attribute: updateTime, max_age: 30min }"
        let history = "- { name: history, entity: persistent_history, max_age: 1h }"
        let job = try job(isFirst ? "\(history)\n  \(gold)" : "\(gold)\n  \(history)")
        func counts(_ arguments: [String]) throws -> [Int?] {
            let report = try job.report(arguments + asOf)
            #expect(report.exitCode == 0)
            return report.rules.sorted { $0.name < $1.name }.flatMap { [$0.expired, $0.cascaded] }
        }
        let predicted = try counts(["--dry-run"])
        #expect(try counts([]) == predicted && predicted.first == 70)
        #expect(try job.number("SELECT count(*) FROM ATRANSACTION WHERE Z_PK < 60") == 0)
        #expect(try job.number("SELECT count(*) FROM ACHANGE WHERE ZCHANGETYPE = 2") == 140)
        #expect(
            try job.number(
                "SELECT count(*) FROM ACHANGE WHERE ZTRANSACTIONID NOT IN (SELECT Z_PK FROM ATRANSACTION)") == 0)
    }

    @Test func aMirrorToCloudKitIsRefusedUnlessAccepted() throws {
        let job = try job(Self.rule, sql: "CREATE TABLE ANSCKEVENT (Z_PK INTEGER PRIMARY KEY);")
        let refused = try job.report(asOf)
        #expect(refused.exitCode == 65 && refused.rules[0].refusal == "history_mirrored")
        #expect(refused.rules[0].message?.contains("ANSCKEVENT") == true)
        #expect(try job.report(asOf + ["--accept", "history_mirrored"]).rules[0].deleted == 30)
    }

    @Test func aWiderRuleHasTheRowsOfADryRun() throws {
        let job = try job(Self.rule, sql: "CREATE TABLE ANSCKEVENT (Z_PK INTEGER PRIMARY KEY);")
        #expect(try job.report(asOf).rules[0].refusal == "history_mirrored")
        try job.folder.write(
            try job.text("retention.yaml").replacing("30d }", with: "30d, accept: [history_mirrored] }"),
            to: "retention.yaml")
        for arguments in [["--dry-run"], []] {
            let rule = try job.report(arguments + asOf).rules[0]
            #expect(rule.refusal == "policy_widened" && rule.message?.contains("121 rows, dated") == true, "\(rule)")
        }
    }

    @Test(arguments: ["ALTER TABLE ACHANGE ADD COLUMN ZNEWS", "DROP TABLE ACHANGE", "DROP TABLE ATRANSACTIONSTRING"])
    func anUnknownFormIsRefused(_ change: String) throws {
        let job = try job(Self.rule, sql: "\(change);")
        for arguments in [["--dry-run"], []] {
            let report = try job.report(arguments + asOf)
            #expect(report.exitCode == 65 && report.rules[0].refusal == "unsupported_schema")
        }
        #expect(try job.number("SELECT count(*) FROM ATRANSACTION") == 60)
        #expect(try job.retention("inspect", "prices.sqlite").status == 0)
    }

    /// A clock that was behind, one that was ahead, and an order in which the newest by time is not the last.
    @Test(arguments: [
        "UPDATE ATRANSACTION SET ZTIMESTAMP = ZTIMESTAMP - 30 * 86400 WHERE Z_PK = 50",
        "UPDATE ATRANSACTION SET ZTIMESTAMP = ZTIMESTAMP + 40 * 86400 WHERE Z_PK = 5",
        "UPDATE ATRANSACTION SET ZTIMESTAMP = 757382400.0 - 86400 * iif(Z_PK = 20, 40, 41 + Z_PK)",
    ])
    func aHistoryOutOfOrderGetsNoGap(_ change: String) throws {
        let job = try job(Self.rule, sql: "\(change);")
        for arguments in [["--dry-run"], []] {
            let report = try job.report(arguments + asOf)
            #expect(report.exitCode == 65 && report.rules[0].refusal == "unsupported_schema", "\(report)")
            let message = report.rules[0].message ?? ""
            #expect(message.contains("a clock was wrong") && message.contains("it ends by itself when"))
            #expect(!message.contains("schema"))
        }
        #expect(try job.number("SELECT count(*) FROM ATRANSACTION") == 60)
        // By then all of them have expired, and the app has saved since.
        try job.change(
            "INSERT INTO ATRANSACTION (Z_PK, Z_ENT, ZPROCESSIDTS, ZTIMESTAMP) VALUES (61, 16002, 11, 757382400.0 + 50 * 86400)"
        )
        #expect(try job.report("--as-of", "2025-03-01T00:00:00Z").rules[0].deleted == 60)
        #expect(try job.rows("SELECT Z_PK FROM ATRANSACTION") == ["61"])
    }

    /// Such a transaction never expires.
    @Test(arguments: ["NULL", "'yesterday'"]) func aTransactionWithoutATimeIsNotWaitedFor(_ value: String) throws {
        let job = try job(Self.rule, sql: "UPDATE ATRANSACTION SET ZTIMESTAMP = \(value) WHERE Z_PK = 5;")
        for arguments in [["--dry-run"], []] {
            let message = try job.report(arguments + asOf).rules[0].message ?? ""
            #expect(message.contains("no time in ATRANSACTION.ZTIMESTAMP") && !message.contains("wait"), "\(message)")
        }
        try job.change("UPDATE ATRANSACTION SET ZTIMESTAMP = 757382400.0 - 56 * 86400 WHERE Z_PK = 5")
        #expect(try job.report(asOf).rules[0].deleted == 30)
    }

    @Test func aHoldKeepsItsTransactions() throws {
        let job = try job(
            Self.rule,
            top: "holds: [{ name: audit, entity: persistent_history, from: 2024-11-05, until: 2024-11-08, reason: x }]")
        let done = try job.report(asOf).rules[0]
        #expect(done.deleted == 27)
        #expect(try job.rows("SELECT count(*), min(Z_PK), max(Z_PK) FROM ATRANSACTION WHERE Z_PK < 31") == ["3|4|6"])
        #expect(try job.number("SELECT count(*) FROM ACHANGE") == 99)
    }

    @Test func aStoreWithoutAHistoryIsAMistake() throws {
        let core = try job(Self.rule, hasHistory: false)
        let plain = try LaunchedJob(
            "CREATE TABLE t (a)", policy: "version: 1\nstore: prices.sqlite\nrules:\n  \(Self.rule)\n")
        for job in [core, plain] {
            let end = try job.retention("check")
            #expect(
                end.status == 78 && end.words.contains("keeps no history of Core Data, for which 'persistent_history'"))
            try job.folder.write(
                try job.text("retention.yaml").replacing("30d }", with: "30d, missing: skip }"), to: "retention.yaml")
            #expect(try job.retention("run").status == 0)
        }
    }

    @Test func anArchiveIsRefused() throws {
        let job = try job(Self.rule, top: "archive: { folder: archive }")
        try job.makeFolder("archive")
        let report = try job.report(asOf)
        #expect(report.exitCode == 65 && report.rules[0].refusal == "not_archivable")
    }

    @Test func onlyCoreDataWritesTransactions() throws {
        let job = try job(Self.rule, top: "pending: [{ files: \"new/*.csv\", entity: persistent_history }]")
        try job.folder.write("timestamp\n2024-12-31T22:00:00Z\n", to: "new/a.csv")
        #expect(try job.report(asOf).exitCode != 0)
        #expect(try job.number("SELECT max(Z_PK) FROM ATRANSACTION") == 60)
    }

    @Test func inspectShowsWhatTheHistoryTakes() throws {
        let job = try job("- { name: history, entity: \"*\", date_attribute: timestamp, max_age: 1d, missing: skip }")
        let end = try job.retention("inspect", "prices.sqlite")
        for text in ["persistent_history", "60", "180 changes", "2024-11-02", "2024-12-31"] {
            #expect(end.words.contains(text), "\(text): \(end.words)")
        }
        let draft = try job.retention("init", "prices.sqlite", "--output", "draft.yaml")
        #expect(draft.status == 0)
        #expect(try job.text("draft.yaml").contains("persistent_history: Core Data's own history"))
        // No pattern matches it.
        #expect(try !job.retention("run", "--dry-run").output.contains("persistent_history"))
    }
}
