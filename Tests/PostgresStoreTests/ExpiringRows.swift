import Foundation
import PriceStore
import StoreConformance

@testable import PostgresStore

/// A table of a row a minute, and the requests that delete its oldest.
enum ExpiringRows {
    static let schema = """
        CREATE TABLE q (id int PRIMARY KEY, at timestamptz); CREATE INDEX ON q (at);
        INSERT INTO q SELECT n, timestamptz '2026-01-01 00:00:00+00' + n * interval '1 minute' FROM generate_series(1, 500) n;
        """

    static let request = SurveyRequest(entity: "q", date: .of("at"), cutoff: at("2026-01-01T05:00:00Z"))

    /// A batch of at most so many of the rows that a rule deletes, the oldest first.
    static func batch(_ rows: Int? = 50, of rule: SurveyRequest = request) -> DeleteWork {
        DeleteWork(
            fetchRequest: StoreFetchRequest(
                entity: rule.entity, predicate: rule.expired, sortDescriptors: [StoreSortDescriptor("at")],
                fetchLimit: rows
            ),
            resultType: .count, method: .range)
    }
}

/// The error that a piece of work ends with; nil: none, or none of a store.
func storeError(_ body: () throws -> Void) -> StoreError? {
    do {
        try body()
        return nil
    } catch {
        return error as? StoreError
    }
}

extension PostgresDatabase {
    /// What a survey finds, with what only the engine knows of it.
    func findings(_ request: SurveyRequest) throws -> Findings {
        try findings(of: request, after: survey(request))
    }
}

/// A value that two threads share.
final class Flag: @unchecked Sendable {
    private let lock = NSLock()
    private var value = false
    var isSet: Bool {
        get { lock.withLock { value } }
        set { lock.withLock { value = newValue } }
    }
}
