import PriceStore
import Testing

@testable import PostgresStore

struct AddressTests {
    @Test func aURLIsShownWithoutItsPassword() {
        for (url, shown) in [
            ("postgresql://job:secret@db.example:5433/prices", "postgresql://job@db.example:5433/prices"),
            ("postgres://job:p%40ss:word@/prices?host=/run", "postgres://job@/prices?host=/run"),
            ("postgresql:///prices?password=secret&host=/run", "postgresql:///prices?host=/run"),
            ("postgresql:///prices?Password=secret", "postgresql:///prices"),
            (
                "postgresql://host/prices?sslpassword=x&sslmode=verify-full",
                "postgresql://host/prices?sslmode=verify-full"
            ),
            ("postgresql:///prices", "postgresql:///prices"),
        ] {
            #expect(PostgresAddress(url: url).displayName == shown)
        }
    }

    @Test func whatLibpqQuotesIsToldWithoutThePassword() {
        for url in [
            "postgresql://job:s3cret@[::1/prices", "postgresql://job:s3cret@db:port/prices",
            "postgresql://job:s3@cret@/prices", "postgresql://job:s3cret%zz@/prices",
            "postgresql:///prices?password=s3cret%zz", "postgresql:///prices?sslpassword=s3cret&odd=1",
            "postgresql://job:s3cret@nowhere.invalid/prices",
        ] {
            do {
                _ = try PostgresReader(PostgresAddress(url: url))
                Issue.record("\(url) was opened")
            } catch {
                #expect(!error.description.contains("cret"), "\(error)")
            }
        }
    }

    @Test func listsSurviveTheirTextForm() {
        let values: [String?] = ["a", "", nil, "NULL", "a,b", "{x}", "\"q\"", "back\\slash", "ü 📈", " "]
        #expect(ServerArray.elements(ServerArray.text(values)) == values)
        #expect(ServerArray.elements("{}") == [])
    }

    @Test func theLargestAndSmallestInstantsAreToldInTheServersRange() {
        #expect(at("2026-11-21T01:02:03.000004Z").serverText == "2026-11-21 01:02:03.000004")
        #expect(Instant.distantPast.serverText == "4714-11-24 00:00:00 BC")
        #expect(Instant.distantFuture.serverText.hasPrefix("294247-"))
        #expect(Instant(microseconds: -62_135_596_800_000_001).serverText == "0001-12-31 23:59:59.999999 BC")
    }

    /// The guards must know a database again, however its URL is written.
    @Test(arguments: [
        ("postgresql://job:secret@127.0.0.1:5432/prices?sslmode=require", "postgresql://localhost/prices"),
        ("postgres://LOCALHOST/prices?application_name=x", "postgresql://localhost/prices"),
        ("postgresql://[::1]:6000/prices", "postgresql://localhost:6000/prices"),
        ("postgresql://job@db.example/", "postgresql://db.example/job"),
        ("postgresql:///prices?host=%2Frun%2Fpg&port=6000", "postgresql:///run/pg:6000/prices"),
        ("postgresql://a:1,b/prices?target_session_attrs=read-write", "postgresql://a:1,b/prices"),
    ])
    func aDatabaseHasOneName(url: String, name: String) {
        #expect(PostgresAddress(url: url).databaseName == name)
    }
}
