package import PriceStore

/// The exit status of a run: a function of what happened, and of nothing else.
package struct RunStatus: Hashable, Sendable {
    /// The signal that stopped the run with work left; nil: none did.
    package var signal: Int32?
    /// Kinds of errors that ended the run or failed a rule.
    package var failures: [StoreError.Kind] = []
    /// Whether an error of an unknown kind occurred, which is a defect.
    package var hasDefect = false
    /// Whether the policy does not match the store.
    package var hasPolicyError = false
    /// Whether the time budget was spent with rows remaining.
    package var isBudgetSpent = false
    /// Whether a rule was refused, or a trigger or constraint of the store failed one.
    package var hasRefusedRule = false
    /// Whether a pending line or file was bad.
    package var hasBadPending = false

    package init() {}

    /// The exit status: a signal, then 69 to 77 (the smallest of them, but 75 last), then 65.
    ///
    /// 66 and 78 come before these: such a run has done nothing else.
    package var exitCode: Int32 {
        if let signal { return 128 + signal }
        var codes = failures.map(Self.exitCode(of:))
        if hasDefect { codes.append(70) }
        if hasPolicyError { codes.append(78) }
        if isBudgetSpent { codes.append(75) }
        if hasRefusedRule || hasBadPending { codes.append(65) }
        return Self.worst(of: codes)
    }

    /// The exit status that says most of several, in the order of ``exitCode``; 0: there is none.
    package static func worst(of codes: [Int32]) -> Int32 { codes.max { rank($0) < rank($1) } ?? 0 }

    /// Adds the results of the rules and the pending files of a report.
    package mutating func note(_ report: RunReport) {
        if !report.pending.refused.isEmpty { hasBadPending = true }
        if report.rules.contains(where: { $0.outcome == .refused }) { hasRefusedRule = true }
    }

    /// Adds an error.
    package mutating func note(_ error: any Error) {
        switch error {
        case let error as StoreError: failures.append(error.kind)
        default: hasDefect = true
        }
    }

    /// The exit status for a kind of error.
    package static func exitCode(of kind: StoreError.Kind) -> Int32 {
        switch kind {
        // A trigger or constraint refused the store's own data: the rule failed, everything else was done.
        case .constraint, .unsupported, .unpredictable, .historyMissing: 65
        case .missing: 66
        case .unreachable: 69
        case .defect: 70
        case .cannotCreate: 73
        case .inputOutput, .replaced: 74
        case .busy, .cancelled: 75
        case .permission: 77
        case .unknownName: 78
        }
    }

    /// The priority of an exit status; the highest wins. Within 69 to 77 the smaller number wins, but 75 only asks
    /// to try again.
    private static func rank(_ code: Int32) -> Int32 {
        switch code {
        case 129...: 2000
        case 66, 78: 1000 + code
        case 75: 400
        case 69...77: 500 - code
        default: code
        }
    }
}
