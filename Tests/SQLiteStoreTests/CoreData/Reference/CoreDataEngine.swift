import PriceStore

@testable import SQLiteStore

/// The engine as the oracle asks it.
enum CoreDataEngine {
    /// All rows in one batch.
    static func delete(_ path: String, _ request: CoreDataOracle.Request) throws -> CoreDataOracle.Outcome {
        try carryOut(path, request, method: .whole)
    }

    /// A few rows at a time, where the survey says that they may be parted.
    static func deleteInBatches(_ path: String, _ request: CoreDataOracle.Request) throws -> CoreDataOracle.Outcome {
        let survey = try SQLiteReader(path: path).findings(request.survey)
        let method = survey.possibleMethods.last(where: \.isInBatches) ?? .whole
        // Rows that require each other are for a request of the library only.
        guard survey.related.obstacles.isEmpty, survey.unsupported == nil else {
            return try carryOut(path, request, method: .whole)
        }
        return try carryOut(path, request, method: method)
    }

    /// The survey of a connection that only reads.
    static func survey(_ path: String, _ request: CoreDataOracle.Request) throws -> CoreDataOracle.Outcome {
        let survey = try SQLiteReader(path: path).survey(request.survey)
        if !survey.related.obstacles.isEmpty {
            return .refused(survey.related.obstacles.flatMap(\.relationship.sourceAttributes).joined(separator: ", "))
        }
        return .done(
            deleted: survey.expiredCount, cascaded: survey.related.cascadedCount,
            nullified: survey.related.nullifiedCount)
    }

    private static func carryOut(
        _ path: String, _ request: CoreDataOracle.Request, method: DeleteMethod
    ) throws -> CoreDataOracle.Outcome {
        let writer = try SQLiteWriter(path: path)
        do {
            let total = try writer.deleteAll(request.survey, method: method, batchRows: 2).total
            return .done(
                deleted: total.deletedCount, cascaded: total.cascadedCount, nullified: total.nullifiedCount)
        } catch  where error.kind == .constraint {
            return .refused(error.message)
        }
    }
}

extension CoreDataOracle.Request {
    /// The request as a rule would make it.
    var survey: SurveyRequest {
        let date = DateAttribute(
            name: dateAttribute, encoding: .appleSeconds, zone: .utc, earliest: Instant(microseconds: 0))
        // Seconds from 1970-01-01 to 2001-01-01.
        let seconds = cutoffAppleSeconds + 978_307_200
        var request = SurveyRequest(
            entity: entity, date: date, cutoff: Instant(microseconds: Int64(seconds * 1_000_000)))
        request.includesSubentities = includesSubentities
        return request
    }
}
