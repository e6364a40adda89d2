import Foundation
import TestSupport
import Testing

/// However a password gets into a policy or onto the command line, no output of the program contains it.
struct PasswordTests {
    private static let secret = "s3cr3t-pass"

    /// Stores with a password in them, as lines of a policy.
    static let stores = [
        "store: postgresql://u:s3cr3t-pass@h/db", "store: 'postgres://u:s3cr3t-pass@h/db'",
        "store: \"postgresql://u:s3cr3t-pass@h:5432/db\"", "store: { url: postgresql://u:s3cr3t-pass@h/db }",
        "store:\n  url: postgresql://h/db?password=s3cr3t-pass&sslmode=require",
        "store: postgresql://h/db?sslpassword=s3cr3t-pass", "store: postgresql://h/db?p%61ssword=s3cr3t-pass",
        "store: &s postgresql://u:s3cr3t-pass@h/db\nledger: *s", "store: !!str postgresql://u:s3cr3t-pass@h/db",
        "store: >\n  postgresql://u:s3cr3t-pass@h/db", "store: |\n  postgresql://u:s3cr3t-pass@h/db",
        "store: \"postgresql://u:s3cr3t-\\\n  pass@h/db\"", "store:\n  postgresql://u:s3cr3t-pass\n  @h/db",
        "store: \"postgresql:\\/\\/u:s3cr3t-pass@h/db\"", "store: \"postgresql://u\\x3As3cr3t-pass@h/db\"",
        "store: \"postgresql://u:s3cr3t-pass@h/db", "store: 'postgresql://u:s3cr3t-pass@h/db",
        "store: host=h password=s3cr3t-pass", "store: \"dbname=x user=u password='s3cr3t-pass'\"",
        "store: { url: postgresql://u@h/db, password: s3cr3t-pass }", "store: postgresql://u:s3cr3t-pass/db",
        "store: https://u:s3cr3t-pass@h/db", "stroe: postgresql://u:s3cr3t-pass@h/db",
        "store: [postgresql://u:s3cr3t-pass@h/db]", "postgresql://u:s3cr3t-pass@h/db: x",
        "store: prices.sqlite\npending:\n  - { files: postgresql://u:s3cr3t-pass@h/db, entity: x }",
        "store: prices.sqlite\non_failure: curl https://u:s3cr3t-pass@h/ --token s3cr3t-pass",
        "store: prices.sqlite\non_failure: { curl: https://u:s3cr3t-pass@h/ }",
        "store: prices.sqlite\nlog: { file: ftp://u:s3cr3t-pass@h/log }",
    ]

    /// Without and with mistakes around it: in the same line, in the line after, anywhere.
    static let rests = [
        "\nrules:\n  - { name: a, entity: b, date_attribute: c, max_age: 3d }\n", " extra: x\nrules: []\n",
        "\n   rules: x\n",
        "\nrules:\n  - { name: a, entity: b, date_attribute: c, max_age: \"3d }\n",
    ]

    @Test(arguments: stores, Trials.cases(rests))
    func noMessageShowsIt(store: String, rest: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("version: 1\n" + store + rest, to: "retention.yaml")
        for arguments in [
            ["check", "--offline"], ["run"], ["run", "--dry-run"], ["log"], ["report", "--html", "p.html"],
        ] {
            let end = try LaunchedProgram.perform(arguments, in: folder.url)
            let said = end.output + end.errors
            #expect(!said.contains(Self.secret) && !said.contains("s3cr3t"), "\(said)")
            #expect(end.status != 70, "\(end)")
        }
        for file in try FileManager.default.subpathsOfDirectory(atPath: folder.url.path) where file != "retention.yaml"
        {
            let bytes = try Data(contentsOf: folder.url.appending(path: file))
            #expect(bytes.range(of: Data(Self.secret.utf8)) == nil, "\(file)")
        }
    }

    @Test(arguments: [
        ["inspect", "postgresql://u:s3cr3t-pass@h/db"], ["init", "postgresql://u:s3cr3t-pass@h/db"],
        ["inspect", "mysql://u:s3cr3t-pass@h/db"], ["init", "host=h password=s3cr3t-pass"],
        ["inspect", "a.sqlite", "postgresql://u:s3cr3t-pass@h/db"], ["postgresql://u:s3cr3t-pass@h/db"],
        ["run", "--rule", "postgresql://u:s3cr3t-pass@h/db"], ["run", "postgresql://u:s3cr3t-pass@h/db"],
        ["run", "-c", "postgresql://u:s3cr3t-pass@h/db"], ["run", "--store=postgresql://u:s3cr3t-pass@h/db"],
        ["log", "--outcome", "postgresql://u:s3cr3t-pass@h/db"], ["report", "--html", "ftp://u:s3cr3t-pass@h/d"],
        ["run", "--format", "postgresql://h/db?password=s3cr3t-pass"],
    ])
    func noArgumentIsEchoedWithIt(arguments: [String]) throws {
        let job = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule()))
        let end = try job.perform(arguments)
        #expect(end.status != 0 && !(end.output + end.errors).contains("s3cr3t"), "\(end)")
    }

    @Test func aCommandThatFailsIsNamedWithoutIt() throws {
        let job = try LaunchedJob(
            Sample.price, policy: Sample.policy(Sample.rule(), head: "on_success: [\"x://u:s3cr3t-pass@h/curl\"]"))
        let end = try job.retention("run", "--format", "json")
        #expect(end.output.contains("command of the policy failed") && !(end.output + end.errors).contains("s3cr3t"))
    }

    @Test func theCaretStandsBelowWhatIsMeant() throws {
        let job = try LaunchedJob(
            Sample.price, policy: "version: 1\nstore: { url: \"x://u:s3cr3t@h/db\", pathh: a }\nrules: 1\n")
        let lines = try job.retention("check").output.split(separator: "\n").map(String.init)
        let line = try #require(lines.firstIndex { $0.contains("x://u:***@h/db") })
        let caret = try #require(lines[line...].first { $0.hasSuffix("^~~~~") })
        #expect(lines[line].dropFirst(caret.count - 5).hasPrefix("pathh"), "\(lines)")
    }
}
