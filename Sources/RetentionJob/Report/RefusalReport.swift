package import RetentionPolicy

/// One reason why a rule was refused.
package struct RefusalReport: Hashable, Sendable {
    package var code: RefusalCode
    /// Begins with "refusing to". It says how to accept the refusal only if that is right.
    package var message: String
    /// Whether `accept` can pass it.
    package var isAcceptable: Bool
    /// What the user can do, if that is the end of the message; empty: that is not known, as of a run in the ledger.
    package var remedy: String

    package init(code: RefusalCode, message: String, isAcceptable: Bool, remedy: String = "") {
        self.code = code
        self.message = message
        self.isAcceptable = isAcceptable
        // It may begin with a capital there.
        self.remedy = message.hasSuffix(remedy.dropFirst()) ? remedy : ""
    }

    /// The message without its remedy.
    package var reason: String {
        let reason = message.dropLast(remedy.count)
        return remedy.isEmpty ? message : String(reason.hasSuffix("; ") ? reason.dropLast(2) : reason.dropLast())
    }
}

extension RunReport.RuleReport {
    /// The codes of all reasons, causes first, each once; empty: the rule was not refused.
    package var refusalCodes: [RefusalCode] {
        // An earlier version recorded only the first code.
        refusals.isEmpty ? refusal.map { [$0] } ?? [] : refusals.map(\.code).unique
    }

    /// The options that accept all reasons for one run; nil: there is none, or one of them must not be accepted, or one of several is a doubt
    /// about dates, formats or the clock, which may cause the others.
    package var acceptOptions: [String]? {
        let codes = refusalCodes
        guard !refusals.isEmpty, refusals.allSatisfy(\.isAcceptable),
            codes.count == 1 || RefusalCode.doubts.isDisjoint(with: codes)
        else { return nil }
        // What was accepted for this run has to be accepted again.
        return (accepted + codes).flatMap { ["--accept", $0.rawValue] }
    }

    /// The reasons after the first one, each as a clause with its code.
    package var otherRefusalTexts: [String] {
        let start = "refusing to delete from \(entity): "
        return refusals.dropFirst().map { other in
            let text = other.message.hasPrefix(start) ? String(other.message.dropFirst(start.count)) : other.message
            return "also refused (\(other.code.rawValue)): \(text)"
        }
    }
}
