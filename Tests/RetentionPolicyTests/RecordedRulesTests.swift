import PriceStore
import RetentionPolicy
import Testing

@Suite struct RecordedRulesTests {
    /// One reader reads what a reader of its own would read, whatever was before.
    @Test func recordsOfManyTablesReadAsEachAlone() throws {
        var texts: [String] = []
        for pattern in ["t*", nil] {
            for filter in [
                StorePredicate.all, .compare("s", .equal, .text(#""entity": "x"}"#)),
                .compare("s", .equal, .text("\u{E9}")), .compare("s", .equal, .text("e\u{301}")),
            ] {
                for entity in ["t1", "t2", #"t"3"#, #"t\4"#, #"{"entity": "t5"}"#, "t\u{E9}", "te\u{301}"] {
                    var rule = Rule(
                        name: "a", entity: entity, dateAttribute: "at",
                        maxAge: try MaxAge(parsing: "30d"),
                        marks: Marks(whole: Mark(line: 1, column: 1)))
                    rule.filter = filter
                    if let pattern {
                        rule.family = .init(name: rule.name, entity: pattern)
                        rule.name = rule.family?.member(entity) ?? ""
                    }
                    texts.append(RecordedRule(rule, entity: entity, date: "at", zone: .utc).canonical)
                }
            }
        }
        var records = RecordedRules()
        for text in texts + texts.reversed() {
            let found = records.rule(text)
            let read = try #require(found, "\(text)")
            #expect(Array(read.canonical.utf8) == Array(text.utf8))
            #expect(read.rule.name == RecordedRule(canonical: text)?.rule.name)
        }
        for damaged in ["", #"{"entity":"t1"#, texts[0] + "x"] {
            let found = records.rule(damaged)
            #expect(found == nil)
        }
    }
}
