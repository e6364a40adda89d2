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
        ("url: \"postgresql://h/d?password=s3cret&user=b\", x", "url: \"postgresql://h/d?password=***&user=b\", x"),
        ("postgresql://h/d?user=b&sslpassword=s3cret", "postgresql://h/d?user=b&sslpassword=***"),
        ("host=h password=s3cret dbname=x", "host=h password=*** dbname=x"),
        ("host=h PASSWORD = 's3 cret'", "host=h PASSWORD = '***'"),
        ("host=h password=“s3 cret”", "host=h password=“***”"),
        ("store: “postgresql://u:s3cret@h”", "store: “postgresql://u:***@h”"),
        ("store: postgresql//u:s3cret@h/db", "store: postgresql//u:***@h/db"),
        ("postgres:/u:s3cret@h", "postgres:/u:***@h"), ("postgresql:u:s3cret@h:5432", "postgresql:u:***@h:5432"),
        ("PGPASSWORD=s3cret psql", "PGPASSWORD=*** psql"),
        // Other spellings, and parameters that may be one.
        ("postgresql://h/d?pass%77ord=s3cret", "postgresql://h/d?pass%77ord=***"),
        ("postgresql://h/d?PassWort=s3cret&sslmode=require", "postgresql://h/d?PassWort=***&sslmode=require"),
        ("POSTGRESQL://h/d?pwd=s3cret", "POSTGRESQL://h/d?pwd=***"),
        ("postgresql//h/d?x=s3cret", "postgresql//h/d?x=***"),
        ("postgresql://h/d?=s3cret", "postgresql://h/d?=***"),
        ("postgresql://u%3As3cret@h/d", "postgresql://u%3A***@h/d"),
        ("host=h passwort = s3cret", "host=h passwort = ***"), ("HOST=h PASSWD=s3cret", "HOST=h PASSWD=***"),
        ("store: u:s3cret@h/db", "store: u:***@h/db"), ("u:s3@cret@h.example:5432", "u:***@h.example:5432"),
        ("[psql, u:s3cret@h/db]", "[psql, u:***@h/db]"),
        // Tokens and keys.
        ("mysql://u@h/db?token=s3cret", "mysql://u@h/db?token=***"),
        ("https://h/x?a=1&api_key=s3cret&b=2", "https://h/x?a=1&api_key=***&b=2"),
        ("https://h/x?acc%65ss-Token=s3cret", "https://h/x?acc%65ss-Token=***"),
        ("file:x.sqlite?hexkey=s3cret", "file:x.sqlite?hexkey=***"),
        ("sqlserver://h;user=a;pwd=s3cret", "sqlserver://h;user=a;pwd=***"),
        ("host=h token=s3cret dbname=x", "host=h token=*** dbname=x"),
        ("service = x pwd=s3cret", "service = x pwd=***"),
        ("[env, SLACK_TOKEN=s3cret, notify]", "[env, SLACK_TOKEN=***, notify]"),
        ("AWS_SECRET_ACCESS_KEY='s3 cret' x", "AWS_SECRET_ACCESS_KEY='***' x"),
        ("[curl, -H, 'Authorization: Bearer s3cret', x]", "[curl, -H, 'Authorization: Bearer ***', x]"),
        ("-H \"authorization:s3cret\"", "-H \"authorization:***\""),
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
        "unknown key 'password'; did you mean 'password_file'?", "C:\\x41", "a://",
        "postgresql://h/d?sslmode=require&keepalives_idle=5&options=-c%20a=b", "[sh, -c, mailto:root@example.org]",
        "PWD=/x",
        "token=x", "why ticks api_key=5", "where: { token: x, key: y }", "postgresql://h/d?sslkey=/k&require_auth=md5",
        "KEY=VALUE", "https://example.org/?primary=1",
        "[podman, run, img:1@sha256:12ab34cd]", "git@example.org:a/b",
        "postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE", "https://example.org/?x=1",
        "docs/postgresql.md?x", "=", "@", ":@/",
        "://", "password=", "::::", "\\x",
    ])
    func otherTextIsAsItWas(text: String) {
        #expect(Secrets.hidden(in: text) == text)
        #expect(Secrets.removed(fromURL: text) == text && !Secrets.areIn(text))
    }

    @Test func aStoreIsNamedByItsURLWithoutThePassword() {
        #expect(
            Secrets.removed(fromURL: "postgresql://u:a@h/d?user=1&password=c&port=2")
                == "postgresql://u@h/d?user=1&port=2")
        #expect(Secrets.removed(fromURL: "postgresql://u:a/b@h/d") == "postgresql://u@h/d")
        #expect(Secrets.removed(fromURL: "postgresql:///d?password=x") == "postgresql:///d")
    }

    @Test func errorsOfStoresHideThem() {
        let error = StoreError(
            .missing, store: "postgresql://u:s3cret@h", message: "password=s3cret", hint: "look at ftp://u:s3cret@h")
        #expect(error.description == "postgresql://u:***@h: password=***; look at ftp://u:***@h")
    }
}
