import Foundation
@preconcurrency import Glibc
import Testing

/// A store that another file takes the place of while a run is at its work.
struct ReplacedStoreTests {
    private func job(_ journal: String) throws -> LaunchedJob {
        try LaunchedJob(
            "PRAGMA journal_mode = \(journal);" + Sample.price + Sample.slowDeletes(steps: 3000)
                + Sample.rows(1000, daysAgo: 100) + Sample.rows(5, daysAgo: 0),
            policy: Sample.policy(Sample.rule("batch: { rows: 10 }")))
    }

    @Test(arguments: ["DELETE", "WAL"], ["by a file of another name", "by a link that is turned", "by nothing"])
    func theRunStopsAndTheNewFileIsNotChanged(journal: String, how: String) throws {
        let job = try job(journal)
        try job.change(
            "PRAGMA journal_mode = \(journal);" + Sample.price + Sample.rows(50, daysAgo: 100)
                + Sample.rows(5, daysAgo: 0), in: "other.sqlite")
        let byLink = how == "by a link that is turned"
        if byLink {
            rename(job.path("prices.sqlite"), job.path("first.sqlite"))
            symlink("first.sqlite", job.path("prices.sqlite"))
        }
        let run = try RunningProgram(job, "run", "--format", "json")
        let notes = byLink ? "first.sqlite" : "prices.sqlite"
        #expect(job.hasBegunSlowDeletes(in: notes))
        if byLink {
            symlink("other.sqlite", job.path("turned"))
            rename(job.path("turned"), job.path("prices.sqlite"))
        } else {
            if how == "by nothing" {
                rename(job.path("prices.sqlite"), job.path("old.sqlite"))
            } else {
                // The path is never empty: a busy machine may hold this test between two steps.
                link(job.path("prices.sqlite"), job.path("old.sqlite"))
                rename(job.path("other.sqlite"), job.path("prices.sqlite"))
            }
        }
        #expect(run.isRunning)
        #expect(run.wait() == 74)
        let errors = try job.text("stderr.txt")
        let place =
            how == "by nothing" ? "its path no longer exists: No such" : "another file is at its path; nothing more"
        #expect(errors.contains("the file was replaced while it was open: \(place)"), "\(errors)")
        #expect(errors.contains(/; \d+0 rows are deleted and committed/), "\(errors)")
        if how != "by nothing" {
            #expect(try job.number("SELECT count(*) FROM Price", in: "prices.sqlite") == 55)
            for name in ["prices.sqlite-wal", "prices.sqlite-journal"] where !byLink { unlink(job.path(name)) }
            #expect(try job.rows("PRAGMA integrity_check", in: "prices.sqlite") == ["ok"])
        }
    }
}
