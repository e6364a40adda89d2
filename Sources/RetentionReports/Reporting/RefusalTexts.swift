import RetentionJob
import RetentionPolicy

extension String {
    /// What a refusal says, without the entity that it begins with.
    var withoutEntity: String { replacing(#/^refusing to delete from .*?: /#, with: "") }

    /// A refusal without the option that accepts it.
    var withoutOption: String {
        replacing(#/pass --accept \w+ for one run, or /#, with: "")
            .replacing(#/, or pass --accept \w+ once to delete them/#, with: "")
    }

    /// The same without numbers of rows: refusals that differ only in these are shown once.
    var withoutEntityAndCounts: String { withoutEntity.withoutFigures }

    /// A reason without its numbers, dates and times, which differ each night, and without plurals. Names with digits stay.
    var withoutFigures: String {
        split(separator: " ").map { word -> Substring in
            let isFigure =
                word.contains(where: \.isNumber) && word.allSatisfy { $0.isNumber || "(),.:;-TZ%".contains($0) }
            let word = word[...(word.lastIndex { !"),.:;".contains($0) } ?? word.startIndex)]
            return isFigure ? "#" : word.hasSuffix("s") ? word.dropLast() : word
        }.joined(separator: " ")
    }
}

extension [RunReport.RuleReport] {
    /// Of rules whose first reason is the same the first one, by the names of the others. Only figures of restored rows may differ.
    var sameReasons: [String: RunReport.RuleReport] {
        var firsts: [String: RunReport.RuleReport] = [:]
        var found: [String: RunReport.RuleReport] = [:]
        for rule in self where rule.outcome == .refused && !rule.refusalCodes.isEmpty {
            let text = (rule.message ?? "").withoutOption
            let reason = rule.refusalCodes == [.restoredRows] ? text.withoutEntityAndCounts : text.withoutEntity
            if let first = firsts[reason] { found[rule.name] = first } else { firsts[reason] = rule }
        }
        return found
    }

    /// The rules without the advice that is the same for several of them, and that advice.
    var sayingOnce: (rules: Self, remedies: [(text: String, names: [String])]) {
        var remedies: [(text: String, names: [String])] = []
        for rule in self {
            for text in Set(rule.refusals.map { rule.withoutOption($0.remedy) }).sorted() where !text.isEmpty {
                if let place = remedies.firstIndex(where: { $0.text == text }) {
                    remedies[place].names.append(rule.name)
                } else {
                    remedies.append((text, [rule.name]))
                }
            }
        }
        remedies = remedies.filter { $0.names.count > 1 }
        let rules = map { rule in
            var rule = rule
            for index in rule.refusals.indices {
                let refusal = rule.refusals[index]
                guard remedies.contains(where: { $0.text == rule.withoutOption(refusal.remedy) }) else { continue }
                if index == 0 { rule.message = refusal.reason }
                rule.refusals[index].message = refusal.reason
            }
            return rule
        }
        return (rules, remedies)
    }
}

extension RunReport.RuleReport {
    /// A refusal without the option that accepts it, if the whole command is beside it.
    func withoutOption(_ text: String) -> String {
        acceptOptions == nil ? text : text.withoutOption
    }
}

extension RunReport {
    /// The commands that accept why rules are refused, by their options: rules that need the same options share a command.
    var acceptances: [[String]: String] {
        Dictionary(grouping: rules, by: \.acceptOptions).reduce(into: [:]) { found, group in
            if let options = group.key { found[options] = acceptance(of: group.value, options) }
        }
    }

    /// The command that accepts all reasons why rules are refused. It works in each folder. A rule for several tables is named as it is
    /// written if more than one of them is refused, or if its change is accepted: for one table that would not be agreed.
    func acceptance(of refused: [RuleReport], _ options: [String]) -> String {
        let tables = Dictionary(refused.map { ($0.family, 1) }, uniquingKeysWith: +)
        let isAgreed = options.contains(RefusalCode.policyWidened.rawValue)
        let names = refused.map { rule -> String in
            isAgreed || tables[rule.family, default: 0] > 1 ? rule.family ?? rule.name : rule.name
        }
        let rules = names.unique.flatMap { ["--rule", $0] }
        let start = ["retention", "run", "-c", FilePlace.realPath(config) ?? config]
        // A policy is agreed as a whole. Other codes are accepted for the rules that they refuse.
        let isAlone = refused.count == self.rules.count { $0.outcome == .refused && $0.refusal != nil }
        if isAgreed, isAlone || options.count == 2 {
            return "to accept the whole policy: " + SafeText.command(start + options)
        }
        return "to accept that for one run: " + SafeText.command(start + storeOption + rules + options)
    }
}
