package import PriceStore
package import RetentionPolicy

/// Finds all reasons to refuse one rule. Pure: the survey, the clock and the memory of past runs are arguments.
///
/// Counts cover the rows that match `where`, but `future_dates` and `wrong_unit` consider the whole entity, because a wrong unit shows
/// there first. `would_empty_entity` and `max_fraction` judge the rule alone; ``JointLimits`` judges all rules together.
package struct Refusals {
    /// What raises doubts about a rule besides its rows.
    package struct Doubts {
        /// The recognised format of the date attribute; nil if it was not sampled.
        package var recognition: DateRecognition?
        /// The rows that would be deleted but are recent in another format; nil: there are none, or this was not checked.
        package var misread: MisreadRows?
        /// Why the rows cannot be archived before they are deleted, as a clause; nil: they can, or need not be.
        package var archiveObstacle: String?
        /// Restored rows that would be deleted again; nil: there are none.
        package var restored: RestoredRows?
        /// Why the rule is wider than before; nil: it is not, or no earlier run is known.
        package var widened: WidenedRule?
        /// The newest date, if earlier runs have seen it; nil: there are newer rows, or no earlier run is known.
        package var stopped: RunMemory.CarriedOut.Feed?
        /// Rows that came back; nil: none, or no earlier run is known.
        package var late: LateRows?
        /// The settings of `relationships` with which related rows would not prevent the delete.
        package var settings: Set<BatchDeleteRequest.RelationshipRule> = [.nullify, .cascade]
    }

    package var rule: Rule
    package var date: DateAttribute
    /// The rule's cutoff, for messages.
    package var cutoff: Instant
    package var survey: Survey
    /// The system clock; never the `--as-of` instant.
    package var clock: Instant
    package var memory = RunMemory()
    /// Whether an entity of the rules has a plausible row newer than the last run. Used only if
    /// ``RunMemory/isJump(_:)`` is true.
    package var hasRowsSinceLastRun = true
    /// Whether another rule of the policy may delete rows of the entity.
    package var sharesEntity = false
    package var doubts = Doubts()

    /// All reasons to refuse the rule, most important first; empty: the rule can run.
    ///
    /// `unsupported_schema` comes first and alone, because then nothing else is known. Doubts about dates, formats and the clock come
    /// before their possible consequences: `wrong_unit` first, then the clock, because it is used to judge dates. Past runs and related
    /// rows follow, then the number of rows.
    package func all() -> [Refusal] {
        if let refusal = unsupportedSchema() { return [refusal] }
        return [
            wrongUnit(), clockMovedBack(), clockJumped(), mixedFormats(), futureDates(), feedStopped(),
            restoredRows(), policyWidened(), rowsCameBack(),
            relationshipDenied(), historyTracking(), historyMirrored(), aggregateIncomplete(), notArchivable(),
            wouldEmptyEntity(), tooManyRows(), tooLargeFraction(),
        ].compactMap { $0 }
    }

    /// The refusals due to the dates alone, whatever the cutoff, for `check`, in the order of ``all()``.
    package func ofDates() -> [Refusal] { [wrongUnit(), mixedFormats(), futureDates()].compactMap { $0 } }

    // MARK: The schema

    /// Cannot be accepted, because the engine cannot do it.
    private func unsupportedSchema() -> Refusal? {
        survey.unsupported.map { Self.unsupportedSchema(rule: rule, reason: $0, remedy: survey.remedy) }
    }

    static func unsupportedSchema(rule: Rule, reason: String, remedy: String? = nil) -> Refusal {
        Refusal(
            unacceptable: .unsupportedSchema, of: rule.entity, reason,
            instead: remedy
                ?? (rule.family != nil && rule.share == nil
                    ? "name \(rule.entity) in 'except' of the rule"
                    : "set enabled: false in the rule until the schema is changed"))
    }

    private func historyTracking() -> Refusal? {
        survey.losses.history.map {
            unacceptable(
                .historyTracking,
                "the store keeps a history that other programs follow, and this version cannot continue it: \($0)",
                instead: "set enabled: false in the rule; those programs would not see the deletes")
        }
    }

    private func historyMirrored() -> Refusal? {
        survey.losses.mirror.map {
            refusal(
                .historyMirrored,
                "the store is mirrored to CloudKit (it has the table \($0)), and the mirror reads the history: changes that it has "
                    + "not exported yet would never reach other devices")
        }
    }

    /// A refresh makes a bucket of the rows that are left in it. So the statement is advised only for time from which nothing was deleted.
    private func aggregateIncomplete() -> Refusal? {
        guard let loss = survey.losses.aggregates else { return nil }
        var reason = loss.reason
        if let statement = loss.statement, let oldest = loss.oldest {
            let refresh =
                "and a refresh makes a bucket of the rows that are left: refresh that time only if all of its rows are there"
            if sharesEntity {
                reason += ". Other rules of the policy delete rows of \(rule.entity), \(refresh)"
            } else if let reached {
                reason +=
                    oldest >= reached
                    ? ". To materialize them: \(statement)"
                    : ". Earlier runs may have deleted rows before \(reached.toSecond.rfc3339), \(refresh), as after an undo"
            } else {
                reason += ". If no row of that time was deleted before: \(statement)"
            }
        }
        return refusal(.aggregateIncomplete, reason)
    }

    /// The cutoff before which earlier runs may have deleted rows of the entity, also runs that did not finish; nil: none is known.
    private var reached: Instant? {
        [
            memory.deletedBefore[RunMemory.deletedKey(rule.entity)],
            memory.crashedAsOf.map { rule.cutoff(asOf: $0, zone: date.zone) },
        ].compactMap(\.self).max()
    }

    /// Accepted only in a run by hand: a policy that accepted it would delete restored rows the next night.
    private func restoredRows() -> Refusal? {
        guard let restored = doubts.restored else { return nil }
        let (undo, run) = (restored.restoration.undo, restored.restoration.run)
        let count = Figures.count(restored.rowCount, "row")
        let began = "undo \(undo) has \(restored.restoration.foundAll ? "found" : "restored") rows"
        // Without a record of the run its cutoff is not known.
        let isOfAge = restored.restoration.asOf != nil && restored.formerTable == nil
        let age = isOfAge ? " older than its cutoff in that run" : ""
        let reason =
            if let store = restored.restoration.store {
                "\(began) in \(SafeText.line(store)) that run \(run) had deleted; they may be in this store now, and this "
                    + "rule would delete \(count)\(age)"
            } else if let former = restored.formerTable {
                "\(began) of \(former) that run \(run) had deleted, and \(former) has no row as old as this table, for which no run "
                    + "has carried out the rule: it may be \(former) with a new name, and the rule would delete \(count)"
            } else if restored.reached.isEmpty {
                "\(began) that run \(run) had deleted, and this rule would delete them again, with all expired rows of their "
                    + "age: \(count)\(age)"
            } else {
                "\(began) of \(restored.reached.joined(separator: ", ")) that run \(run) had deleted, and this rule can delete or "
                    + "change them by a cascade or a trigger, with \(count) of its own"
            }
        return Refusal(
            .restoredRows, reason: begin(reason),
            remedy: "change the rule so that it keeps them, or pass --accept restored_rows once to delete them")
    }

    /// Applies even if no row expires by the change today: that does not show whether the change was intended.
    private func policyWidened() -> Refusal? {
        guard let widened = doubts.widened else { return nil }
        if let unknownPast = widened.unknownPast {
            return Refusal(
                .policyWidened, reason: begin("what was agreed is unknown: \(unknownPast); \(widened.rowText)"),
                remedy: "restore the ledger, or name it in 'ledger'; if it is lost, pass --accept policy_widened once")
        }
        let past =
            widened.run.flatMap { run in
                widened.ended.map { " than in run \(run) of \(Figures.instant($0.toSecond))" }
            }
            ?? ""
        return Refusal(
            .policyWidened, reason: begin("the policy is wider\(past): \(widened.text); \(widened.rowText)"),
            remedy: "if this is intended, pass --accept policy_widened once; otherwise correct the policy")
    }

    private func rowsCameBack() -> Refusal? {
        guard let late = doubts.late, let limit = late.limit, late.rowCount > limit else { return nil }
        return Refusal(
            .rowsCameBack,
            reason: begin(
                "\(Figures.count(late.rowCount, "expired row"))\(Figures.span(late.oldest, late.newest)) came back: run \(late.run) had "
                    + "left none before \(late.cutoff.toSecond.rfc3339), and max_late_rows allows "
                    + Figures.grouped(limit)),
            remedy: "if they may be deleted, pass --accept rows_came_back once; to keep them, write a hold")
    }

    /// Cannot be accepted: a rule that should not be archived must say so in the policy, where it is visible.
    private func notArchivable() -> Refusal? {
        doubts.archiveObstacle.map {
            unacceptable(
                .notArchivable, "its rows cannot be archived before they are deleted: \($0)",
                instead: "to delete them without an archive write archive: none in the rule")
        }
    }

    // MARK: The dates

    /// Checks the newest value before `earliest` is applied, the newest valid value (a value for "never" may hide it), a sample, and rows
    /// to be deleted. Skipped if the store declares the format.
    private func wrongUnit() -> Refusal? {
        guard !rule.isFormatStored, date.encoding != .native else { return nil }
        let newestOfEntity = survey.dates.newestOfEntity.map { date.encoding.value(of: $0, zone: date.zone) }
        return survey.dates.newestValue.flatMap(wrongUnit) ?? newestOfEntity.flatMap(wrongUnit) ?? wrongUnitOfSample()
            ?? wrongUnitOfRowsToDelete()
    }

    private func wrongUnitOfRowsToDelete() -> Refusal? {
        guard let misread = doubts.misread else { return nil }
        return refusal(
            .wrongUnit,
            "\(misread.rowCount) of \(Figures.count(misread.sampledCount, "sampled row")) that would be deleted are recent in "
                + "\(misread.encoding.rawValue), up to \(Self.day(misread.newest)), and hardly any of them is less than 20 "
                + "years old in \(date.encoding.rawValue). Is date_format right?")
    }

    /// The refusal if another format is sure, so that the declared one gives hardly any value a possible date.
    private func wrongUnitOfSample() -> Refusal? {
        guard let recognition = doubts.recognition, recognition.certainty == .sure, let encoding = recognition.encoding,
            encoding != date.encoding
        else { return nil }
        // A pattern has no unit to be wrong about, and another format may read what it reads.
        if date.encoding.datePattern != nil,
            recognition.examples.contains(where: { date.encoding.read($0, zone: date.zone).start != nil })
        {
            return nil
        }
        return refusal(
            .wrongUnit,
            "the values of \(rule.dateAttribute) are not plausible dates in \(date.encoding.rawValue), but in "
                + "\(encoding.rawValue) they are (\(recognition.reason)). Is date_format right?")
    }

    private func wrongUnit(_ value: StoreValue) -> Refusal? {
        guard !value.isNull else { return nil }
        let declared: String
        switch date.encoding.read(value, zone: date.zone) {
        case .span(let read, _):
            guard read < date.earliest || isFuture(read) || read < clock.advanced(byMicroseconds: -Self.twentyYears)
            else { return nil }
            declared = "reads as \(Self.day(read)) in \(date.encoding.rawValue)"
        case .unreadable(.notADate) where date.encoding.isNumeric:
            // A number too large for any date counts as later than the clock.
            declared = "cannot be a date in \(date.encoding.rawValue)"
        case .unreadable:
            return nil
        }
        let alternatives = DateEncoding.plausibleAlternatives(
            to: date.encoding, for: value, now: clock, zone: date.zone)
        guard let (encoding, instant) = alternatives.first else { return nil }
        let rows = survey.rowCount.map { "the newest of \(Figures.count($0, "row"))" } ?? "the newest row"
        return refusal(
            .wrongUnit, "\(rows) \(declared); in \(encoding.rawValue) it is \(Self.day(instant)). Is date_format right?"
        )
    }

    private func futureDates() -> Refusal? {
        guard let newest = survey.dates.newestOfEntity, isFuture(newest) else { return nil }
        return refusal(
            .futureDates,
            "the newest row reads as \(newest.rfc3339) in \(date.encoding.rawValue), more than a day after the system "
                + "clock, \(clock.toSecond.rfc3339). Are date_format and the clock right?")
    }

    /// Counts only values that the format cannot read. NULL, sentinels and dates out of bounds do not indicate a mixture.
    private func mixedFormats() -> Refusal? {
        guard let rowCount = survey.rowCount else { return nil }
        let bad = survey.unreadable.reduce(0) {
            $0 + ($1.reason == .wrongType || $1.reason == .notADate ? $1.rowCount : 0)
        }
        let nonNull = rowCount - survey.unreadable.reduce(0) { $0 + ($1.reason == .null ? $1.rowCount : 0) }
        guard nonNull > 0, Int128(bad) * 100 > Int128(nonNull) else { return nil }
        let share = Figures.share(bad, of: nonNull)
        return refusal(
            .mixedFormats,
            "\(Figures.grouped(bad)) of \(Figures.count(nonNull, "value"))\(share) of \(rule.dateAttribute) cannot be "
                + "read as \(date.encoding.rawValue). Is date_format right?")
    }

    // MARK: The number of rows

    private func wouldEmptyEntity() -> Refusal? {
        guard !rule.allowEmpty, survey.expiredAloneCount > 0, !survey.leavesReadableRows else { return nil }
        let rows =
            survey.expiredAloneCount == 1
            ? "its only readable row is" : "all \(Figures.grouped(survey.expiredAloneCount)) readable rows are"
        var reason = "\(rows) older than the cutoff \(cutoff.toSecond.rfc3339) and would be deleted"
        let cascaded = survey.related.cascadedCount(of: rule.entity)
        if cascaded > 0 {
            reason =
                "no readable row would be left: \(Figures.count(survey.expiredAloneCount, "row")) "
                + "\(survey.expiredAloneCount == 1 ? "is" : "are") older than the cutoff \(cutoff.toSecond.rfc3339), and "
                + "\(Figures.count(cascaded, "newer row", "is", "are")) deleted with them by a cascade"
        }
        return Refusal(
            .wouldEmptyEntity, reason: begin(reason + ". Do new rows still arrive?"),
            remedy: Refusal.acceptance(
                .wouldEmptyEntity, if: "if the entity may be emptied", by: "allow_empty: true in the rule"))
    }

    private func tooManyRows() -> Refusal? {
        guard let limit = rule.limits.maxRows, survey.expiredCount > limit else { return nil }
        return refusal(
            .tooManyRows,
            "\(Figures.count(survey.expiredCount, "row")) would be deleted, more than max_rows allows (\(Figures.grouped(limit)))"
        )
    }

    private func tooLargeFraction() -> Refusal? {
        guard let limit = rule.limits.maxFraction, let readable = survey.readableCount, readable > 0 else { return nil }
        // Both sides are the doubles nearest to a decimal fraction, so 99 of 100 is not more than 0.99.
        guard Double(survey.expiredCount) / Double(readable) > limit else { return nil }
        let share = Figures.share(survey.expiredCount, of: readable)
        return refusal(
            .tooLargeFraction,
            "\(Figures.grouped(survey.expiredCount)) of \(Figures.count(readable, "readable row"))\(share) would be deleted, "
                + "more than max_fraction allows (\(limit))")
    }

    // MARK: The clock

    private func clockMovedBack() -> Refusal? {
        guard let last = memory.lastRun, memory.isMovedBack(clock) else { return nil }
        return refusal(
            .clockMovedBack,
            "the system clock says \(clock.toSecond.rfc3339), but the last run ended at \(last.toSecond.rfc3339). Is the clock right?"
        )
    }

    private func clockJumped() -> Refusal? {
        guard let last = memory.lastRun, !hasRowsSinceLastRun, memory.isJump(clock) else { return nil }
        let gap =
            memory.longestGap().map { ", where the longest time between two runs was \(Figures.duration($0))" } ?? ""
        return refusal(
            .clockJumped,
            "the system clock says \(clock.toSecond.rfc3339), \(Figures.duration(clock.since(last))) after the last run"
                + "\(gap), and no entity of the rules has a row newer than that run. Is the clock right?")
    }

    // MARK: The feed

    /// While no rows arrive, a rule would delete what is left, night after night.
    private func feedStopped() -> Refusal? {
        guard let feed = doubts.stopped, survey.expiredCount > 0 else { return nil }
        let allowed = memory.silence(rule, since: feed.since, clock: clock, zone: date.zone)
        guard feed.since < allowed.since else { return nil }
        return refusal(
            .feedStopped,
            "no row newer than \(Figures.instant(feed.newest.toSecond)) has arrived since "
                + "\(Figures.instant(feed.since.toSecond)), and limits.max_silence allows \(allowed.words)")
    }

    // MARK: Words

    private static let day: Int64 = 86_400_000_000
    /// 20 years of 365.25 days, in microseconds.
    private static let twentyYears = 7305 * day

    private func isFuture(_ instant: Instant) -> Bool { instant > clock.advanced(byMicroseconds: Self.day) }

    /// The day of an instant in UTC: `2026-11-20`.
    private static func day(_ instant: Instant) -> String { String(instant.rfc3339.prefix { $0 != "T" }) }

    func begin(_ reason: String) -> String { "refusing to delete from \(rule.entity): \(reason)" }

    func unacceptable(_ code: RefusalCode, _ reason: String, instead: String) -> Refusal {
        Refusal(unacceptable: code, of: rule.entity, reason, instead: instead)
    }

    func refusal(_ code: RefusalCode, _ reason: String) -> Refusal {
        Refusal(code, reason: begin(reason), remedy: Refusal.acceptance(code))
    }
}

extension RunMemory {
    /// How long the newest row of a rule may stay the same, and since when. A time without runs that began after the row had come says
    /// nothing about the feed.
    ///
    /// - Parameter since: when a run first saw the newest row; nil: all runs count.
    func silence(
        _ rule: Rule, since: Instant? = nil, clock: Instant, zone: CalendarZone
    ) -> (words: String, since: Instant) {
        if let limit = rule.limits.maxSilence {
            return (limit.written, Cutoff.instant(asOf: clock, maxAge: limit, align: nil, zone: zone))
        }
        let silence = max(Rule.Limits.silence, (longestGap(before: since ?? .distantFuture) ?? .zero) * 3)
        return (Figures.duration(silence), clock.advanced(byMicroseconds: -silence.wholeMicroseconds))
    }
}
