@preconcurrency import Glibc
import PriceStore
package import RetentionJob

/// The content of an output file, by which the program recognises its own files.
package enum OutputContent: Sendable {
    /// A SQLite file, which the engine and the ledger check.
    case ledger
    /// Lines at the end of a text file.
    case log
    /// Figures for Prometheus, which replace those of the last run.
    case figures
    /// The review page, which replaces an earlier one.
    case page
    /// A plan, which replaces an earlier one.
    case plan
    /// A policy, which replaces no file.
    case policy

    /// How many bytes of a file are read to recognise it.
    private static let sampleSize = 4096

    /// Whether a file begins with a record: a time, or an object with one. After a power failure there may be zeros in the place of lines
    /// that were not on disk yet.
    private static func isLog(_ bytes: ArraySlice<UInt8>) -> Bool {
        let text = String(decoding: bytes.drop { $0 == 0 }.prefix(20), as: UTF8.self)
        return text.isEmpty || text.hasPrefix("{\"time\"")
            || text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil
    }

    /// Why the program must not write to a file, as a clause about the file; nil: it may, because the file does not exist, is empty, or was
    /// written by the program.
    package func objection(to place: FilePlace) -> String? {
        if let obstacle = place.obstacle { return obstacle }
        if self == .policy, place.facts != nil { return "exists" }
        guard self != .ledger else { return nil }
        guard let bytes = place.firstBytes(Self.sampleSize) else {
            return "cannot be read to check its content: \(String(systemError: errno))"
        }
        guard !bytes.isEmpty else { return nil }
        let (isOwn, problem) =
            switch self {
            case .ledger, .policy: (true, "")
            case .log: (Self.isLog(bytes[...]), "does not begin like a log of retention")
            case .figures: (bytes.starts(with: MetricsText.firstWords.utf8), "was not written by retention")
            case .page: (bytes.starts(with: ReviewPage.firstLines.utf8), "is not a page of retention report")
            case .plan: (bytes.starts(with: SavedPlan.firstLine.utf8), "is not a plan")
            }
        return isOwn ? nil : "exists and \(problem); name another file or remove this one"
    }
}
