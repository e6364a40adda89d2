import CoreDataSamples
import Foundation
@preconcurrency import Glibc
import TestSupport
import Testing

/// `retention init` on real stores: what it writes passes `check` once ages are given. The rest is in the cases `init-*`.
@Suite(.tags(.clock)) struct InitTests {
    /// Writes the draft as the policy, with an age for each rule, enabled, and checks it.
    private func check(_ draft: String, in folder: TemporaryFolder) throws -> LaunchedProgram.Ending {
        let policy = draft.replacing("max_age:   ", with: "max_age: 30d").replacing(
            "enabled: false", with: "enabled: true")
        try folder.write(policy, to: "retention.yaml")
        mkdir(folder.url.appending(path: "archive").path, 0o700)
        return try LaunchedProgram.perform(["check"], in: folder.url)
    }

    @Test func theDraftOfRealPricesPassesAndTellsWhichRowsWouldStay() throws {
        let job = try LaunchedJob.gold()
        let draft = try job.retention("init", "prices.sqlite").output
        #expect(draft.contains("  # Gold: 2,322 rows, ") && draft.contains("    date_format: iso8601\n"), "\(draft)")
        #expect(draft.contains("  # 1,656 rows whose date cannot be read would be kept.\n"), "\(draft)")
        let end = try check(draft, in: job.folder)
        #expect(end.status == 0, "\(draft)\n\(end)")
    }

    @Test(.needsRealData("coredata/plaso"), arguments: ["DataUsage.sqlite", "netusage.sqlite"])
    func theDraftOfARealCoreDataStorePasses(name: String) throws {
        let folder = try TemporaryFolder()
        let original = try #require(RealData.more("coredata/plaso/\(name)"))
        try Data(contentsOf: original).write(to: folder.url.appending(path: "prices.sqlite"))
        let made = try LaunchedProgram.perform(["init", "prices.sqlite"], in: folder.url)
        #expect(made.status == 0, "\(made)")
        let end = try check(made.output, in: folder)
        #expect(end.status == 0, "\(made.output)\n\(end)")
        // The model says the formats: none is written down.
        #expect(!made.output.contains("date_format:") && made.output.contains("The store declares the format"))
    }

    @Test func theDraftOfTheProjectsOwnStoresPasses() throws {
        for isCoreData in [false, true] {
            let folder = try TemporaryFolder()
            if isCoreData {
                try GoldObjects(rows: 200).write(to: folder.url.appending(path: "prices.sqlite").path)
            } else {
                #expect(
                    try LaunchedProgram.run("goldprices", ["prices.sqlite", "--rows", "200"], in: folder.url).status
                        == 0)
            }
            let made = try LaunchedProgram.perform(["init", "prices.sqlite"], in: folder.url)
            #expect(made.status == 0, "\(made)")
            let end = try check(made.output, in: folder)
            #expect(end.status == 0, "\(made.output)\n\(end)")
        }
    }
}
