import Logging
import PriceStore
import RetentionPolicy

extension Run {
    /// Carries out one step of the plan, or tells why it does not.
    ///
    /// Trouble that concerns this rule alone (a trigger that raises) fails it, and the next rules go on; all other
    /// trouble ends the run.
    func carryOut(_ step: Plan.Step, at index: Int, preceding: ArraySlice<Plan.Step>) {
        guard case .planned = step.disposition, let request = step.request else { return }
        let began = setup.uptime()
        var loop = BatchLoop(
            expiredCount: step.survey.expiredCount, batch: step.rule.batch,
            isLimited: request.fetchRequest.fetchLimit != nil, maxRows: step.maxRows)
        let residue = residueRequest(of: step, preceding: preceding)
        if step.survey.expiredCount > 0, mayContinue {
            setup.observer?.runDidBegin(rule: step.rule.name, expiredCount: step.survey.expiredCount)
        }
        do throws(StoreError) {
            try repeatBatches(&loop, request, residue: residue, at: index)
        } catch {
            fail(index, because: error, residue: residue)
        }
        report.rules[index].batches = loop.batchCount
        report.rules[index].elapsed += setup.uptime() - began
        setup.observer?.runDidEnd()
    }

    /// Deletes batch after batch until the loop stops.
    private func repeatBatches(
        _ loop: inout BatchLoop, _ request: BatchDeleteRequest, residue: FetchRequest, at index: Int
    ) throws(StoreError) {
        while true {
            switch loop.next(mayContinue: mayContinue) {
            case .delete(let limit, let continuation):
                guard try waitForStore() else { continue }
                let began = setup.uptime()
                let result = try execute(
                    batch(request, limit: limit, of: loop.batchRows, continuation: continuation))
                // Whether others are there is worth a pause, not an error.
                loop.didDelete(result, elapsed: setup.uptime() - began) { (try? writer.hasCompany()) ?? true }
                report.rules[index].deleted += result.deletedCount
                report.rules[index].cascaded += result.cascadedCount
                report.rules[index].nullified += result.nullifiedCount
                report.rules[index].removedFiles += result.removedFileCount
                setup.observer?.runDidDelete(
                    deletedCount: loop.deletedCount, expiredCount: report.rules[index].expired)
            case .pause(let length):
                wait(length)
                loop.didPause()
            case .countResidue where isOver:
                // The store is in trouble already; the plan's figure is the best there is.
                loop.didCount(residue: max(1, report.rules[index].expired - loop.deletedCount))
            case .countResidue:
                loop.didCount(residue: try writer.count(residue))
            case .stop(let reason, let residue):
                return conclude(index, reason, residue: residue)
            }
        }
    }

    /// Waits as the store itself wants it, as for a standby that is behind; false: the run is to stop meanwhile.
    private func waitForStore() throws(StoreError) -> Bool {
        while mayContinue, let pause = try writer.wantedPause() {
            if !isWaitTold {
                isWaitTold = true
                logger.notice("store asks to wait", metadata: ["reason": "\(pause.reason)"])
            }
            wait(pause.length)
            if !pause.isUntilOver { break }
        }
        return mayContinue
    }

    /// Waits, in portions, so that a signal or the end of the budget is noticed.
    private func wait(_ length: Duration) {
        let end = setup.uptime() + length
        while mayContinue {
            let left = end - setup.uptime()
            guard left > .zero else { return }
            setup.sleep(min(left, .milliseconds(50)))
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
            batch.continuation = nil
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

    private func conclude(_ index: Int, _ reason: BatchLoop.Reason, residue: Int) {
        report.rules[index].residue = residue
        switch reason {
        case .finished:
            report.rules[index].outcome = .completed
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
            ? "nothing was deleted" : "\(Figures.count(committed, "row")) are deleted and committed before it"
        report.rules[index].message = "\(error.description); \(done)"
        report.rules[index].residue = max(0, report.rules[index].expired - committed)
        switch error.kind {
        case .constraint, .unsupported:
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
