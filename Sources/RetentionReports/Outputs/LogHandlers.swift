package import Logging
package import PriceStore
import RetentionJob
package import RetentionPolicy

/// Writes each log record as one line: for people (`2026-11-21T06:55:55Z info rule finished rule=yahoo-gold deleted=12`) or
/// as a JSON object (`time`, `level`, `message`, then the metadata).
package struct LineLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let format: Policy.LogSettings.Format
    private let sink: LogSink
    private let clock: @Sendable () -> Instant

    package init(
        _ format: Policy.LogSettings.Format, sink: LogSink, level: Logger.Level,
        clock: @escaping @Sendable () -> Instant
    ) {
        self.format = format
        self.sink = sink
        self.logLevel = level
        self.clock = clock
    }

    package subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let fields = LogFields.ordered(handler: self, event: event)
        let line =
            switch format {
            case .text: text(event, fields)
            case .json: json(event, fields)
            }
        sink.record(line + "\n")
    }

    private func text(_ event: LogEvent, _ fields: [(String, Logger.MetadataValue)]) -> String {
        let message = SafeText.line(event.message.description)
        return fields.reduce(into: "\(clock().toSecond.rfc3339) \(event.level.rawValue) \(message)") { line, field in
            line += " \(LogFields.word(field.0))=\(LogFields.word(field.1.description))"
        }
    }

    private func json(_ event: LogEvent, _ fields: [(String, Logger.MetadataValue)]) -> String {
        var members: [JSONText.Member] = [
            .init("time", .string(clock().toMillisecond.rfc3339)),
            .init("level", .string(event.level.rawValue)),
            .init("message", .string(event.message.description)),
        ]
        for (key, value) in fields {
            let name = ["time", "level", "message"].contains(key) ? key + "_" : key
            members.append(.init(name, LogFields.json(value)))
        }
        return JSONText.object(members).line
    }
}

/// The order and the words of a record's metadata.
private enum LogFields {
    /// The keys of the job's own records in the order of importance. Others follow by name.
    private static let ranks = Dictionary(
        firstOf: (["run", "store", "rule", "entity", "file", "refusal", "refusals"]
            + RunReport.RuleReport.logged.map(\.name) + RunReport.logged.map(\.name)).enumerated().map { ($1, $0) }
    )

    static func ordered(handler: some LogHandler, event: LogEvent) -> [(String, Logger.MetadataValue)] {
        var all = handler.metadata
        for (key, value) in event.metadata ?? [:] { all[key] = value }
        return all.map { (rank: ranks[$0.key] ?? ranks.count, key: $0.key, value: $0.value) }
            .sorted { ($0.rank, $0.key) < ($1.rank, $1.key) }.map { ($0.key, $0.value) }
    }

    /// A key or value as one word. It is quoted if a reader would see several words or none.
    static func word(_ text: String) -> String {
        let isPlain = !text.isEmpty && !text.utf8.contains { " =\"\\".utf8.contains($0) }
        return isPlain && SafeText.line(text) == text ? text : SafeText.quoted(text)
    }

    static func json(_ value: Logger.MetadataValue) -> JSONText {
        if case .stringConvertible(let value as JSONText) = value { value } else { .string(value.description) }
    }
}
