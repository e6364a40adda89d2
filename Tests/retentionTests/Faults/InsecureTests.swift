import Foundation
@preconcurrency import Glibc
import Testing

/// Who may write what the job reads, and who may read what it writes.
struct InsecureTests {
    private func job(_ sql: String = "") throws -> LaunchedJob {
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5, daysAgo: 100) + Sample.rows(3, daysAgo: 0) + sql,
            policy: Sample.policy(
                Sample.rule(), head: "log: { file: retention.log }\npending: [ { files: 'new/*.csv', entity: Price } ]")
        )
        try job.folder.write("symbol,at\nXAUUSD,\(Sample.date(1))\nXAUUSD,soon\n", to: "new/a.csv")
        chmod(job.path("new"), 0o755)
        return job
    }

    struct Insecure: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var path: String
        var mode: mode_t?
        var owner: uid_t?
    }

    @Test(
        .enabled(if: geteuid() == 0, "applies to root only"),
        arguments: [
            Insecure(testDescription: "a policy that its group may write", path: "retention.yaml", mode: 0o664),
            Insecure(testDescription: "a policy that all may write", path: "retention.yaml", mode: 0o646),
            Insecure(testDescription: "a policy of another user", path: "retention.yaml", owner: 65534),
            Insecure(testDescription: "a pending folder that its group may write", path: "new", mode: 0o775),
            Insecure(testDescription: "a pending folder that all may write", path: "new", mode: 0o1777),
            Insecure(testDescription: "a pending folder of another user", path: "new", owner: 65534),
            Insecure(testDescription: "a folder that its group may write", path: ".", mode: 0o775),
            Insecure(testDescription: "a folder of another user", path: ".", owner: 65534),
        ])
    func rootRefusesWhatOthersMayWrite(_ insecure: Insecure) throws {
        let job = try job()
        if let mode = insecure.mode { chmod(job.path(insecure.path), mode) }
        if let owner = insecure.owner { chown(job.path(insecure.path), owner, gid_t.max) }
        for arguments in [["run"], ["run", "--dry-run"], ["check"], ["log"], ["report", "--html", "-"]] {
            // The hint has the words that the process was started with.
            let end = try insecure.owner == nil ? job.perform(arguments) : job.launch(arguments)
            #expect(end.status == 77 && end.errors.contains("--allow-insecure"), "\(end)")
            let isShared = insecure.mode == 0o1777
            #expect(end.errors.contains("name a folder of its own below it") == isShared, "\(end)")
            #expect(end.errors.contains("chmod go-w") == (insecure.mode != nil && !isShared), "\(end)")
            if insecure.owner != nil {
                let command = arguments.joined(separator: " ")
                #expect(
                    end.errors.contains("sudo -u nobody ") && end.errors.contains("retention \(command);"), "\(end)")
            }
            #expect(try job.perform(arguments + ["--allow-insecure", "--help"]).status == 0)
        }
        #expect(try job.number("SELECT count(*) FROM Price") == 8)
        #expect(try job.listing().contains("new/a.csv"))
        #expect(try job.report("--allow-insecure").rules[0].deleted == 5)
    }

    /// A program that others may write is not run.
    @Test(.enabled(if: geteuid() == 0, "applies to root only"), arguments: ["archive", "bin/tell"])
    func whatRootRefusesIsRecordedAndTold(path: String) throws {
        let job = try job()
        try job.makeFolder("archive")
        try job.folder.write("cat >told\n", to: "bin/tell")
        try job.folder.write(
            Sample.policy(
                Sample.rule(),
                head: "archive: { folder: archive }\nmetrics: { textfile: a.prom }\non_failure: [sh, bin/tell]"),
            to: "retention.yaml")
        for path in ["bin", "bin/tell"] { chmod(job.path(path), 0o755) }
        #expect(try job.retention("run").status == 0)
        try job.change(Sample.rows(2, daysAgo: 99))
        chmod(job.path(path), 0o777)
        #expect(try job.launch(["run"]).status == 77)
        chmod(job.path(path), 0o755)
        #expect(try job.log().contains { $0.exitCode == 77 })
        #expect(try job.text("a.prom").contains("} 77\n"))
        #expect(try job.listing().contains("told") == (path == "archive"))
        #expect(try job.number("SELECT count(*) FROM Price") == 5)
    }

    /// A program is searched again when it is run: another one must not come first by then.
    @Test(.enabled(if: geteuid() == 0, "applies to root only"))
    func rootRefusesAFolderOfThePathThatOthersMayWrite() throws {
        let job = try job()
        try job.folder.write("#!/bin/sh\n", to: "bin/tell")
        try job.folder.write("", to: "open/other")
        try job.folder.write(Sample.policy(Sample.rule(), head: "on_success: [tell]"), to: "retention.yaml")
        for (path, mode) in [("retention.yaml", 0o644), ("bin", 0o755), ("bin/tell", 0o755), ("open", 0o777)]
            as [(String, mode_t)]
        {
            chmod(job.path(path), mode)
        }
        func launch(_ folders: String) throws -> LaunchedProgram.Ending {
            try LaunchedProgram.shell("PATH=\"\(folders):$PATH\"; exec retention check --offline", in: job.folder.url)
        }
        #expect(try launch("$PWD/bin:$PWD/open").status == 0)
        let end = try launch("$PWD/open:$PWD/bin")
        #expect(end.status == 77 && end.errors.contains("others may write the folder of the PATH"), "\(end)")
    }

    /// A program that root would run, or a file that it would read.
    struct Spoilt: CustomTestStringConvertible, Sendable {
        /// A line of the policy.
        var head = "on_failure: [bin/tell]"
        /// What `bin` has beside a script `tell`, as lines of a shell.
        var made = "true"
        /// What others could do, each on its own; without any the files are refused as they are.
        var spoilt: [String] = ["chmod 775 bin/tell", "chmod 757 bin/tell", "chown 65534 bin/tell", "chmod 777 bin"]
        var says: [String]
        /// What is said where the interpreter cannot be run.
        var missing: String?
        var testDescription: String { "\(head) \(made)" }

        init(_ head: String, says: String) { (self.head, self.says) = (head, [says]) }

        /// A script with this first line.
        init(script line: String, _ made: String, _ spoilt: [String], says: [String], missing: String? = nil) {
            self.made = "\(made); echo \"#!\(line)\" >bin/tell"
            (self.spoilt, self.says, self.missing) = (spoilt, says, missing)
        }
    }

    /// The interpreter of a script runs as root, too: one that others may write, and one that `env` finds.
    private static let interpreters = [
        "$PWD/bin/run", " $PWD/bin/run -x", "/usr/bin/env run", "/usr/bin/env -S A=b run -u", "$PWD/bin/second",
    ].map {
        Spoilt(
            script: $0, "cp /bin/true bin/run; echo \"#!$PWD/bin/run\" >bin/second", ["chmod 777 bin/run"],
            says: ["others may write the interpreter"],
            missing: $0.contains("env")
                ? "the interpreter run is in no folder of the PATH" : "is not an executable file")
    }

    /// What the first line names as an argument runs as root, too, whatever the interpreter is called.
    private static let arguments = [
        "$PWD/bin/link $PWD/bin/run", "$PWD/bin/link run", "$PWD/bin/second run", "$PWD/bin/copy $PWD/bin/run",
        "/bin/sh $PWD/bin/run", "/bin/sh bin/run",
    ].map {
        Spoilt(
            script: $0,
            "echo '#!/bin/sh' >bin/run; ln -s /usr/bin/env bin/link; ln -s link bin/second; cp /usr/bin/env bin/copy",
            ["chown 65534 bin/run"],
            says: ["bin/run belongs to user 65534", "bin/run by a file that root has written"])
    }

    static let spoilt =
        [
            Spoilt("on_failure: [bin/tell]", says: "the program"), Spoilt("on_success: [tell, x]", says: "the program"),
            Spoilt("on_success: [/bin/cat, ./bin/tell]", says: "the argument of the program"),
            Spoilt("store: { url: 'postgresql://h/db', password_file: bin/tell }", says: "the password file"),
        ] + interpreters + arguments + [
            Spoilt(
                script: "/usr/bin/env -u HOME sh", "true", [], says: ["does not show which program runs it"])
        ]

    @Test(.enabled(if: geteuid() == 0, "applies to root only"), arguments: spoilt)
    func rootRefusesProgramsAndFilesThatOthersMayWrite(_ test: Spoilt) throws {
        let job = try job()
        let isStore = test.head.hasPrefix("store")
        let policy = Sample.policy(Sample.rule(), head: isStore ? "" : test.head)
        try job.folder.write(
            isStore ? policy.replacing("store: prices.sqlite", with: test.head) : policy, to: "retention.yaml")
        func shell(_ lines: String) throws {
            let end = try LaunchedProgram.shell(lines, in: job.folder.url)
            try #require(end.status == 0, "\(end)")
        }
        func launch() throws -> LaunchedProgram.Ending {
            try LaunchedProgram.shell(
                "PATH=\"$PWD/bin:$PATH\"; exec retention check\(isStore ? " --offline" : "")", in: job.folder.url)
        }
        let restored = "chown -h 0 bin/*; chmod 755 bin; find bin -type f -exec chmod 755 {} +"
        try shell("mkdir bin; echo '#!/bin/sh' >bin/tell; \(test.made); \(restored)")
        #expect(try (launch().status == 0) == !test.spoilt.isEmpty)
        for spoilt in test.spoilt.isEmpty ? ["true"] : test.spoilt {
            try shell(spoilt)
            let end = try launch()
            #expect(end.status == 77, "\(end)")
            // Only for a file that the policy names this is known to be enough.
            #expect(end.errors.contains("chown") == (isStore && spoilt.hasPrefix("chown")), "\(end)")
            for word in test.says where spoilt != "chmod 777 bin" {
                #expect(end.errors.contains(word) && end.errors.contains("bin/"), "\(end)")
            }
            try shell(restored)
        }
        if let missing = test.missing {
            try shell("chmod 644 bin/run")
            let check = try launch()
            #expect(check.status == 0 && check.words.contains(missing), "\(check)")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "applies to root only"))
    func rootLooksAtAllThatIsOnTheWay() throws {
        let job = try job()
        let made = try LaunchedProgram.shell(
            """
            mkdir -p sticky/mine theirs open; cp retention.yaml sticky/mine; cp retention.yaml theirs; chmod 1777 sticky
            mkdir sticky/mine/new theirs/new; cp prices.sqlite sticky/mine; cp prices.sqlite theirs; chmod 777 open
            ln -s ../retention.yaml open/link.yaml; ln -s ../retention.yaml theirs/link.yaml; ln -s open/link.yaml twice.yaml
            ln -s retention.yaml mine.yaml; ln -s retention.yaml theirs.yaml; chown -h nobody theirs.yaml
            ln -s nowhere dangling.yaml; chown nobody theirs
            """, in: job.folder.url)
        try #require(made.status == 0, "\(made)")
        for path in ["retention.yaml", "sticky/mine/retention.yaml", "mine.yaml", "sticky/../mine.yaml"] {
            let end = try job.perform(["check", "-c", path])
            #expect(end.status == 0, "\(path): \(end)")
        }
        for path in [
            "theirs/retention.yaml", "open/link.yaml", "theirs/link.yaml", "twice.yaml", "theirs.yaml",
            "theirs/../retention.yaml",
        ] {
            let end = try job.perform(["check", "-c", path])
            #expect(end.status == 77, "\(path): \(end)")
        }
        #expect(try job.perform(["check", "-c", "dangling.yaml"]).status == 66)
    }

    @Test(arguments: ["DELETE", "WAL"])
    func whatIsMadeIsNotForOthersWhateverTheUmask(journal: String) throws {
        let job = try job("PRAGMA journal_mode = \(journal);")
        chmod(job.path("prices.sqlite"), 0o640)
        let before = Set(try job.listing())
        let end = try LaunchedProgram.shell("umask 0; exec retention run --allow-insecure", in: job.folder.url)
        #expect(end.status == 65, "\(end)")
        let made = Set(try job.listing()).subtracting(before)
        #expect(made.isSuperset(of: ["new/done", "new/a.csv.rejected", "retention.log", "retention.ledger.sqlite"]))
        for name in made where name != "new/done/a.csv" {
            var facts = stat()
            #expect(lstat(job.path(name), &facts) == 0 && facts.st_mode & 0o027 == 0, "\(name)")
        }
    }

    /// Texts that a careless program would execute, end a line with, or send to a terminal.
    static let hostile = [
        "'; DROP TABLE Price; --", "\" OR 1=1 --", "line\nend", "\u{1B}[2Jgone", "\u{202E}drawkcab", "%n%s",
        "$(touch x)",
        "nul\u{0}end", "\u{7}bell",
    ]

    @Test(arguments: hostile)
    func aHostileValueIsNeitherExecutedNorShown(_ value: String) throws {
        let quoted = HostileNameTests.yaml(value)
        let job = try LaunchedJob(
            Sample.price + Sample.rows(5, daysAgo: 100) + Sample.rows(3, daysAgo: 0)
                + "INSERT INTO Price(symbol, at) VALUES ('\(value.replacing("'", with: "''").replacing("\u{0}", with: "' || char(0) || '"))', 1600000000);",
            policy: Sample.policy(
                Sample.rule("where: { symbol: \(quoted) }, keep_last: { count: 1, per: [symbol] }"),
                Sample.rule("where: { symbol: [\(quoted)] }", name: "list"),
                head:
                    "log: { file: retention.log }\npending: [ { files: '*.csv', entity: Price, columns: { Wert: at } } ]"
            ))
        try job.folder.write("symbol,Wert\nXAUUSD,\(value.replacing("\n", with: " "))\n", to: "new.csv")
        let end = try job.retention("run", "--verbose")
        #expect(end.status == 65, "\(end)")
        if !value.contains("\u{0}") {
            #expect(try job.number("SELECT count(*) FROM Price WHERE at = 1600000000") == 0)
        }
        #expect(try job.number("SELECT count(*) FROM Price WHERE symbol = 'XAUUSD'") == 8)
        #expect(!FileManager.default.fileExists(atPath: job.path("x")))
        let log = (try? job.text("retention.log")) ?? ""
        for text in [end.output, end.errors, log, try job.retention("log").output] {
            #expect(!text.unicodeScalars.contains { $0 != "\n" && ($0.value < 0x20 || $0.value == 0x202E) }, "\(text)")
        }
    }
}
