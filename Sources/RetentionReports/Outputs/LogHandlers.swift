package import Logging
package import PriceStore
import RetentionJob

/// Writes a log record as one line for people: `2026-11-21T06:55:55Z info rule finished rule=yahoo-gold deleted=12`.
package struct TextLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let sink: LogSink
    private let clock: @Sendable () -> Instant

    /// Makes a handler.
    ///
    /// - Parameter clock: tells the time of a record.
    package init(sink: LogSink, level: Logger.Level, clock: @escaping @Sendable () -> Instant) {
        self.sink = sink
        self.logLevel = level
        self.clock = clock
    }

    package subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var line = "\(clock().toSecond.rfc3339) \(event.level.rawValue) \(SafeText.line(event.message.description))"
        for (key, value) in LogFields.ordered(handler: self, event: event) {
            line += " \(LogFields.word(key))=\(LogFields.word(value.description))"
        }
        sink.record(line + "\n")
    }
}

/// Writes a log record as one JSON object on one line: `time`, `level`, `message`, then the metadata.
package struct JSONLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let sink: LogSink
    private let clock: @Sendable () -> Instant

    /// Makes a handler.
    ///
    /// - Parameter clock: tells the time of a record.
    package init(sink: LogSink, level: Logger.Level, clock: @escaping @Sendable () -> Instant) {
        self.sink = sink
        self.logLevel = level
        self.clock = clock
    }

    package subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var members: [JSONText.Member] = [
            .init("time", .string(clock().toMillisecond.rfc3339)),
            .init("level", .string(event.level.rawValue)),
            .init("message", .string(event.message.description)),
        ]
        for (key, value) in LogFields.ordered(handler: self, event: event) {
            let name = ["time", "level", "message"].contains(key) ? key + "_" : key
            members.append(.init(name, LogFields.json(value, key: key)))
        }
        sink.record(JSONText.object(members).line + "\n")
    }
}

/// The metadata of a record: its order and its words.
private enum LogFields {
    /// The keys of the job's own records in the order in which people read them; others follow by name.
    private static let order = [
        "run", "rule", "entity", "file", "cutoff", "outcome", "refusal", "expired", "deleted", "cascaded", "nullified",
        "residue", "batches", "seconds",
    ]

    /// The keys whose values are numbers, so that JSON readers can add them up.
    private static let numbers: Set = [
        "expired", "deleted", "cascaded", "nullified", "residue", "batches", "seconds", "unreadable", "saved",
        "ignored",
        "rejected", "files", "rows", "exit_code", "pid", "bytes", "batch",
        "reclaimed_bytes", "runs",
    ]

    static func ordered(handler: some LogHandler, event: LogEvent) -> [(String, Logger.MetadataValue)] {
        var all = handler.metadata
        if let provided = handler.metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        if let error = event.error { all["error"] = "\(error)" }
        return all.map { ($0.key, $0.value) }.sorted { rank($0.0) < rank($1.0) }
    }

    private static func rank(_ key: String) -> (Int, String) { (order.firstIndex(of: key) ?? order.count, key) }

    /// A key or value as one word: quoted where a reader would take it for more than one.
    static func word(_ text: String) -> String {
        let isPlain =
            !text.isEmpty && text.unicodeScalars.allSatisfy { $0 != " " && $0 != "=" && $0 != "\"" && $0 != "\\" }
        return isPlain && SafeText.line(text) == text ? text : SafeText.quoted(text)
    }

    static func json(_ value: Logger.MetadataValue, key: String) -> JSONText {
        switch value {
        case .string(let text): scalar(text, key: key)
        case .stringConvertible(let value): scalar(value.description, key: key)
        case .array(let values): .array(values.map { json($0, key: key) })
        case .dictionary(let fields):
            .object(fields.sorted { $0.key < $1.key }.map { .init($0.key, json($0.value, key: $0.key)) })
        @unknown default: .string(value.description)
        }
    }

    private static func scalar(_ text: String, key: String) -> JSONText {
        numbers.contains(key) && isNumber(text) ? .number(text) : .string(text)
    }

    /// Whether the text is a number in JSON's form, without an exponent.
    private static func isNumber(_ text: String) -> Bool {
        let parts = (text.first == "-" ? text.dropFirst() : text[...]).split(
            separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, !whole.isEmpty, whole == "0" || whole.first != "0" else { return false }
        return parts.allSatisfy { part in !part.isEmpty && part.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    }
}
