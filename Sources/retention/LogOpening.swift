import Logging
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// Makes the logger of a run.
struct LogOpening {
    /// The settings of the policy; nil: text on standard error.
    var settings: Policy.LogSettings?
    /// The settings of the command line, which take precedence.
    var format: Policy.LogSettings.Format?
    var level: Policy.LogSettings.Level?
    /// Whether standard error shows warnings and errors only; a file keeps its level.
    var isQuiet = false
    /// Whether the report is text, which has all warnings of the run.
    var reportsText = false
    /// Whether all records are shown, even on a terminal.
    var isVerbose = false
    /// Whether the log is that of a dry run, which does not write a log file and shows warnings on standard error.
    var isDryRun = false

    /// The loggers of a run.
    struct Log {
        var logger: Logger
        /// Writes only to the log file, for records that standard error shows in other words.
        var fileLogger: Logger?
        var file: LogSink?
        /// Whether standard error shows no record, because its reader gets the report.
        var isSilent = false
        /// Whether diagnostics name the run: not if it is not recorded.
        var namesRun = true
        private(set) var run = ""
        private(set) var place = ""

        /// The run, the host and the store, for diagnostics without a report.
        var origin: String { namesRun && !run.isEmpty ? "run \(run) \(place)" : place }

        /// The same log with the run in each record.
        func naming(_ run: String, of store: Policy.StoreLocation) -> Self {
            var log = self
            (log.run, log.place) = (run, "on \(MachineFacts.process.host), store \(store.kind.file ?? store.written)")
            for (key, value) in [("run", run), ("store", store.written)] {
                log.logger[metadataKey: key] = "\(value)"
                log.fileLogger?[metadataKey: key] = "\(value)"
            }
            return log
        }

        /// Logs a warning that no report has.
        func warn(_ title: Logger.Message, _ reason: String, _ console: Console) {
            logger.warning(title, metadata: ["reason": "\(reason)"])
            if isSilent { console.diagnose("warning", "\(title): \(reason)", of: origin) }
        }
    }

    /// Opens the log.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate` if the log file cannot be opened.
    func open(_ console: Console) throws -> Log {
        let level = Logger.Level(rawValue: (self.level ?? settings?.level ?? .info).rawValue) ?? .info
        let format = format ?? settings?.format ?? .text
        let clock: @Sendable () -> Instant = { SystemClock.now() }
        let standardError = LogSink { bytes in
            guard let width = console.errorWidth, format == .text else { return console.diagnose(bytes: bytes) }
            let lines = TextWidth.fit(String(decoding: bytes.dropLast(), as: UTF8.self), width: width, indent: 2)
            return console.diagnose(lines.joined(separator: "\n"))
        }
        // On a terminal the report is enough. Details are for files and the journal.
        let isWatched =
            console.isErrorTerminal && format == .text && self.level == nil && settings?.level == nil && !isVerbose
        let showsWarningsOnly = isQuiet || isWatched || settings?.file != nil
        var handlers: [any LogHandler] = []
        var log = Log(logger: Logger(label: "retention") { _ in SwiftLogNoOpLogHandler() })
        if let path = settings?.file, !isDryRun {
            let sink = try LogSink.file(path: path)
            let handler = LineLogHandler(format, sink: sink, level: level, clock: clock)
            handlers.append(handler)
            log.file = sink
            log.fileLogger = Logger(label: "retention") { _ in handler }
        }
        log.isSilent = showsWarningsOnly && reportsText && console.isOneStream
        if !log.isSilent {
            let shown = showsWarningsOnly ? max(level, .warning) : level
            let format = settings?.file == nil ? format : .text
            handlers.append(LineLogHandler(format, sink: standardError, level: shown, clock: clock))
        }
        guard !handlers.isEmpty else { return log }
        log.logger = Logger(label: "retention") { [handlers] _ in
            handlers.count == 1 ? handlers[0] : MultiplexLogHandler(handlers)
        }
        return log
    }
}
