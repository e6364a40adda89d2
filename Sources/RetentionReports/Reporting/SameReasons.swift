import RetentionJob
import RetentionPolicy

extension String {
    /// What a refusal says, without the entity that it begins with.
    var withoutEntity: String { replacing(#/^refusing to delete from .*?: /#, with: "") }

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
    /// Of rules that are refused for the same reasons the first one, by the names of the others. Only figures of restored rows may differ.
    var sameReasons: [String: String] {
        var firsts: [[String]: String] = [:]
        var found: [String: String] = [:]
        for rule in self where rule.outcome == .refused && !rule.refusalCodes.isEmpty {
            let message = rule.message ?? ""
            let reason =
                rule.refusalCodes == [.restoredRows] ? message.withoutEntityAndCounts : message.withoutEntity
            let key = [reason] + rule.otherRefusalTexts + (rule.acceptOptions ?? [])
            if let first = firsts[key] { found[rule.name] = first } else { firsts[key] = rule.name }
        }
        return found
    }
}
