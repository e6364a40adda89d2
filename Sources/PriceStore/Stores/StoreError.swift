/// An error of a store: its kind, the store, the engine's message, and what to do next.
///
/// It never contains a bound value. Passwords in its texts are hidden.
///
/// ```swift
/// do {
///     _ = try context.fetch(StoreFetchRequest(entity: "trade"))
/// } catch let error as StoreError where error.kind == .unknownName {
///     print(error.message)
/// }
/// ```
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a store's error.
    public enum Kind: String, Hashable, Sendable {
        /// The store does not exist.
        case missing
        /// The server cannot be reached.
        case unreachable
        /// Reading or writing is not permitted.
        case permission
        /// Another connection holds the store for longer than the busy timeout.
        case busy
        /// The disk is full, a read or write failed, or the file is damaged or no database.
        case inputOutput
        /// A constraint or a trigger of the store refused the change.
        case constraint
        /// The engine cannot handle this kind of schema, or the request.
        case unsupported
        /// A dry run cannot count the effects of pending rows.
        case unpredictable
        /// The store lacks a named entity or attribute, or the engine lacks a named method.
        case unknownName
        /// A file or a place in the store cannot be created.
        case cannotCreate
        /// The store was replaced by another file while it was in use.
        case replaced
        /// The task was cancelled. Its unfinished work is rolled back.
        case cancelled
        /// A part of the requested history is deleted. Contexts must be reset.
        case historyMissing
        /// A defect in the program.
        case defect
    }

    /// The kind of error.
    public var kind: Kind
    /// The store, as messages name it.
    public var store: String
    /// What failed, as a sentence without a full stop.
    public var message: String
    /// The engine's error code, such as `SQLITE_FULL` or an SQLSTATE; nil: the error is not from the engine.
    public var engineCode: String?
    /// What to do next; nil: the message says all.
    public var hint: String?

    /// Makes an error.
    public init(_ kind: Kind, store: String, message: String, engineCode: String? = nil, hint: String? = nil) {
        self.kind = kind
        self.store = Secrets.hidden(in: store)
        self.message = Secrets.hidden(in: message)
        self.engineCode = engineCode
        self.hint = hint.map(Secrets.hidden)
    }

    package static func cancelled(_ store: String) -> StoreError {
        StoreError(.cancelled, store: store, message: "the task was cancelled")
    }

    /// The error of a batch that is rolled back because it would delete the last readable row of an entity.
    package static func lastRow(of entity: String, store: String) -> StoreError {
        StoreError(
            .constraint, store: store,
            message:
                "the last batch is rolled back, because no readable row of \(entity) would be left: another program or a "
                + "trigger has deleted the rows that should stay",
            hint: "if \(entity) may be emptied, write allow_empty: true in the rule")
    }

    /// The error of a delete of rows that others refer to, with a number of rows for each source.
    package static func referenced(
        _ entity: String, by obstacles: [(rowCount: Int, source: String)],
        forbiddenBy reason: String = "deny does not allow that", store: String
    ) -> StoreError {
        let list = obstacles.map { "\($0.rowCount.counted("row")) of \($0.source)" }.joined(separator: ", ")
        return StoreError(
            .constraint, store: store,
            message: "rows of \(entity) that would be deleted are referenced by \(list), and \(reason)",
            hint: "delete those first, or ask for cascade or nullify")
    }

    /// The store, the message, the engine's code and the hint on one line.
    public var description: String {
        var text = "\(store): \(message)"
        if let engineCode { text += " (\(engineCode))" }
        if let hint { text += "; \(hint)" }
        return text
    }
}
