import Logging
import PriceStore
import RetentionJob
import RetentionPolicy

/// Makes the logger of a run.
struct LogOpening {
    /// What the policy says; nil: text on standard error.
    var settings: Policy.LogSettings?
    /// What the command line says in its place.
    var format: Policy.LogSettings.Format?
    var level: Policy.LogSettings.Level?
    /// Whether standard error shows warnings and errors only; a file keeps its level.
    var isQuiet = false
    /// A dry run makes no file: of a log that has one, only warnings are shown, on standard error.
    var isDryRun = false

    /// The logger, and the sink of the log file if there is one.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate` if the log file cannot be opened.
    func open(_ console: Console) throws -> (logger: Logger, file: LogSink?) {
        let settings = settings ?? Policy.LogSettings()
        let level = Self.level(self.level ?? settings.level)
        let format = format ?? settings.format
        let clock: @Sendable () -> Instant = { SystemClock.now() }
        let standardError = LogSink { console.diagnose(bytes: $0) }
        var handlers: [any LogHandler] = []
        var file: LogSink?
        if let path = settings.file {
            if !isDryRun {
                let sink = try LogSink.file(path: path)
                handlers.append(Self.handler(format, sink, level, clock))
                file = sink
            }
            handlers.append(TextLogHandler(sink: standardError, level: max(level, .warning), clock: clock))
        } else {
            handlers.append(Self.handler(format, standardError, isQuiet ? max(level, .warning) : level, clock))
        }
        let logger = Logger(label: "retention") { [handlers] _ in
            handlers.count == 1 ? handlers[0] : MultiplexLogHandler(handlers)
        }
        return (logger, file)
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
