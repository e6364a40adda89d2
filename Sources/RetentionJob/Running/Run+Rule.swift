import PriceObjects
import Logging
import PriceStore
import RetentionPolicy

extension Run {
    /// Carries out the step of one rule.
    ///
    /// Trouble that concerns the rule alone (a trigger that raises) fails it, and the next rules go on; all other trouble
    /// ends the run.
    func carryOut(_ index: Int, of plan: Plan) {
        var step = plan.steps[index]
        step.request?.surveyed = planned
        let began = setup.uptime()
        let residue = residueRequest(of: step, preceding: plan.steps[..<index])
        let expiredCount = step.survey.expiredCount
        if expiredCount > 0, mayContinue {
            setup.observer?.runDidBegin(rule: step.rule.name, expiredCount: expiredCount)
        }
        var loop = BatchLoop(step)
        var digest = step.rule.recordsDigest ? KeyDigest() : nil
        if digest != nil { step.request?.resultType = .objectIDs }
        do throws(StoreError) {
            if expiredCount > 0 {
                report.rules[index].oldestDeleted = try oldest(of: step, preceding: plan.steps[..<index])
            }
            try checkCompany(step)
            try repeatBatches(&loop, step, residue: residue, of: index, digest: &digest)
        } catch {
            setup.observer?.runDidEnd()
            // A constraint may stand against one transaction for all rows, and not against batches.
            if step.hasBatchesToFallBackOn, error.kind == .strategyUnfit || error.kind == .constraint {
                return goOnInBatches(index, of: plan, because: error.message)
            }
            var error = error
            if error.kind == .strategyUnfit { error.hint = "raise limits.max_lock" }
            fail(index, because: error, residue: residue)
        }
        if report.rules[index].deleted > 0 { report.rules[index].digest = digest?.finish() }
        report.rules[index].batches = loop.batchCount
        noteDates(index, step, residue: residue)
        report.rules[index].elapsed += setup.uptime() - began
        setup.observer?.runDidEnd()
    }

    /// Throws if nothing that the engine chose to lock the store for long with should begin now.
    private func checkCompany(_ step: Plan.Step) throws(StoreError) {
        guard step.hasBatchesToFallBackOn, step.survey.expiredCount > 0, try writer.hasCompany() else { return }
        throw StoreError(.strategyUnfit, store: writer.name, message: "another program uses the store by now")
    }

    /// Takes batches in the place of a method that does not fit after all.
    private func goOnInBatches(_ index: Int, of plan: Plan, because reason: String) {
        var plan = plan
        let given = report.rules[index].method ?? ""
        plan.steps[index].useBatches()
        report.rules[index].method = plan.steps[index].request?.strategy.phrase
        report.rules[index].methodReason = "\(given) was given up: \(reason)"
        logger.notice(
            "method changed", metadata: ["rule": "\(report.rules[index].name)", "reason": "\(reason)"])
        carryOut(index, of: plan)
    }

    /// Deletes batch after batch until the loop stops.
    private func repeatBatches(
        _ loop: inout BatchLoop, _ step: Plan.Step, residue: FetchRequest, of index: Int, digest: inout KeyDigest?
    ) throws(StoreError) {
        guard var request = step.request else { return }
        while true {
            switch loop.next(mayContinue: mayContinue) {
            case .delete(let limit, let continuation):
                guard try pauses.waitForStore(writer) else { continue }
                let began = setup.uptime()
                let result = try execute(
                    batch(request, limit: limit, of: loop.batchRows, continuation: continuation))
                let elapsed = setup.uptime() - began
                // Whether others are there is worth a pause, not an error.
                loop.didDelete(result, elapsed: elapsed) { (try? writer.hasCompany()) ?? true }
                digest?.add(result.objectIDs)
                note(result, of: index)
                if !step.isInBatches { report.rules[index].lockElapsed = result.lockElapsed ?? elapsed }
                setup.observer?.runDidDelete(
                    deletedCount: loop.deletedCount, expiredCount: report.rules[index].expired)
                if let reason = try writer.boundSideFiles() { warn("side file grows", reason) }
            case .pause(let length):
                pauses.wait(length)
                loop.didPause()
            case .countResidue where isOver:
                // The store is in trouble already; the plan's figures are the best there is.
                report.rules[index].residue = report.rules[index].expired - report.rules[index].deleted
                loop.didCount(residue: max(1, report.rules[index].residue))
            case .countResidue:
                let isKnown = try isAsPlanned() && report.rules[index].deleted == report.rules[index].expired
                report.rules[index].residue = isKnown ? 0 : try writer.count(residue)
                loop.didCount(residue: report.rules[index].residue)
                // What has arrived since the survey may lie anywhere.
                request.rowIDs = nil
            case .stop(let reason, _):
                conclude(index, reason)
                return
            }
        }
    }

    /// Adds what a batch did to its rule.
    private func note(_ result: BatchDeleteResult, of index: Int) {
        report.rules[index].deleted += result.deletedCount
        report.rules[index].cascaded += result.cascadedCount
        report.rules[index].nullified += result.nullifiedCount
        report.rules[index].removedFiles += result.removedFileCount
        report.rules[index].deletedByTriggers.merge(result.deletedByTriggers, uniquingKeysWith: +)
    }

    /// What comes between two batches.
    var pauses: BatchPauses {
        BatchPauses(uptime: setup.uptime, sleep: setup.sleep, mayContinue: { self.mayContinue }) { reason in
            guard !self.isWaitTold else { return }
            self.isWaitTold = true
            self.logger.notice("store asks to wait", metadata: ["reason": "\(reason)"])
        }
    }

