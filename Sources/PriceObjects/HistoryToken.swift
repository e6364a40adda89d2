import PriceStore

/// A position in the history of a store, between two transactions.
///
/// It identifies the store by an identifier in the store itself, not by its path, so tokens remain valid when the file is moved. A token is
/// valid while the store keeps all later transactions, also after a restart. Store its ``description``, or encode it.
///
/// ```swift
/// let place = try context.currentHistoryToken()
/// let text = place?.description ?? ""
/// let placeAfterRestart = HistoryToken(text)
/// ```
public struct HistoryToken: Hashable, Sendable {
    /// The identifier that the store got when its history began: 32 hexadecimal digits.
    public let historyIdentifier: String
    /// The number of the transaction before the position; 0: the position is before the first one.
    public let transactionNumber: Int64

    /// Makes a token; engines do.
    public init(historyIdentifier: String, transactionNumber: Int64) {
        self.historyIdentifier = historyIdentifier
        self.transactionNumber = transactionNumber
    }
}

extension HistoryToken: LosslessStringConvertible {
    /// The identifier and the number, separated by a colon.
    public var description: String { "\(historyIdentifier):\(transactionNumber)" }

    /// Reads a ``description``; nil: the text is not one.
    public init?(_ description: String) {
        let parts = description.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 32,
            parts[0].utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }),
            let number = Int64(parts[1]), number >= 0, String(number) == parts[1]
        else { return nil }
        self.init(historyIdentifier: String(parts[0]), transactionNumber: number)
    }
}

/// It is encoded as its ``description``.
extension HistoryToken: RawRepresentable, Codable {
    /// The ``description``.
    public var rawValue: String { description }

    /// Reads a ``description``; nil: the text is not one.
    public init?(rawValue: String) { self.init(rawValue) }
}
