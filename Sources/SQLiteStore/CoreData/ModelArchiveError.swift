/// Why a Core Data model cannot be read.
struct ModelArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong and at which byte or object, as a sentence without a full stop.
    var message: String

    init(_ message: String) { self.message = message }

    var description: String { message }
}
