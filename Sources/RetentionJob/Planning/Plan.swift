package import PriceStore
package import RetentionPolicy

/// What a run will do, decided before it deletes anything: a step for each rule, in the order of execution.
package struct Plan: Sendable {
    /// A step for each selected rule; rules that `--rule` leaves out have none.
    package var steps: [Step]
    /// The holds of the policy.
    package var holds = HoldPlan()
    /// Warnings about rows that do not arrive.
    var arrivals: [Warning] = []
    /// What the rules keep from each other.
    var together = RulesTogether()
    /// Whether past runs raise doubts about the clock, accepted or not.
    var doubtsClock = false

    /// What one rule will do, or why it does nothing.
    package struct Step: Sendable {
        /// Whether the rule is carried out.
        package enum Disposition: Hashable, Sendable {
            /// `enabled: false`: nothing was counted.
            case disabled
            /// It deletes nothing; the value is the first reason that was not accepted.
            case refused(Refusal)
            /// It deletes nothing, because new rows of its entity cannot be imported; the value says why.
            case failed(String)
            /// It deletes what the survey found, which may be no rows.
            case planned
        }

        package var rule: Rule
        /// Rows before it are expired.
        package var cutoff: Instant
        package var disposition: Disposition
        /// The other reasons for the refusal.
        package var otherRefusals: [Refusal] = []
        /// Whether a row matches the rule's `where`; false: none does, or there was no survey.
        var isMatched = false
        /// The request of the survey; nil if there was no survey.
        package var surveyRequest: SurveyRequest?
        /// The survey; empty if there was none.
        package var survey = Survey()
        /// The date of the newest row that is not in the future; nil: there is none.
        package var newest: Instant?
        /// Groups of `keep_last` without new rows; nil: there are none, or it is unknown.
        var silent: SilentGroups?
        /// How the engine would delete the rows; nil: there was no survey, or the schema does not allow it.
        package var outline: DeletionOutline?
        /// Rows before the cutoff that stay because they have no price; nil: the rows do not become candles.
        package var unpriced: Int?
        /// The rows that no cascade of its batches may take.
        package var rowsToKeep = RowsToKeep()
        /// Deletes only rows with these keys; nil: no saved plan limits the rows.
        package var plannedKeys: KeyList?
        /// Refusals that would have held but were accepted.
        package var accepted: [RefusalCode] = []
        /// Advice that would make the rule cheaper, each a sentence with the statement.
        package var advice: [String] = []
        /// The store's triggers that the rule's deletes fire, see ``TriggerAdvice``.
        package var triggers: [String] = []
        /// The rule as the ledger records it; nil: no rows were counted.
        package var record: RecordedRule?
        /// Why the rule is wider than before; nil: it is not, or no run is known.
        package var widened: WidenedRule?
        /// Expired rows that came back; nil: unknown.
        package var late: LateRows?
        /// How long the survey took.
        package var elapsed: Duration = .zero

        /// All reasons why the rule is refused, causes first; empty: it is not refused.
        package var refusals: [Refusal] {
            if case .refused(let first) = disposition { [first] + otherRefusals } else { [] }
        }

        /// The request of the deletion; nil unless the step is planned.
        package var request: SurveyRequest? { disposition == .planned ? surveyRequest : nil }

        /// Whether only the date and `where` decide which rows expire. Then the oldest row is deleted first.
        package var isByDateAlone: Bool { rule.keepLast == nil && rule.thin == nil && survey.kept.heldCount == 0 }

        /// The rule's delete as one request; nil if it deletes nothing.
        package var wholeDelete: BatchDeleteRequest? {
            survey.expiredCount > 0 ? request.map { BatchDeleteRequest($0) } : nil
        }

        /// The batch size and the pause between batches, if the rows are deleted in batches.
        package func batch(_ outline: DeletionOutline) -> Rule.BatchSetting {
            guard rule.batch == Rule.BatchSetting() else { return rule.batch }
            var batch = rule.batch
            batch.rows = outline.firstBatchRows ?? batch.rows
            batch.fewestRows = outline.fewestRows
            batch.target = outline.batchTarget ?? batch.target
            batch.targetAlone = outline.batchTargetAlone
            return batch
        }
    }
}

