import GRDB
import PriceStore

/// What each batch is checked by, with other figures than those that chose its rows. The batch whose check fails is rolled
/// back.
extension BatchDelete {
    /// Throws if more rows are deleted than were asked for. A row takes others of the request along where candles are made of all
    /// rows of a date, or objects cascade: then only the limit of the rule tells.
    func requireNoMoreThanAsked() throws {
        let limit = work.rollup == nil && objects == nil ? work.fetchRequest.fetchLimit : nil
        let most = min(limit ?? .max, work.allowedRows ?? .max)
        guard deletedCount > most else { return }
        throw defect("\(deletedCount.counted("row", "was", "were")) deleted, where \(most) may be")
    }

    /// Throws if SQLite has changed other rows than those that the delete of a table names. Triggers, keys and a history may.
    ///
    /// - Parameter before: how many rows the connection had changed before the delete.
    func requireNoOtherChange(since before: Int) throws {
        let changedCount = db.totalChangesCount - before - db.changesCount
        guard changedCount != 0, temporaries.history?.isKept != true,
            case let keys = try connection.keyGraph(of: statement.scope.table.name, work.relationships, db),
            !keys.takesOthers, keys.clearing.isEmpty, try !keys.firesTriggers(connection, db)
        else { return }
        throw defect(
            "\(changedCount.counted("other row", "was", "were")) changed, where no trigger and no key does that")
    }

    /// Throws if the newest date of a batch is not before the cutoff as it is read one by one, and not by SQL.
    func requireExpired(_ newest: StoreValue, _ date: DateAttribute) throws {
        guard let cutoff = statement.date?.before, case .span(_, let end) = date.encoding.read(newest, zone: date.zone),
            end > cutoff
        else { return }
        throw defect("a date of \(end.rfc3339) is not before the cutoff \(cutoff.rfc3339)")
    }

    private var temporaries: Temporaries { connection.temporaries }

    private func defect(_ message: String) -> StoreError {
        connection.failure(.defect, "a batch of \(statement.scope.table.name) is rolled back: \(message)")
    }
}
