import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// Makes the logger of a run.
struct LogOpening {
    /// What the policy says; nil: text on standard error.
    var settings: Policy.LogSettings?
    /// What the command line says in its place.
    var format: Policy.LogSettings.Format?
    var level: Policy.LogSettings.Level?
    /// Whether standard error shows warnings and errors only; a file keeps its level.
    var isQuiet = false
    /// Whether every detail is asked for, on a terminal too.
    var isVerbose = false
    /// A dry run makes no file: of a log that has one, only warnings are shown, on standard error.
    var isDryRun = false

    /// What a run logs with.
    struct Log {
        var logger: Logger
        /// Writes to the log file alone: what people are told in other words on standard error.
        var fileLogger: Logger?
        /// The log file, if there is one.
        var file: LogSink?
    }

    /// Opens the log.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate` if the log file cannot be opened.
    func open(_ console: Console) throws -> Log {
        let settings = settings ?? Policy.LogSettings()
        let level = Self.level(self.level ?? settings.level ?? .info)
        let format = format ?? settings.format
        let clock: @Sendable () -> Instant = { SystemClock.now() }
        let standardError = LogSink { bytes in
            guard let width = console.errorWidth, format == .text else { return console.diagnose(bytes: bytes) }
            let lines = TextWidth.fit(String(decoding: bytes.dropLast(), as: UTF8.self), width: width, indent: 2)
            return console.diagnose(lines.joined(separator: "\n"))
        }
        var handlers: [any LogHandler] = []
        var log = Log(logger: Logger(label: "retention") { _ in SwiftLogNoOpLogHandler() })
        if let path = settings.file {
            if !isDryRun {
                let sink = try LogSink.file(path: path)
                let handler = Self.handler(format, sink, level, clock)
                handlers.append(handler)
                log.file = sink
                log.fileLogger = Logger(label: "retention") { _ in handler }
            }
            handlers.append(TextLogHandler(sink: standardError, level: max(level, .warning), clock: clock))
        } else {
            // Who looks at a terminal gets the report; what goes on in between is for files and the journal.
            let isWatched = console.isErrorTerminal && format == .text && self.level == nil && settings.level == nil
            let showsWarningsOnly = isQuiet || isWatched && !isVerbose
            handlers.append(
                Self.handler(format, standardError, showsWarningsOnly ? max(level, .warning) : level, clock))
        }
        log.logger = Logger(label: "retention") { [handlers] _ in
            handlers.count == 1 ? handlers[0] : MultiplexLogHandler(handlers)
        }
        return log
    }

    private static func handler(
        _ format: Policy.LogSettings.Format, _ sink: LogSink, _ level: Logger.Level,
        _ clock: @escaping @Sendable () -> Instant
    ) -> any LogHandler {
        switch format {
        case .text: TextLogHandler(sink: sink, level: level, clock: clock)
        case .json: JSONLogHandler(sink: sink, level: level, clock: clock)
        }
    }

    private static func level(_ level: Policy.LogSettings.Level) -> Logger.Level {
        switch level {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        }
    }
}
