import RetentionPolicy
import Testing

@Suite struct EntityPatternTests {
    @Test(arguments: [
        ("ohlcv_*", ["ohlcv_BTC", "OHLCV_", "ohlc_BTC"], ["ohlcv_BTC": ["BTC"], "OHLCV_": [""]]),
        ("*_1m", ["a_1m", "a_1m_1m", "a_1h"], ["a_1m": ["a"], "a_1m_1m": ["a_1m"]]),
        ("ohlcv_*_*", ["ohlcv_BTC_USDT_1m"], ["ohlcv_BTC_USDT_1m": ["BTC", "USDT_1m"]]),
        ("t?", ["t1", "t", "t12"], ["t1": []]), ("t[12]", ["t1", "t3"], ["t1": []]),
        ("t[!12]", ["t1", "t3"], ["t3": []]), ("t[a-c]", ["tb", "td"], ["tb": []]),
        ("a.b*", ["a.bc", "axbc"], ["a.bc": ["c"]]), ("a+(*", ["a+(b", "aab"], ["a+(b": ["b"]]),
        ("*", ["line\nend", "Ä"], ["line\nend": ["line\nend"], "Ä": ["Ä"]]),
    ])
    func matchesNames(pattern: String, names: [String], expected: [String: [String]]) throws {
        #expect(try #require(EntityPattern(pattern)).matches(in: names) == expected)
    }

    @Test(arguments: ["ohlcv_BTC", "", "a[b", "a[]b"]) func isNoPattern(_ text: String) {
        #expect(EntityPattern(text) == nil)
    }

    @Test func fillsTheTextsOfTheStarsIn() {
        #expect(EntityPattern.filled("candle_{2}_{1}", ["a", "b"]) == "candle_b_a")
    }
}
