import Logging
import PriceStore
import RetentionPolicy

extension Run {
    /// Carries out the step of one rule.
    ///
    /// An error of the rule alone (a trigger that raises, a table that is gone) fails it, and the next rules run. Any other error ends the
    /// run.
    func carryOut(_ index: Int, of plan: Plan) {
        let began = setup.uptime()
        var step = plan.steps[index]
        do throws(StoreError) {
            try leaveRowsWithoutCandles(&step, plan.steps[..<index])
        } catch {
            return fail(index, because: error, residue: step.request.map { BatchDeleteRequest($0).fetchRequest })
        }
        let expiredCount = step.survey.expiredCount
        guard expiredCount > 0, let request = step.request, var outline = step.outline else {
            report.rules[index].outcome = .completed
            return
        }
        let others = leftBehind(plan.steps[..<index], of: request.entity)
        let residue = BatchDeleteRequest(request).fetchRequest.besides(others)
        if mayContinue {
            setup.observer?.runDidBegin(rule: step.rule.name, expiredCount: expiredCount)
        }
        var loop = BatchLoop(step, outline)
        do throws(StoreError) {
            report.rules[index].done.oldest = try oldest(of: step, preceding: plan.steps[..<index])
            var deletion = try writer.deletion(of: request, after: step.survey)
            if let keys = step.plannedKeys {
                deletion = PlannedDeletion(deletion, of: request, keys: keys, reader: writer)
            }
            defer {
                outline = deletion.outline
                report.rules[index].take(outline)
            }
            try repeatBatches(&loop, deletion, of: step, index, besides: others)
        } catch {
            fail(index, because: error, residue: residue)
        }
        report.rules[index].done.batches = loop.batchCount
        noteDates(index, step, isOldestFirst: outline.isOldestFirst, residue: residue)
        report.rules[index].done.elapsed += setup.uptime() - began
        setup.observer?.runDidEnd()
    }

    /// Makes a rule without `rollup` leave alone the rows of which an earlier rule has not made all candles.
    private func leaveRowsWithoutCandles(
        _ step: inout Plan.Step, _ preceding: ArraySlice<Plan.Step>
    ) throws(StoreError) {
        guard step.rule.rollup == nil, var request = step.request, step.survey.expiredCount > 0 else { return }
        let left = zip(preceding.indices, preceding).compactMap { index, other in
            let isDone = report.rules[index].outcome == .completed && report.rules[index].left.expired == 0
            return isDone || other.rule.rollup == nil || other.request?.entity != request.entity
                ? nil : other.request?.expired
        }
        guard !left.isEmpty else { return }
        for rows in left { request.filter = request.filter && .notTrue(rows) }
        // Rows that have arrived since the plan may be among them.
        request.deleting.maxRows = min(request.deleting.maxRows ?? .max, step.survey.expiredCount)
        step.surveyRequest = request
        step.survey = try writer.survey(request)
        step.outline = try writer.outline(of: request, after: step.survey)
    }

    /// Deletes batch after batch until the loop stops.
    private func repeatBatches(
        _ loop: inout BatchLoop, _ deletion: any Deletion, of step: Plan.Step, _ index: Int,
        besides others: [StorePredicate]
    ) throws(StoreError) {
        while true {
            switch loop.next(mayContinue: mayContinue) {
            case .delete(let bounds):
                guard try pauses.waitForStore(writer) else { continue }
                let began = setup.uptime()
                let part = try deletion.deleteNext(bounds)
                let elapsed = setup.uptime() - began
                report.note(
                    wait: part.waited,
                    because: setup.policy.store.kind.isServer ? "rows locked by other sessions" : "a locked store")
                // If this fails, assume that others use the store.
                loop.didDelete(part, elapsed: elapsed - part.waited, fixed: writer.fixedElapsed) {
                    (try? writer.isInUseByOthers()) != false
                }
                note(part.result, of: index)
                if !deletion.outline.isInBatches {
                    report.rules[index].done.lockElapsed = part.result.lockElapsed ?? elapsed
                }
                setup.observer?.runDidDelete(
                    deletedCount: loop.deletedCount, expiredCount: report.rules[index].planned.expired)
                setup.didProgress?(report)
                if let reason = try writer.boundSideFiles() { report.warn(logger, "side file grows", reason) }
            case .pause(let length):
                let isOwn = step.rule.batch.pause != .auto
                pauses.wait(length, because: isOwn ? "batch.pause" : "pauses for other programs")
                loop.didPause()
            case .countResidue where isOver:
                // The store has already failed; the counts of the plan are the best available.
                report.rules[index].left.expired =
                    report.rules[index].planned.expired - report.rules[index].done.deleted
                loop.didCount(residue: max(1, report.rules[index].left.expired))
            case .countResidue:
                report.rules[index].left.expired = try deletion.remainingCount(besides: others)
                loop.didCount(residue: report.rules[index].left.expired)
            case .stop(let reason, _):
                return conclude(index, reason, lockedBy: deletion.outline.locker)
            }
        }
    }

