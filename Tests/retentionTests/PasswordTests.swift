import Foundation
import Testing

/// A password in a policy or on the command line is refused before anything of it is shown.
struct PasswordTests {
    private static let rest = "\nrules:\n  - { name: a, entity: b, date_attribute: c, max_age: 3d }\n"

    /// Each way of a text into the reader, with the place of the mistake; SecretsTests has the forms of passwords.
    static let policies = [
        ("store: postgresql://u:s3cret@h/db" + rest, "2:1"),
        ("store: { url: \"postgresql://u:s3cret@h/db\" }" + rest, "2:1"),
        ("store: >\n  postgresql://u:s3cret@h/db" + rest, "3:1"),
        ("store: \"postgresql://u\\x3As3cret@h/db\"" + rest, "2:8"),
        ("store: { url: postgresql://u@h/db, password: s3cret }" + rest, "2:36"),
        ("store: prices.sqlite\nPGPASSWORD: s3cret" + rest, "3:1"),
        ("store: u:s3cret@h/db" + rest, "2:1"), ("store: postgresql://h/db?pass%77ord=s3cret" + rest, "2:1"),
        ("store: { url: postgresql://h/db?passwort=s3cret }" + rest, "2:1"),
        // Another mistake in the line would show it.
        ("store: { url: \"postgresql://u\\x3As3cret@h/db\", bogus: 1 }" + rest, "2:15"),
        ("store: prices.sqlite\nlog: { file: ftp://u:s3cret@h/log }" + rest, "3:1"),
        ("store: prices.sqlite\non_failure: curl https://u:s3cret@h/" + rest, "3:1"),
        // Also where the file is no YAML.
        ("store: \"postgresql://u:s3cret@h/db\nrules: x", "2:1"),
    ]

    @Test(arguments: policies)
    func aPolicyWithOneIsRefusedAndNotShown(policy: String, place: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("version: 1\n" + policy, to: "retention.yaml")
        for arguments in [["check", "--offline"], ["run"], ["log"], ["report", "--html", "p.html"]] {
            let end = try LaunchedProgram.perform(arguments, in: folder.url)
            #expect(end.status == 78 && !(end.output + end.errors).contains("s3cret"), "\(end)")
            let said = "retention.yaml:\(place): error: a password must not be in a policy; name a file"
            #expect((end.output + end.errors).contains(said), "\(end)")
        }
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.url.path) == ["retention.yaml"])
    }

    @Test(arguments: [
        ["inspect", "postgresql://u:s3cret@h/db"], ["init", "host=h password=s3cret"],
        ["inspect", "mysql://u:s3cret@h/db"], ["postgresql://u:s3cret@h/db"], ["run", "--rule", "x://u:s3cret@h/db"],
        ["run", "-c", "postgresql://u:s3cret@h/db"], ["run", "--store=postgresql://u:s3cret@h/db"],
        ["run", "--format", "postgresql://h/db?password=s3cret"], ["inspect", "u:s3cret@h/db"],
        ["inspect", "postgresql://h/db?sslmod=s3cret"],
    ])
    func noArgumentIsEchoedWithIt(arguments: [String]) throws {
        let job = try LaunchedJob(Sample.price, policy: Sample.policy(Sample.rule()))
        let end = try job.perform(arguments)
        #expect(end.status == 64 && !(end.output + end.errors).contains("s3cret"), "\(end)")
        #expect(end.errors.contains("PGPASSFILE"), "\(end)")
    }

    /// A column may have that name.
    @Test func anAttributeMayBeCalledSo() throws {
        let job = try LaunchedJob(
            "CREATE TABLE Price(id INTEGER PRIMARY KEY, at INTEGER, password TEXT);",
            policy: Sample.policy(Sample.rule("where: { password: x }")))
        #expect(try job.retention("check").status == 0)
    }
}
