import Testing

/// A ledger whose numbers somebody has changed. Files that are no ledger of ours are in the cases `ledger-*`.
struct ForeignLedgerTests {
    @Test(arguments: [Int64.min, .max]) func foreignNumbersOverflowNothing(number: Int64) throws {
        let job = try LaunchedJob(
            Sample.price,
            policy: Sample.policy(Sample.rule(), Sample.rule(name: "two", age: "60d"), head: "ledger: l.db"))
        for _ in 0..<2 { #expect(try job.retention("run").status == 0) }
        for table in ["run", "run_rule"] {
            let sets = try job.rows(
                "SELECT name FROM pragma_table_info('\(table)') WHERE type = 'INTEGER' AND pk = 0", in: "l.db"
            )
            .map { "\"\($0)\" = \(number)" }.joined(separator: ", ")
            try job.change("UPDATE \(table) SET \(sets)", in: "l.db")
        }
        for command in [
            ["log"], ["log", "--format", "json"], ["log", "--run", "0"], ["report", "--html", "x.html"],
            ["run", "--dry-run"],
            ["run"],
        ] {
            let end = try job.perform(command)
            // Both runs have the identifier's beginning.
            #expect(
                end.status == (command.contains("--run") ? 64 : command == ["run"] && number == .max ? 74 : 0),
                "\(command) \(end.status) \(end.errors.prefix(300))"
            )
        }
        #expect(try job.retention("log", "--verify").status == 74)
    }
}
