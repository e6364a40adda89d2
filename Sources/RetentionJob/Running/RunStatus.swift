package import PriceStore

/// The exit status of a run: the worst of what happened, and of nothing else.
package struct RunStatus: Hashable, Sendable {
    /// A rule was refused, a trigger or constraint of the store failed one, or a pending line or file was bad.
    package static let refused: Int32 = 65
    /// The time budget was spent with rows remaining, or the store was busy.
    package static let tryAgain: Int32 = 75
    /// The policy does not match the store.
    package static let wrongPolicy: Int32 = 78

    /// What happened, as exit statuses.
    private var codes: Set<Int32> = []

    package init() {}

    /// The exit status: a signal, then 69 to 77 (the smallest of them, but 75 last), then 65.
    ///
    /// 66 and 78 come before these: such a run has done nothing else.
    package var exitCode: Int32 { Self.worst(of: codes) }

    /// The exit status that says most of several, in the order of ``exitCode``; 0: there is none.
    package static func worst(of codes: some Sequence<Int32>) -> Int32 { codes.max { rank($0) < rank($1) } ?? 0 }

    /// Adds something that happened.
    package mutating func note(_ code: Int32) { codes.insert(code) }

    /// Adds the signal that stopped the run with work left.
    package mutating func note(signal number: Int32) { note(128 + number) }

    /// Adds the results of the rules and the pending files of a report.
    package mutating func note(_ report: RunReport) {
        let isRefused = report.rules.contains { $0.outcome == .refused }
        if isRefused || !report.pending.refused.isEmpty { note(Self.refused) }
    }

    /// Adds an error. One of an unknown kind is a defect.
    package mutating func note(_ error: any Error) {
        note((error as? StoreError).map { Self.exitCode(of: $0.kind) } ?? 70)
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
