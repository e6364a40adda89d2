import Foundation
import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob
@testable import RetentionReports

struct JSONReportTests {
    /// The names of the members of an object, in the order of the text.
    private func names(_ value: JSONText?) throws -> [String] {
        guard case .object(let members) = try #require(value) else { return [] }
        return members.map(\.name)
    }

    private func member(_ name: String, of value: JSONText) -> JSONText? {
        guard case .object(let members) = value else { return nil }
        return members.first { $0.name == name }?.value
    }

    @Test func fieldsHaveTheOrderOfTheSchema() throws {
        let value = ReportSample.report(.dryRun, rules: [ReportSample.gold]).json
        #expect(
            try names(value).prefix(15) == [
                "schema", "run", "mode", "as_of", "started", "finished", "config", "config_sha256", "store", "engine",
                "pending", "rules", "totals", "reclaimed_bytes", "exit_code",
            ])
        #expect(try names(member("pending", of: value)).prefix(4) == ["files", "saved", "ignored", "rejected"])
        #expect(
            try names(member("totals", of: value)) == [
                "expired", "deleted", "residue", "cascaded", "archived", "nullified", "trigger_deleted",
            ])
        guard case .array(let rules)? = member("rules", of: value) else { return #expect(Bool(false)) }
        #expect(
            try names(rules.first).prefix(23) == [
                "name", "entity", "date_attribute", "date_format", "max_age", "cutoff", "outcome", "refusal", "message",
                "rows", "expired", "kept_by_rule", "deleted", "cascaded", "nullified", "unreadable", "residue",
                "oldest",
                "newest", "newest_expired", "method", "batches", "seconds",
            ])
    }

    @Test func valuesAreWhatTheSchemaSays() throws {
        var rule = ReportSample.refused
        rule.done.elapsed = .milliseconds(10)
        rule.planned.unreadable = [.init(reason: .wrongType, rowCount: 3, example: .text("a\u{2028}\"b"))]
        let text = ReportSample.report(.dryRun, rules: [rule]).document
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(object["schema"] as? String == "retention.run/1")
        #expect(object["mode"] as? String == "dry_run")
        #expect(object["as_of"] as? String == "2026-11-21T00:00:00Z")
        #expect(object["failure"] is NSNull)
        let first = try #require((object["rules"] as? [[String: Any]])?.first)
        #expect(first["rows"] is NSNull && first["oldest"] is NSNull && first["method"] is NSNull)
        #expect(first["outcome"] as? String == "refused" && first["refusal"] as? String == "wrong_unit")
        #expect(first["unreadable"] as? Int == 3)
        #expect(first["seconds"] as? Double == 0.01)
        #expect(first["cutoff"] as? String == "2026-10-22T00:00:00Z")
        let example = try #require((first["unreadable_examples"] as? [[String: Any]])?.first)
        #expect(example["kind"] as? String == "wrong_type" && example["rows"] as? Int == 3)
    }

    /// An error came before the counts. It is also true that nothing was deleted.
    @Test func whatAFailedRunCouldNotCountIsNull() throws {
        var report = ReportSample.report(.run, rules: [])
        report.failure = "database disk image is malformed"
        let recorded = LedgerRow.run(LedgerRow.values(finishing: report)).report
        for report in [report, recorded] {
            let totals = try #require(member("totals", of: report.json))
            #expect(member("expired", of: totals) == .null && member("residue", of: totals) == .null)
            #expect(member("deleted", of: totals) == .integer(0))
            #expect(member("holds", of: report.json) == .null)
        }
        #expect(report.metadata["expired"] == nil && report.metadata["residue"] == nil)
        // It crashed: nothing of its end is known.
        let crashed = try #require(member("totals", of: LedgerRow.run([:]).report.json))
        #expect(member("expired", of: crashed) == .null && member("deleted", of: crashed) == .null)
    }

    /// Nobody has counted its rows.
    @Test func theCountsOfADisabledRuleAreNull() {
        let rule = ReportSample.rule("off", outcome: .disabled)
        for name in ["expired", "residue", "unreadable", "held"] {
            #expect(member(name, of: rule.json) == .null && rule.metadata[name] == nil, "\(name)")
        }
        #expect(member("deleted", of: rule.json) == .integer(0))
    }

    /// A reader of several reports must not find a number where another one has a list.
    @Test func aNameHasOneType() throws {
        var report = ReportSample.report(.run, rules: [ReportSample.full, ReportSample.refused])
        report.archive = .init(
            path: "/a", rows: 1, sizeBytes: 1, sha256: "x", isComplete: true, until: ReportSample.asOf)
        report.holds = [.init(name: "h", entity: "E", reason: "r", expires: ReportSample.asOf, state: .inForce)]
        var undo = RunReport.Undo(run: "01A", archive: "/a", rules: ["r"], tables: [.init(name: "E")])
        undo.unarchived = [.init(rule: "r", rows: 1)]
        undo.skippedRows = [.init(table: "E", key: [.integer(1)], reason: "r")]
        undo.waiting = [.init(rule: "r", reason: "r")]
        report.undo = undo
        let run = LedgerRun(
            number: 1, report: report, outcome: .completed, process: .init(pid: 1, host: "", user: "", version: ""))
        var types: [String: Set<String>] = [:]
        func collect(_ value: Any, _ name: String) {
            var type = "\(Swift.type(of: value))"
            switch value {
            case is NSNull: return
            case is NSNumber: type = "number"
            case is String: type = "text"
            case let members as [String: Any]:
                type = "object"
                for (name, value) in members { collect(value, name) }
            case let elements as [Any]:
                guard let first = elements.first else { return }
                type = first is [String: Any] ? "objects" : first is [Any] ? "lists" : "list"
                for element in elements where !(element is String) { collect(element, "") }
            default: break
            }
            if !name.isEmpty { types[name, default: []].insert(type) }
        }
        for text in [report.document, LogReport([run]).json] {
            collect(try JSONSerialization.jsonObject(with: Data(text.utf8)), "")
        }
        #expect(types.count > 110)
        #expect(types.filter { $0.value.count > 1 } == [:])
    }

    @Test(arguments: [
        ("a\"b\\c", #""a\"b\\c""#), ("\n\r\t\u{0}", #""\n\r\t\u0000""#),
        ("\u{2028}\u{2029}\u{85}", #""\u2028\u2029\u0085""#),
        ("\u{1B}[31m\u{202E}", #""\u001b[31m\u202e""#),
        ("gold€🪙", "\"gold€🪙\""),
        ("\u{E0001}", #""\udb40\udc01""#),
    ])
    func stringsAreEscaped(string: String, json: String) throws {
        #expect(JSONText.string(string).line == json)
        let back = try JSONSerialization.jsonObject(with: Data("[\(json)]".utf8)) as? [String]
        #expect(back?.first.map { Array($0.unicodeScalars) } == Array(string.unicodeScalars))
    }

    @Test func oneLineHoldsNoLineEnd() {
        let value = JSONText.object([.init("a\nb", .array([.null, .bool(true), .string("x\ny"), .object([])]))])
        #expect(value.line == #"{"a\nb":[null,true,"x\ny",{}]}"#)
    }
}
