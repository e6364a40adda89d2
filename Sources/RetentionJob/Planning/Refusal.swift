package import RetentionPolicy

/// Why a rule is refused, with the counts and how to accept it.
package struct Refusal: Hashable, Sendable {
    package var code: RefusalCode
    /// Begins with "refusing to" and contains the counts; no full stop unless it ends with a question.
    package var reason: String
    /// What the user can do.
    package var remedy: String
    /// Whether `accept` lets the rule run. False if the delete is impossible.
    package var isAcceptable: Bool

    package init(_ code: RefusalCode, reason: String, remedy: String, isAcceptable: Bool = true) {
        self.code = code
        self.reason = reason
        self.remedy = remedy
        self.isAcceptable = isAcceptable
    }

    /// A refusal that cannot be accepted.
    ///
    /// - Parameters:
    ///   - reason: why they are not deleted, as a clause.
    ///   - instead: what the user can do, as an imperative.
    init(unacceptable code: RefusalCode, of entity: String, _ reason: String, instead: String) {
        self.init(
            code, reason: "refusing to delete from \(entity): \(reason)",
            remedy: "this cannot be accepted; \(instead)", isAcceptable: false)
    }

    /// How to accept a refusal if a clause is true, for one run or by a setting of the policy, which is then a wider one.
    static func acceptance(_ code: RefusalCode, if clause: String? = nil, by setting: String? = nil) -> String {
        "\(clause ?? "to accept it"), pass --accept \(code.rawValue) for one run, or write "
            + (setting ?? "accept: [\(code.rawValue)] in the rule")
            + " and accept that once if the next run asks for it (policy_widened)"
    }

    /// The reason and how to accept it.
    package var message: String {
        switch reason.last {
        case "?": "\(reason) \(remedy.prefix(1).uppercased())\(remedy.dropFirst())"
        default: "\(reason); \(remedy)"
        }
    }

    /// The message of a refusal that follows another one. If the first doubts dates, formats or the clock, this one may be its consequence,
    /// so how to accept it is left out.
    package func message(after first: Refusal?) -> String {
        guard let first, RefusalCode.doubts.contains(first.code), !RefusalCode.doubts.contains(code) else {
            return message
        }
        return reason
    }
}