extension Survey {
    /// Whether there are rows and none has a date that can be read.
    var canReadNoDate: Bool { dates.newest == nil && unreadableCount > 0 }

    /// The warning for a rule that can read the date of no row, as a sentence without a full stop; nil: it can read at least one, or there
    /// are no rows.
    func warningOfUnreadable(_ rule: Rule) -> String? {
        guard canReadNoDate else { return nil }
        let kinds = unreadable.map { rows in
            "\(Figures.count(rows.rowCount, "row")) with \(rows.reason.reportPhrase)"
                + (rows.example.isNull ? "" : ", such as \(SafeText.example(rows.example))")
        }
        return
            "\(rule.name) deletes nothing, because it can read no value of \(rule.entity).\(rule.dateAttribute) as a date: "
            + kinds.joined(separator: "; ")
    }
}

extension RunReport.RuleReport {
    mutating func take(_ outline: DeletionOutline) {
        method = .init(name: outline.method, reason: outline.reason, index: outline.index)
    }
}

extension Plan.Step {
    /// The step as reported before any delete: all expired rows are residue.
    package var report: RunReport.RuleReport {
        var report = RunReport.RuleReport(
            name: rule.name, entity: rule.entity, dateAttribute: rule.dateAttribute, dateFormat: rule.dateFormat,
            maxAge: rule.maxAge.written, cutoff: cutoff, outcome: .planned)
        report.family = rule.family?.name
        report.ruleSHA256 = record.map { SHA256.digits(of: $0.canonical) }
        switch disposition {
        case .disabled: report.outcome = .disabled
        case .planned: break
        case .failed(let reason):
            report.outcome = .failed
            report.message = reason
        case .refused(let refusal):
            report.outcome = .refused
            report.refusal = refusal.code
            report.message = refusal.message
            report.refusals = refusals.enumerated().map { index, other in
                RefusalReport(
                    code: other.code, message: other.message(after: index == 0 ? nil : refusal),
                    isAcceptable: other.isAcceptable, remedy: other.remedy)
            }
        }
        if surveyRequest?.deleting.archiveRule != nil { report.done.archived = 0 }
        report.accepted = accepted
        (report.planned.rows, report.planned.filter) = (survey.rowCount, rule.rows)
        report.planned.isCounted = !refusals.contains {
            [.unsupportedSchema, .holdUnusable, .wrongUnit].contains($0.code)
        }
        if report.planned.isCounted {
            report.planned.expired = survey.expiredCount
            report.left.expired = survey.expiredCount
        }
        report.kept = survey.kept
        report.planned.keepsForOthers = surveyRequest?.keepers.others.isEmpty == false
        report.candles.unpriced = unpriced
        if rule.rollup != nil { (report.candles.created, report.candles.changed) = (0, 0) }
        report.remembered.late = late?.rowCount
        report.remembered.widened = widened
        report.planned.unreadable = survey.unreadable
        report.planned.oldest = survey.dates.oldest
        report.planned.newest = survey.dates.newest
        report.planned.silent = silent
        if report.planned.isCounted { report.planned.newestExpired = survey.dates.newestExpired }
        // Rows spared by `keep_last`, `thin` and holds may be older than all overdue rows.
        if report.planned.expired > 0, isByDateAlone { report.left.oldest = survey.dates.oldest }
        if case .planned = disposition, let outline { report.take(outline) }
        report.advice = advice
        report.planned.triggers = triggers
        report.done.elapsed = elapsed
        return report
    }

    /// The step as reported by a dry run, with the predicted effects of relationships.
    package var predictedReport: RunReport.RuleReport {
        var report = report
        if case .planned = disposition {
            report.done.cascaded = survey.related.cascadedCount
            report.done.nullified = survey.related.nullifiedCount
        }
        return report
    }
}
