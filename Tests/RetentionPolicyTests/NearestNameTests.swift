import RetentionPolicy
import Testing

struct NearestNameTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var near: String?
        var testDescription: String { name }
    }

    static let names = ["max_age", "max_rows", "updateTime", "price", "at", "unix_milliseconds"]

    @Test(arguments: [
        Row(name: "max_agee", near: "max_age"),
        Row(name: "max-age", near: "max_age"),
        Row(name: "maxAge", near: "max_age"),
        Row(name: "MAX_AGE", near: "max_age"),
        Row(name: "mxa_age", near: "max_age"),
        Row(name: "updatetime", near: "updateTime"),
        Row(name: "update_time", near: "updateTime"),
        Row(name: "prise", near: "price"),
        Row(name: "unix_milis", near: "unix_milliseconds"),
        Row(name: "time", near: "updateTime"),
        Row(name: "max_", near: nil),
        Row(name: "unix_miliseconds", near: "unix_milliseconds"),
        Row(name: "ta", near: nil),
        Row(name: "xyz", near: nil),
        Row(name: "", near: nil),
        Row(name: String(repeating: "x", count: 100_000), near: nil),
    ])
    func finds(row: Row) {
        #expect(NearestName.match(row.name, in: Self.names) == row.near)
    }
}
