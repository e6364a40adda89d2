import PriceStore
import RetentionJob
import Testing

struct FiguresTests {
    @Test(
        arguments: [
            (0, "0"), (999, "999"), (1000, "1,000"), (-123_456, "-123,456"), (.max, "9,223,372,036,854,775,807"),
            (.min, "-9,223,372,036,854,775,808"),
        ] as [(Int, String)])
    func groupsDigitsByThousands(number: Int, text: String) {
        #expect(Figures.grouped(number) == text)
    }

    @Test func aShellReadsTheWordsOfACommand() {
        let words = ["a", "a b", "it's", "", "a\n'b\\", "\u{202E}"]
        #expect(SafeText.command(words) == #"a 'a b' 'it'\''s' '' $'a\x0a\'b\\' $'\xe2\x80\xae'"#)
    }

    @Test(
        arguments: [
            (0, 5, "0.0%"), (5, 5, "100.0%"), (999_999, 1_000_000, "99.9%"), (1, 1_000_000, "<0.1%"), (1, 0, nil),
        ] as [(Int, Int, String?)])
    func onlyAllIsAHundredPercent(part: Int, whole: Int, text: String?) {
        #expect(Figures.percent(part, of: whole) == text)
    }

    @Test(
        arguments: [
            (.zero, "0", "0 ms"), (.milliseconds(10), "0.01", "10 ms"), (.microseconds(1), "0.000001", "0 ms"),
            (.nanoseconds(1), "0", "0 ms"), (.milliseconds(12_345), "12.345", "12.3 s"),
            (.seconds(65), "65", "1 min 05 s"), (.seconds(7440), "7440", "2 h 04 min"),
            (.milliseconds(3 * 86_400_000 - 20), "259199.98", "3 d 00 h"),
            (.seconds(86_400 + 5399), "91799", "1 d 01 h"), (.seconds(86_400 + 5400), "91800", "1 d 02 h"),
            (.milliseconds(-1500), "-1.5", "0 ms"),
        ] as [(Duration, String, String)])
    func formatsDurations(duration: Duration, seconds: String, text: String) {
        #expect(Figures.seconds(duration) == seconds)
        #expect(Figures.duration(duration) == text)
    }

    @Test func daysAreToTheNearestOne() {
        for days in [7, 8] as [Int64] { #expect(Figures.days(.milliseconds(days * 86_400_000 - 20)) == days) }
        #expect(Figures.days(.seconds(129_599)) == 1 && Figures.days(.seconds(Int64.max)) == 106_751_991)
    }

    @Test func showsSizesInBinaryUnits() {
        #expect(Figures.bytes(1023) == "1023 bytes")
        #expect(Figures.bytes(1024) == "1.0 KiB")
        #expect(Figures.bytes(12_900_000) == "12.3 MiB")
        // A file may have become smaller.
        #expect(Figures.bytes(-1536) == "-1.5 KiB")
    }
}
