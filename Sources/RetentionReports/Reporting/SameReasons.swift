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
}
