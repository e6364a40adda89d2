import Testing

@testable import PriceStore

struct SecretsTests {
    @Test(arguments: [
        ("store: postgresql://u:s3cret@h/db", "store: postgresql://u:***@h/db"),
        ("'postgres://u:s3c%40ret@h:5432/db?sslmode=require'", "'postgres://u:***@h:5432/db?sslmode=require'"),
        ("postgresql://u:s3@cret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:s3?cret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:s3/cret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:s3cret", "postgresql://u:***"), ("postgresql://u:s3cret/db", "postgresql://u:***"),
        ("postgresql://:s3cret@h", "postgresql://:***@h"),
        ("[curl, https://u:s3cret@x, https://v:t0ken@y/z]", "[curl, https://u:***@x, https://v:***@y/z]"),
        ("url: \"postgresql://h/d?password=s3cret&a=b\", x", "url: \"postgresql://h/d?password=***&a=b\", x"),
        ("postgresql://h/d?a=b&sslpassword=s3cret", "postgresql://h/d?a=b&sslpassword=***"),
        ("host=h password=s3cret dbname=x", "host=h password=*** dbname=x"),
        ("host=h PASSWORD = 's3 cret'", "host=h PASSWORD = '***'"),
        ("host=h password=“s3 cret”", "host=h password=“***”"),
        ("store: “postgresql://u:s3cret@h”", "store: “postgresql://u:***@h”"),
        ("store: postgresql//u:s3cret@h/db", "store: postgresql//u:***@h/db"),
        ("postgres:/u:s3cret@h", "postgres:/u:***@h"), ("postgresql:u:s3cret@h:5432", "postgresql:u:***@h:5432"),
        ("PGPASSWORD=s3cret psql", "PGPASSWORD=*** psql"),
    ])
    func passwordsAreHidden(text: String, shown: String) {
        #expect(Secrets.hidden(in: text) == shown)
        #expect(Secrets.areIn(text))
    }

    /// What has no password in it is shown as it is.
    @Test(arguments: [
        "", "store: prices.sqlite", "postgresql://h:5432/db", "postgresql://u@h:5432,i:5433/db",
        "postgresql://[::1]:5432/d",
        "postgresql://u@[fe80::1]/d?application_name=a@b", "password_file: /run/secrets/db",
        "where: { password: x }", "postgres: [a:b, root@example.org]", "postgres//h:5432/db", "postgres@h:5432",
        "see https://x.example/a:b@c",
        "give the password in `password_file`, in PGPASSWORD or in ~/.pgpass", "a: b # 12:30 root@example.org",
        "[curl, http://h:8080/x, root@example.org]", "FATAL: password authentication failed for user \"u\"",
        "unknown key 'password'; did you mean 'password_file'?", "C:\\x41", "a://", "://", "password=", "::::", "\\x",
    ])
    func otherTextIsAsItWas(text: String) {
        #expect(Secrets.hidden(in: text) == text)
        #expect(Secrets.removed(fromURL: text) == text && !Secrets.areIn(text))
    }

    @Test func aStoreIsNamedByItsURLWithoutThePassword() {
        #expect(Secrets.removed(fromURL: "postgresql://u:a@h/d?x=1&password=c&y=2") == "postgresql://u@h/d?x=1&y=2")
        #expect(Secrets.removed(fromURL: "postgresql://u:a/b@h/d") == "postgresql://u@h/d")
        #expect(Secrets.removed(fromURL: "postgresql:///d?password=x") == "postgresql:///d")
    }

    @Test func errorsOfStoresHideThem() {
        let error = StoreError(
            .missing, store: "postgresql://u:s3cret@h", message: "password=s3cret", hint: "look at ftp://u:s3cret@h")
        #expect(error.description == "postgresql://u:***@h: password=***; look at ftp://u:***@h")
    }
}