    private func note(_ result: BatchDeleteResult, of index: Int) {
        report.rules[index].done.deleted += result.deletedCount
        report.rules[index].done.archived? += result.archivedCount
        if report.rules[index].candles.created != nil { report.rules[index].take(result.candles) }
        report.rules[index].done.cascaded += result.cascadedCount
        report.rules[index].done.nullified += result.nullifiedCount
        report.rules[index].done.byTriggers.merge(result.deletedByTriggers, uniquingKeysWith: +)
    }

    var pauses: BatchPauses {
        BatchPauses(uptime: setup.uptime, sleep: setup.sleep, mayContinue: { self.mayContinue }) { reason in
            guard !self.isWaitReported else { return }
            self.isWaitReported = true
            self.logger.notice("batches delayed", metadata: ["reason": "\(reason)"])
        } didWait: {
            self.report.note(wait: $1, because: $0)
        }
    }

    private func conclude(_ index: Int, _ reason: BatchLoop.Reason, lockedBy locker: String?) {
        let rule = report.rules[index]
        let (residue, triggers) = (rule.left.expired, rule.planned.triggers)
        let left = "\(Figures.count(residue, "expired row", "is", "are")) left"
        func end(_ outcome: RunReport.Outcome, _ message: String, _ code: Int32? = nil) {
            (report.rules[index].outcome, report.rules[index].message) = (outcome, message)
            if let code { status.note(code) }
        }
        report.rules[index].outcome = .completed
        guard residue > 0 else { return }
        guard reason == .finished else {
            noteInterruption(rowsRemain: true)
            return end(.interrupted, "\(reasonToStop); \(left)")
        }
        if let locker {
            return end(
                .interrupted, "\(left): the run skipped rows that \(locker) has locked", RunStatus.tryAgain)
        }
        // A few may have arrived or changed since the plan. A saved plan says which rows go.
        guard setup.options.savedPlan == nil, residue >= rule.planned.expired else { return }
        let none = rule.done.deleted == 0 ? "no row was deleted, and all \(left); " : nil
        if triggers.isEmpty, let none {
            end(.interrupted, none + "another program inserts or changes rows; run again", RunStatus.tryAgain)
        } else if !triggers.isEmpty {
            let some =
                "\(Figures.count(rule.done.deleted, "row", "was", "were")) deleted, and as many expired rows are left as before: "
                + "\(Figures.grouped(residue)); "
            end(
                .failed,
                (none ?? some) + "a trigger (\(triggers.joined(separator: ", "))) or another program "
                    + (none == nil ? "inserts or changes rows" : "keeps the rows"), RunStatus.refused)
        }
    }

    private func fail(_ index: Int, because error: StoreError, residue: StoreFetchRequest?) {
        let committed = report.rules[index].done.deleted
        let done =
            committed == 0
            ? "nothing was deleted"
            : "\(Figures.count(committed, "row", "is", "are")) deleted and committed before it"
        report.rules[index].message = "\(cause(error)); \(done)"
        report.rules[index].left.expired = max(0, report.rules[index].planned.expired - committed)
        switch error.kind {
        case .constraint, .unsupported, .unknownName:
            report.rules[index].outcome = .failed
            status.note(error)
            if let residue, let count = try? writer.count(residue) { report.rules[index].left.expired = count }
        case .cancelled where !mayContinue:
            report.rules[index].outcome = .interrupted
            noteInterruption(rowsRemain: true)
        case .busy, .cancelled:
            // It is unknown for how long a store is busy; each following rule would wait as long again.
            report.rules[index].outcome = .interrupted
            end(because: error)
        default:
            report.rules[index].outcome = .failed
            end(because: error)
        }
    }

