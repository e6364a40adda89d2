import Logging
import PriceStore
import RetentionPolicy

extension Run {
    /// Carries out the steps of one pass: usually a single rule's.
    ///
    /// Trouble that concerns its rules alone (a trigger that raises) fails them, and the next rules go on; all other
    /// trouble ends the run.
    func carryOut(_ pass: [Int], of plan: Plan) {
        let steps = pass.map { plan.steps[$0] }
        guard let first = pass.first, var step = steps.first else { return }
        step.request?.alsoDeleting = steps.dropFirst().compactMap { $0.deletion?.predicate }
        let rowIDs = steps.map(\.request?.rowIDs)
        step.request?.rowIDs = rowIDs.dropFirst().reduce(rowIDs.first ?? nil) { $0?.union($1) }
        step.request?.surveyed = planned
        let began = setup.uptime()
        let residues = zip(steps, pass).map { residueRequest(of: $0, preceding: plan.steps[..<$1]) }
        let expiredCount = steps.reduce(0) { $0 + $1.survey.expiredCount }
        if expiredCount > 0, mayContinue {
            setup.observer?.runDidBegin(
                rule: steps.map(\.rule.name).joined(separator: ", "), expiredCount: expiredCount)
        }
        var loop = BatchLoop(step, expiredCount: expiredCount)
        // A digest is of one rule's rows: a rule that records one has a pass of its own.
        var digest = step.rule.recordsDigest ? KeyDigest() : nil
        if digest != nil { step.request?.resultType = .objectIDs }
        do throws(StoreError) {
            for (member, index) in zip(steps, pass) where member.survey.expiredCount > 0 {
                report.rules[index].oldestDeleted = try oldest(of: member, preceding: plan.steps[..<index])
            }
            try checkCompany(step)
            try repeatBatches(&loop, step, residues: residues, of: pass, digest: &digest)
        } catch {
            setup.observer?.runDidEnd()
            // A constraint may stand against one transaction for all rows, and not against batches.
            if step.hasBatchesToFallBackOn, error.kind == .strategyUnfit || error.kind == .constraint {
                return goOnInBatches(pass, of: plan, because: error.message)
            }
            var error = error
            if error.kind == .strategyUnfit, step.isStrategyChosen { error.hint = "raise limits.max_lock" }
            for (index, residue) in zip(pass, residues) { fail(index, because: error, residue: residue) }
        }
        if report.rules[first].deleted > 0 { report.rules[first].digest = digest?.finish() }
        report.rules[first].batches = loop.batchCount
        for (place, index) in pass.enumerated() { noteDates(index, steps[place], residue: residues[place]) }
        report.rules[first].elapsed += setup.uptime() - began
        setup.observer?.runDidEnd()
    }

    /// Throws if nothing that the engine chose to lock the store for long with should begin now.
    private func checkCompany(_ step: Plan.Step) throws(StoreError) {
        guard step.hasBatchesToFallBackOn, step.survey.expiredCount > 0, try writer.hasCompany() else { return }
        throw StoreError(.strategyUnfit, store: writer.name, message: "others have come to the store")
    }

    /// Takes batches in the place of a strategy that the engine chose and that does not fit after all.
    private func goOnInBatches(_ pass: [Int], of plan: Plan, because reason: String) {
        var plan = plan
        for index in pass {
            let given = plan.steps[index].request?.strategy.rawValue ?? ""
            plan.steps[index].useBatches()
            report.rules[index].strategy = plan.steps[index].request?.strategy
            report.rules[index].strategyReason = "\(given) was given up: \(reason)"
            logger.notice(
                "strategy changed", metadata: ["rule": "\(report.rules[index].name)", "reason": "\(reason)"])
            carryOut([index], of: plan)
        }
    }

    /// Deletes batch after batch until the loop stops.
    private func repeatBatches(
        _ loop: inout BatchLoop, _ step: Plan.Step, residues: [FetchRequest], of pass: [Int],
        digest: inout KeyDigest?
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
                note(result, of: pass)
                if !step.isInBatches { report.rules[pass[0]].lockElapsed = result.lockElapsed ?? elapsed }
                setup.observer?.runDidDelete(
                    deletedCount: loop.deletedCount, expiredCount: pass.reduce(0) { $0 + report.rules[$1].expired })
                if let reason = try writer.boundSideFiles() { warn("side file grows", reason) }
            case .pause(let length):
                pauses.wait(length)
                loop.didPause()
            case .countResidue where isOver:
                // The store is in trouble already; the plan's figures are the best there is.
                for index in pass {
                    report.rules[index].residue = report.rules[index].expired - report.rules[index].deleted
                }
                loop.didCount(residue: max(1, pass.reduce(0) { $0 + report.rules[$1].residue }))
            case .countResidue:
                let isKnown =
                    try isAsPlanned() && pass.allSatisfy { report.rules[$0].deleted == report.rules[$0].expired }
                for (index, residue) in zip(pass, residues) {
                    report.rules[index].residue = isKnown ? 0 : try writer.count(residue)
                }
                loop.didCount(residue: pass.reduce(0) { $0 + report.rules[$1].residue })
                // What has arrived since the survey may lie anywhere.
                request.rowIDs = nil
            case .stop(let reason, _):
                for index in pass { conclude(index, reason) }
                return
            }
        }
    }

    /// Adds what a batch did to the rules of its pass.
    private func note(_ result: BatchDeleteResult, of pass: [Int]) {
        guard let first = pass.first else { return }
        report.rules[first].deleted += result.deletedCount
        report.rules[first].cascaded += result.cascadedCount
        report.rules[first].nullified += result.nullifiedCount
        report.rules[first].removedFiles += result.removedFileCount
        report.rules[first].deletedByTriggers.merge(result.deletedByTriggers, uniquingKeysWith: +)
        for (index, count) in zip(pass.dropFirst(), result.alsoDeletedCounts) {
            report.rules[index].deleted += count
            if count > 0 { report.rules[index].batches += 1 }
        }
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

extension ClosedRange<Int64> {
    /// The least range that holds both; nil: the other one is not known.
    fileprivate func union(_ other: Self?) -> Self? {
        other.map { Swift.min(lowerBound, $0.lowerBound)...Swift.max(upperBound, $0.upperBound) }
    }
}
