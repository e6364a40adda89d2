import ArgumentParser
import PriceStore
import RetentionJob
import RetentionPolicy

/// `retention explain`: says what a refusal or an exit code means, and the way past it.
struct ExplainCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Says what a refusal or an exit code means, and what to do.",
        discussion: """
            Opens nothing. The texts are those of docs/guards.md and docs/output.md.

            EXAMPLES
              retention explain policy_widened
              retention explain 75
            """)

    @Argument(help: "The code of a refusal, or an exit code.", completion: .list(Self.rows.flatMap(\.codes)))
    var code: String

    func run(_ console: Console) throws -> Int32 {
        let code = try OptionValue.word(
            RefusalCode(recorded: code.lowercased())?.rawValue ?? code, option: "the code",
            of: Self.rows.flatMap(\.codes))
        let cells = Self.rows.first { $0.codes.contains(code) }?.cells ?? []
        // The table of refusals has a cell more, which says who may accept it.
        let way = cells.count < 3 ? [] : ["Accept: " + cells[1] + (cells[1] == "no" ? "" : ", with --accept \(code)")]
        try console.report(
            lines: ["\(code): \(cells.first ?? "")", "What to do: \(cells.last ?? "")"] + way, indent: 2)
        return 0
    }

    /// The rows as plain text: the codes, and the other cells.
    private static let rows = table.split(separator: "\n").map { row in
        let cells = row.split(separator: "|").map { cell in
            cell.replacing(#/\[([^\]]+)\]\([^)]*\)/#) { $0.1 }.replacing("`", with: "").split(separator: " ")
                .joined(separator: " ")
        }
        return (codes: cells[0].split(separator: ", ").map(String.init), cells: Array(cells.dropFirst()))
    }

    /// The tables of docs/guards.md and docs/output.md; a test compares them.
    static let table = """
        | `unsupported_schema` | it names a view or a virtual table, or a delete from the table is not safe, for the reason in the message; see [limits](limits.md) | no | do what the message says, or set `enabled: false` |
        | `hold_unusable` | a [hold](configuration.md#holds) that may keep rows of the rule names an unknown entity or attribute, has dates for an entity without a rule, or names a reference that deletes clear in rows that the rule deletes; or a trigger that the rule fires may delete or change held rows | no | Is a name misspelt? Correct the hold, or remove it or the trigger |
        | `wrong_unit` | the newest value, the newest valid value, a sample, or the rows that would be deleted are not plausible in `date_format`, but are in another format | yes | Does `date_format` match the values? The message shows an example |
        | `clock_moved_back` | the clock is more than 60 s earlier than the end of the last recorded run | yes | Is the clock right? `timedatectl` |
        | `clock_jumped` | the clock is later than the last run by more than 7 days and by more than 3 times the longest gap between runs, and no row is newer than that run | yes | Is the clock right? `timedatectl` |
        | `mixed_formats` | more than 1 % of the values cannot be read in `date_format` | yes | fix the values or `date_format` |
        | `future_dates` | the newest readable row is more than a day later than the clock | yes | Which row is it, and who wrote it? Milliseconds that are read as seconds look like this too |
        | `feed_stopped` | rows would expire, and no row of the rule has arrived that is newer than those of earlier runs, for longer than [`limits.max_silence`](#a-feed-that-has-stopped-feed_stopped) | yes | Do new rows still arrive? If the feed has ended, write `accept: [feed_stopped]` in the rule; if it has long pauses, a longer `limits: { max_silence: 14d }` |
        | `restored_rows` | an [undo](undo.md#afterwards-restored-rows-stay) has restored rows that the rule would delete again | by hand | Who has undone a run, and why? Change the rule so that it keeps the rows |
        | `policy_widened` | the rule deletes more than it did in the last run, because the [policy was changed](#a-wider-policy-policy_widened) | by hand | Who changed the policy, and was the change meant to delete these rows? Otherwise correct it |
        | `rows_came_back` | more than `limits.max_late_rows` expired rows are older than the cutoff of an earlier run that left no expired row; see [rows that came back](#rows-that-came-back-rows_came_back) | by hand | Was a backup restored, or data imported? To keep the rows write a hold |
        | `relationship_denied` | remaining rows refer to rows that would be deleted, and their foreign key, the model or the rule forbids it; or the reference does not accept NULL | only with `relationships: deny` in the rule, and if the schema allows the delete | Which rows refer? Set `relationships: nullify` or `cascade` (not in a Core Data store), or delete those rows first |
        | `history_tracking` | a Core Data store tracks history in a form that this version cannot continue: programs that follow it would not see the deletes | no | set `enabled: false` |
        | `history_mirrored` | the rule deletes [Core Data's own history](core-data.md#the-history-itself) from a store that is mirrored to CloudKit, and the mirror may not have read it yet | yes | Have all devices been online lately? Choose an age longer than any pause |
        | `aggregate_incomplete` | a [continuous aggregate](postgresql.md#continuous-aggregates) does not have all of the rows yet, or its next refresh would erase them | yes | run the statement in the message |
        | `not_archivable` | the policy has an `archive`, and the rows of the rule [cannot be copied to it](limits.md#rows-that-cannot-be-archived) | no | Is an archive needed for this rule? If not: `archive: none` |
        | `would_empty_entity` | every readable row of the entity would be deleted, by the rule or by all rules together | yes | Do new rows still arrive? If the entity may become empty, set `allow_empty: true` |
        | `too_many_rows` | more rows than `limits.max_rows` | yes | What changed since yesterday: the rule, the clock, or the data? Otherwise raise the limit |
        | `too_large_fraction` | more than `limits.max_fraction` of the readable rows that match `where`: by the rule, with its cascades within the entity, or by all rules together | yes | What changed since yesterday: the rule, the clock, or the data? Otherwise raise the limit |
        | `kept_rows_deleted` | with its rows, a cascade would delete rows that a rule with `thin` or `keep_last` keeps, or a trigger may delete such rows; or references by which these rows are grouped would be cleared | yes | The message names the rule that keeps them. Delete the rows later, or without the cascade (`relationships: nullify`) |
        | `plan_drifted` | the rows that the rule would delete are not those of the [plan](#plan-now-run-later) | no | What changed the rows? Make a new plan |
        | 0 | every rule completed; deleting nothing is success | nothing |
        | 64 | wrong usage of the command line, an unknown rule name or code, `--as-of` later than the clock | read `retention help run` |
        | 65 | a rule was refused, or failed by a trigger, a constraint or a changed schema of the store; a pending line or file was not imported; a plan cannot be saved or used; an undo was refused or did not restore everything; `log --missed`: a run is missing; `init`: no dates. Everything else was done | read the reason; see [refusals](guards.md#refusals), [pending files](operations.md#pending-files), [plans](guards.md#plan-now-run-later), [undo](undo.md#what-is-checked-first) |
        | 66 | the policy file, the store or the database was not found; `log`: no such run, or no ledger is kept; `undo`: no such run, or its archive is gone | check the paths, and whether the file system is mounted |
        | 69 | the server cannot be reached | try again; check the server |
        | 70 | a defect in the program | report it, with the command and the policy |
        | 73 | the ledger, the log, the lock file, the metrics file, the review page or the plan cannot be created; the folder or the schema of the archives does not exist | check the folder, its owner and mode |
        | 74 | input/output error, disk full, damaged store, not a database, a folder, a store with a second hard link or one that is mounted by itself, here or elsewhere; the store was replaced during the run; the limit on open files (`ulimit -n`) or on file size (`ulimit -f`) is too small; the report could not be written; there is no space for the archive; `log --verify`: a record was changed, or the chain is missing; the ledger is a file of another program, or contains other objects | read the message. Mount the folder, not the file, and remove a second hard link. Otherwise stop the writers, check the disk, run `PRAGMA integrity_check`, restore |
        | 75 | try again later: another run holds the lock, the store stayed locked, or the time budget ended with rows remaining | usually nothing: the next run continues; if it happens every night, see docs/operations.md: ["It does not keep up"](operations.md#it-does-not-keep-up) |
        | 77 | no permission; the folder of the archives belongs to someone else, or others can write it; or run as root with a policy, a pending folder, a folder of archives, a program of `on_failure` or `on_success`, or a `password_file` that another user can change: it, a folder above it or a link to it belongs to another user or is writable by group or others (`--allow-insecure` skips this check) | correct the owner and the mode; see [permissions](operations.md#permissions) |
        | 78 | the policy is wrong: in itself, for this store, or because of an output file; or `--rule` names a table or an age that a rule does not have now; nothing was deleted | `retention check` shows every mistake |
        | 130, 143 | SIGINT, SIGTERM: stopped after the current batch; on a server the current batch is rolled back. A second signal stops at once | nothing: deleted rows stay deleted, and the next run continues |
        """
}