    /// The residue of the rules before a rule of an entity: a row is residue of one rule only.
    private func leftBehind(_ preceding: ArraySlice<Plan.Step>, of entity: String) -> [StorePredicate] {
        zip(preceding.indices, preceding).compactMap { index, step in
            guard report.rules[index].left.expired > 0, let request = step.request,
                request.entity == entity
            else { return nil }
            return request.expired
        }
    }

    /// Reports each rule whose rows a trigger deleted before the rule reached them.
    func reportTriggerDeletes() {
        for rule in report.rules
        where rule.outcome == .completed && rule.left.expired == 0 && rule.done.deleted < rule.planned.expired {
            let takers = report.rules.compactMap { other -> String? in
                let counts = other.done.byTriggers.filter { $0.key.folded == rule.entity.folded }
                guard let count = counts.values.first else { return nil }
                return "\(other.name) (\(Figures.count(count, "row")))"
            }
            guard !takers.isEmpty else { continue }
            report.warn(
                logger,
                "rows deleted by triggers",
                "\(rule.name) deleted \(Figures.grouped(rule.done.deleted)) of \(Figures.count(rule.planned.expired, "expired row")); "
                    + "triggers deleted others of \(rule.entity) while these rules ran: "
                    + takers.joined(separator: ", "))
        }
    }

    /// Counts the expired rows of a rule again if a later rule of the same entity has deleted some, or has made candles in it: the residue is
    /// what remains at the end.
    func recountResidue(_ plan: Plan) {
        guard !isOver else { return }
        let candles = Set(
            zip(plan.steps, report.rules).compactMap { step, rule in
                (rule.candles.created ?? 0) > 0 || (rule.candles.changed ?? 0) > 0
                    ? step.rule.rollup?.target.folded : nil
            })
        for (index, step) in plan.steps.enumerated()
        where report.rules[index].left.expired > 0 || candles.contains(step.rule.entity.folded) {
            func hasChanged(_ entity: String) -> Bool {
                plan.steps.indices.contains {
                    let mayMatter = step.disposition != .planned || $0 > index
                    return mayMatter && report.rules[$0].done.deleted > 0
                        && plan.steps[$0].surveyRequest?.entity == entity
                }
            }
            guard let survey = step.surveyRequest,
                hasChanged(survey.entity) || candles.contains(survey.entity.folded)
            else { continue }
            let others = step.disposition == .planned ? leftBehind(plan.steps[..<index], of: survey.entity) : []
            let request = BatchDeleteRequest(survey).fetchRequest.besides(others)
            guard let count = try? writer.count(request) else { continue }
            report.rules[index].left.expired = count
            report.rules[index].left.oldest = count == 0 ? nil : try? oldest(request, of: step)
        }
    }

    /// Reports the expired rows that completed rules leave.
    func reportRowsLeft() {
        for rule in report.rules where rule.outcome == .completed && rule.left.expired > 0 {
            let count = Figures.count(rule.left.expired, "expired row")
            let keeper =
                rule.planned.triggers.isEmpty
                ? "" : ", or a trigger (\(rule.planned.triggers.joined(separator: ", "))) inserts or keeps rows"
            report.warn(
                logger, "rows left",
                setup.options.savedPlan != nil
                    ? "\(rule.name) deletes only rows of the plan; \(Figures.count(rule.left.expired, "expired row", "is", "are")) left"
                    : rule.done.deleted < rule.planned.expired
                        ? "\(rule.name) leaves \(count) for the next run: rows changed during this one\(keeper)"
                        : "\(rule.name) leaves \(count) for the next run: rows arrived or changed during this one, and a run deletes "
                            + "no more rows than its plan counted\(keeper)")
        }
    }
}
