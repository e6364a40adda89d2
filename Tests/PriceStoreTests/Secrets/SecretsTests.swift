import Testing

@testable import PriceStore

struct SecretsTests {
    @Test(arguments: [
        ("store: postgresql://u:s3cret@h/db", "store: postgresql://u:***@h/db"),
        ("'postgres://u:s3c%40ret@h:5432/db?sslmode=require'", "'postgres://u:***@h:5432/db?sslmode=require'"),
        ("postgresql://u:s3@cret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:s3?cret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:s3/cret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:12/s3cret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:s3@a/cret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:s3 cret@h/db", "postgresql://u:***@h/db"),
        ("'postgresql://u:s3'cret@h/db'", "'postgresql://u:***@h/db'"),
        ("postgresql://u:s3cret", "postgresql://u:***"), ("postgresql://u:s3cret/db", "postgresql://u:***"),
        ("postgresql://corp@u:s3cret@h", "postgresql://corp@u:***@h"),
        ("postgresql://:s3cret@h", "postgresql://:***@h"), ("postgres//u:s3cret@h/db", "postgres//u:***@h/db"),
        ("store: postgresql:/u:s3cret@h/db", "store: postgresql:***@h/db"), ("u:s3cret@h", "u:***@h"),
        ("postgresql:\\/\\/u:s3cret@h", "postgresql:\\/\\/u:***@h"),
        (#""postgresql://u\x3As3cret\u0040h""#, #""postgresql://u\x3A***\u0040h""#),
        ("[curl, https://u:s3cret@x, https://v:t0ken@y/z]", "[curl, https://u:***@x, https://v:***@y/z]"),
        ("url: \"postgresql://h/d?password=s3 cret&a=b\", x", "url: \"postgresql://h/d?password=***&a=b\", x"),
        ("postgresql://h/d?a=b&sslpassword=s3cret", "postgresql://h/d?a=b&sslpassword=***"),
        ("postgresql://h/d?p%61ssword=s3cret&a=b", "postgresql://h/d?p%61ssword=***&a=b"),
        ("host=h password=s3cret dbname=x", "host=h password=***"),
        ("host=h PASSWORD = 's3 cret'", "host=h PASSWORD = '***"), ("password: s3cret", "password: ***"),
        ("{ \"password\" : \"s3cret\" }", "{ \"password\" : \"***"), ("password:s3cret", "password:***"),
        ("[psql, --password, s3cret]", "[psql, --password, ***"), ("x --token s3cret", "x --token ***"),
        ("PGPASSWORD=s3cret psql", "PGPASSWORD=***"), ("client_secret=s3cret", "client_secret=***"),
        ("store: >\n  postgresql://u:s3\n  cret@h/db\nrules:", "store: >\n  postgresql://u:***\n  ***@h/db\nrules:"),
        ("store: postgresql://u:s3\n  cret@h/db\nx: y", "store: postgresql://u:***\n  ***@h/db\nx: y"),
        ("store: \"postgresql://u:s3\\\n cret@h\"", "store: \"postgresql://u:***\\\n ***@h\""),
        ("  url: postgresql://u:s3cret\n  model: a@b", "  url: postgresql://u:***\n  model: a@b"),
        ("password: |\n  s3cret\nx: y", "password: |\n  ***\nx: y".replacing("|\n  ***", with: "***\n  ***")),
        ("store: \"postgresql://u:s3cret@h/db\nrules: x", "store: \"postgresql://u:***@h/db\nrules: x"),
    ])
    func passwordsAreHidden(text: String, shown: String) {
        #expect(Secrets.hidden(in: text) == shown)
    }

    /// What has no password in it is shown as it is.
    @Test(arguments: [
        "", "store: prices.sqlite", "postgresql://h:5432/db", "postgresql://u@h:5432,i:5433/db",
        "postgresql://[::1]:5432/d",
        "postgresql://u@[fe80::1]/d?application_name=a@b", "password_file: /run/secrets/db",
        "see https://x.example/a:b@c",
        "give the password in `password_file`, in PGPASSWORD or in ~/.pgpass", "a: b # 12:30 root@example.org",
        "[curl, http://h:8080/x, root@example.org]", "FATAL: password authentication failed for user \"u\"",
        "unknown key 'password'; did you mean 'password_file'?", "C:\\x41", "a://", "://", "password=", "::::", "\\x",
    ])
    func otherTextIsAsItWas(text: String) {
        #expect(Secrets.hidden(in: text) == text)
        #expect(Secrets.removed(fromURL: text) == text)
    }

    @Test func linesKeepTheirColumns() {
        let lines = ["é: postgresql://u:ab@h", "", "password: x", "end"]
        let hidden = Secrets.hidden(inLines: lines)
        #expect(hidden == ["é: postgresql://u:\u{FFFF}\u{FFFF}@h", "", "password: \u{FFFF}", "end"])
        #expect(Secrets.hidden(inLines: ["a", "b"]) == ["a", "b"] && Secrets.hidden(inLines: []).isEmpty)
    }

    @Test func aStoreIsNamedByItsURLWithoutThePassword() {
        #expect(Secrets.removed(fromURL: "postgresql://u:a?b@h/d?x=1&password=c&y=2") == "postgresql://u@h/d?x=1&y=2")
        #expect(Secrets.removed(fromURL: "postgresql://u:a/b@h/d") == "postgresql://u@h/d")
        #expect(Secrets.removed(fromURL: "postgresql:///d?p%61ssword=x") == "postgresql:///d")
    }

    @Test func errorsOfStoresHideThem() {
        let error = StoreError(
            .missing, store: "postgresql://u:s3cret@h", message: "password=s3cret", hint: "look at ftp://u:s3cret@h")
        #expect(!error.description.contains("s3cret"))
    }

    /// Large and odd text must not take long or trap.
    @Test func anyTextIsRead() {
        var state: UInt64 = 42
        let pieces = [
            "://", "a", ":", "@", "\"", "'", "\n", "  ", "password", "=", "&", "?", "/", "\\", "x41", "#", "é", "\t",
            "--token",
        ]
        for _ in 0..<2000 {
            var text = ""
            for _ in 0..<30 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                text += pieces[Int(state >> 33) % pieces.count]
            }
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            let hidden = Secrets.hidden(inLines: lines)
            #expect(hidden.map(\.unicodeScalars.count) == lines.map(\.unicodeScalars.count), "\(text)")
        }
        for piece in [
            "a://", "'a://", "a://b:", "password=", "--token ", "\\x", "a://b:c@", "\n  a://u:", "\"a://u:\n",
        ] {
            _ = Secrets.hidden(in: String(repeating: piece, count: 100_000))
        }
    }
}
