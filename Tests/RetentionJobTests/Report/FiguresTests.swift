import PriceStore
import RetentionJob
import Testing

struct FiguresTests {
    struct Grouping { let number: Int; let text: String }

    @Test(arguments: [
        Grouping(number: 0, text: "0"), Grouping(number: 999, text: "999"), Grouping(number: 1000, text: "1,000"),
        Grouping(number: -123_456, text: "-123,456"), Grouping(number: .max, text: "9,223,372,036,854,775,807"),
        Grouping(number: .min, text: "-9,223,372,036,854,775,808"),
    ])
    func groupsDigitsByThousands(_ row: Grouping) {
        #expect(Figures.grouped(row.number) == row.text)
    }

    @Test func aShellReadsTheWordsOfACommand() {
        let words = ["a", "a b", "it's", "", "a\n'b\\", "\u{202E}"]
        #expect(SafeText.command(words) == #"a 'a b' 'it'\''s' '' $'a\x0a\'b\\' $'\xe2\x80\xae'"#)
    }

    struct Percent { let part: Int; let whole: Int; let text: String? }

    @Test(arguments: [
        Percent(part: 0, whole: 5, text: "0.0%"), Percent(part: 5, whole: 5, text: "100.0%"),
        Percent(part: 999_999, whole: 1_000_000, text: "99.9%"), Percent(part: 1, whole: 1_000_000, text: "<0.1%"),
        Percent(part: 1, whole: 0, text: nil),
    ])
    func onlyAllIsAHundredPercent(_ row: Percent) {
        #expect(Figures.percent(row.part, of: row.whole) == row.text)
    }

    struct Length { let duration: Duration; let seconds: String; let text: String }

    @Test(arguments: [
        Length(duration: .zero, seconds: "0", text: "0 ms"),
        Length(duration: .milliseconds(10), seconds: "0.01", text: "10 ms"),
        Length(duration: .microseconds(1), seconds: "0.000001", text: "0 ms"),
        Length(duration: .nanoseconds(1), seconds: "0", text: "0 ms"),
        Length(duration: .milliseconds(12_345), seconds: "12.345", text: "12.3 s"),
        Length(duration: .seconds(65), seconds: "65", text: "1 min 05 s"),
        Length(duration: .seconds(7440), seconds: "7440", text: "2 h 04 min"),
        Length(duration: .milliseconds(3 * 86_400_000 - 20), seconds: "259199.98", text: "3 d 00 h"),
        Length(duration: .seconds(86_400 + 5399), seconds: "91799", text: "1 d 01 h"),
        Length(duration: .seconds(86_400 + 5400), seconds: "91800", text: "1 d 02 h"),
        Length(duration: .milliseconds(-1500), seconds: "-1.5", text: "0 ms"),
    ])
    func formatsDurations(_ row: Length) {
        #expect(Figures.seconds(row.duration) == row.seconds)
        #expect(Figures.duration(row.duration) == row.text)
    }

    @Test func daysAreToTheNearestOne() {
        for days in [7, 8] as [Int64] { #expect(Figures.days(.milliseconds(days * 86_400_000 - 20)) == days) }
        #expect(Figures.days(.seconds(129_599)) == 1 && Figures.days(.seconds(Int64.max)) == 106_751_991)
    }

    @Test func showsSizesInBinaryUnits() {
        #expect(Figures.bytes(1023) == "1023 bytes")
        #expect(Figures.bytes(1024) == "1.0 KiB")
        #expect(Figures.bytes(12_900_000) == "12.3 MiB")
    }
}