    /// The batch that the loop asks for.
    ///
    /// The last rows below `max_rows` are picked in one statement where batches are windows of the key: windows as
    /// small as what is left to delete would be very many.
    private func batch(
        _ request: BatchDeleteRequest, limit: Int?, of batchRows: Int?, continuation: BatchContinuation?
    ) -> BatchDeleteRequest {
        var batch = request
        batch.fetchRequest.fetchLimit = limit
        batch.continuation = continuation
        if let limit, let batchRows, limit < batchRows,
            request.strategy == .windows || request.strategy == .keys
        {
            batch.strategy = .whole
        }
        return batch
    }

    private func execute(_ batch: BatchDeleteRequest) throws(StoreError) -> BatchDeleteResult {
        do {
            return try context.execute(batch)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.defect, store: writer.name, message: "\(error)")
        }
    }

    private func conclude(_ index: Int, _ reason: BatchLoop.Reason) {
        let residue = report.rules[index].residue
        switch reason {
        case _ where residue == 0:
            report.rules[index].outcome = .completed
        case .finished:
            report.rules[index].outcome = .completed
        case .notShrinking:
            let triggers = report.rules[index].triggers
            let culprit = triggers.isEmpty ? "" : "a trigger (\(triggers.joined(separator: ", "))) or "
            report.rules[index].outcome = .failed
            report.rules[index].message =
                "expired rows come back as fast as they are deleted: \(culprit)another program inserts them; "
                + "\(Figures.count(report.rules[index].deleted, "row")) were deleted, and "
                + "\(Figures.count(residue, "expired row")) \(residue == 1 ? "is" : "are") left"
            status.hasRefusedRule = true
        case .limitReached:
            report.rules[index].outcome = .completed
            warn(
                "rows arrived during the run",
                "\(report.rules[index].name) has deleted its max_rows; \(Figures.count(residue, "row")) that arrived "
                    + "meanwhile are left to the next run")
        case .interrupted:
            report.rules[index].outcome = .interrupted
            report.rules[index].message = "\(reasonToStop); \(Figures.count(residue, "expired row")) are left"
            noteInterruption(rowsRemain: true)
        }
    }

    private func fail(_ index: Int, because error: StoreError, residue: FetchRequest) {
        let committed = report.rules[index].deleted
        let done =
            committed == 0
            ? "nothing was deleted"
            : "\(Figures.count(committed, "row")) \(committed == 1 ? "is" : "are") deleted and committed before it"
        report.rules[index].message = "\(error.description); \(done)"
        report.rules[index].residue = max(0, report.rules[index].expired - committed)
        switch error.kind {
        case .constraint, .unsupported, .strategyUnfit:
            report.rules[index].outcome = .failed
            status.note(error)
            if let count = try? writer.count(residue) { report.rules[index].residue = count }
        case .busy:
            // Nobody knows for how long; the rules that follow would each wait as long again.
            report.rules[index].outcome = .interrupted
            end(because: error)
        default:
            report.rules[index].outcome = .failed
            end(because: error)
        }
    }

    /// The rule's expired rows that no rule before it has left behind, so that a row is residue of one rule only.
    private func residueRequest(of step: Plan.Step, preceding: ArraySlice<Plan.Step>) -> FetchRequest {
        var request = step.deletion ?? FetchRequest(entity: step.rule.entity, predicate: .or([]))
        for (index, earlier) in zip(preceding.indices, preceding) where report.rules[index].residue > 0 {
            guard let deletion = earlier.deletion, deletion.entity.lowercased() == request.entity.lowercased() else {
                continue
            }
            request.predicate = request.predicate && .notTrue(deletion.predicate)
        }
        return request
    }

    /// Says of each rule whose rows a trigger has taken before it came to them that this is so.
    func tellOfRowsTakenByTriggers() {
        for rule in report.rules where rule.outcome == .completed && rule.residue == 0 && rule.deleted < rule.expired {
            let takers = report.rules.compactMap { other -> String? in
                let counts = other.deletedByTriggers.filter { $0.key.lowercased() == rule.entity.lowercased() }
                guard let count = counts.values.first else { return nil }
                return "\(other.name) (\(Figures.count(count, "row")))"
            }
            guard !takers.isEmpty else { continue }
            warn(
                "rows taken by triggers",
                "\(rule.name) deleted \(Figures.grouped(rule.deleted)) of \(Figures.count(rule.expired, "expired row")); "
                    + "triggers deleted others of \(rule.entity) while these rules ran: "
                    + takers.joined(separator: ", "))
        }
    }

    /// Counts a refused rule's rows again if a later rule of the same entity has deleted some: the residue is what is
    /// there at the end.
    func recountRefused(_ plan: Plan) {
        guard !isOver else { return }
        for (index, step) in plan.steps.enumerated() where report.rules[index].residue > 0 {
            guard case .refused = step.disposition, let survey = step.surveyRequest else { continue }
            let hasChanged = plan.steps.indices.contains {
                report.rules[$0].deleted > 0 && plan.steps[$0].rule.entity.lowercased() == survey.entity.lowercased()
            }
            guard hasChanged else { continue }
            let request = FetchRequest(entity: survey.entity, predicate: survey.deletion)
            if let count = try? writer.count(request) { report.rules[index].residue = count }
        }
    }
}
