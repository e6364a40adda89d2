@preconcurrency import Glibc
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// The only code that prints. The report goes to standard output, everything else to standard error. Both are unbuffered, so that nothing
/// is lost however the process ends.
final class Console: Sendable {
    /// Writes all given bytes, and returns whether it could. If not, `errno` says why.
    typealias Sink = @Sendable ([UInt8]) -> Bool

    private let output: Sink
    private let errors: Sink
    /// Whether the sinks are the standard streams.
    private let isStandard: Bool
    /// Whether standard output is a terminal that can do more than show lines of text.
    let isTerminal: Bool
    /// Whether standard output is a terminal that may show colours.
    let usesColour: Bool
    /// Whether standard error is a terminal on which a line can be overwritten.
    let showsProgress: Bool
    /// The columns to which reports are wrapped: the terminal's, or 120 if the output is not a terminal.
    let width: Int
    /// The columns of the terminal, which no table is wider than; nil: the output is not a terminal.
    let tableWidth: Int?
    let isErrorTerminal: Bool
    /// Whether both streams have one reader, as on a terminal, in a mail of cron and in the journal.
    let isOneStream: Bool
    /// Whether standard error is the journal of systemd. Source: systemd.exec(5), JOURNAL_STREAM.
    let isJournal: Bool

    private let progressIsShown = LockedValue(false)
    private let origins = LockedValue<Set<String>>([])

    /// Reads the properties of the terminal. From now on a closed reader is a write error and does not end the process, because a run must
    /// not die when its report is piped into `head`. The same holds for the limit on file size (`ulimit -f`).
    init() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        let isDumb = Self.environment("TERM") == "dumb"
        let isOutputTerminal = isatty(STDOUT_FILENO) == 1
        // Source: no-color.org. It is set to anything but the empty string.
        let forbidsColour = !(Self.environment("NO_COLOR") ?? "").isEmpty
        isTerminal = isOutputTerminal && !isDumb
        usesColour = isTerminal && !forbidsColour
        isErrorTerminal = isatty(STDERR_FILENO) == 1
        showsProgress = isErrorTerminal && !isDumb
        var (out, errors) = (stat(), stat())
        let isKnown = fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &errors) == 0
        isOneStream = isKnown && (out.st_dev, out.st_ino) == (errors.st_dev, errors.st_ino)
        isJournal = isKnown && Self.environment("JOURNAL_STREAM") == "\(errors.st_dev):\(errors.st_ino)"
        tableWidth = isOutputTerminal ? Self.columns(of: STDOUT_FILENO) ?? 80 : nil
        width = tableWidth ?? 120
        output = { FilePortions.write($0, to: STDOUT_FILENO) }
        self.errors = { FilePortions.write($0, to: STDERR_FILENO) }
        isStandard = true
    }

    /// Makes a console that prints to two sinks, neither of which is a terminal.
    init(output: @escaping Sink, errors: @escaping Sink) {
        (isTerminal, usesColour, isErrorTerminal, showsProgress) = (false, false, false, false)
        (isOneStream, isJournal) = (false, false)
        tableWidth = nil
        width = 120
        self.output = output
        self.errors = errors
        isStandard = false
    }

    /// The layout of reports on standard output.
    var layout: TextLayout { TextLayout(width: width, tableWidth: tableWidth, usesColour: usesColour) }

    /// Writes a report to standard output.
    ///
    /// - Throws: ``CommandFailure`` if writing fails; a closed reader is not an error.
    func report(_ text: String) throws(CommandFailure) {
        eraseProgress()
        guard !output(Array(text.utf8)), errno != EPIPE else { return }
        throw CommandFailure(
            exitCode: 74, message: "the report could not be written: \(String(systemError: errno))")
    }

    /// Writes lines to standard output, wrapped to its width.
    func report(lines: [String], indent: Int = 0) throws(CommandFailure) {
        try report(lines.flatMap { TextWidth.fit($0, width: width, indent: indent) }.map { $0 + "\n" }.joined())
    }

    /// Writes diagnostics to standard output, wrapped and coloured as reports are.
    func report(_ diagnostics: [Diagnostic], of source: PolicySource) throws(CommandFailure) {
        guard !diagnostics.isEmpty else { return }
        let text = DiagnosticText.render(diagnostics, source: source, width: tableWidth) {
            [usesColour] text, severity in
            guard usesColour else { return text }
            return switch severity {
            case .error: Style.bad.painted(text)
            case .warning: Style.caution.painted(text)
            case .advice: Style.good.painted(text)
            }
        }
        try report(text + "\n")
    }

    /// The columns of standard error, to which its lines are wrapped; nil: it is not a terminal.
    var errorWidth: Int? { isErrorTerminal ? Self.columns(of: STDERR_FILENO) ?? 80 : nil }

    /// Writes lines for people to standard error. An error here cannot be reported.
    @discardableResult
    func diagnose(_ text: String) -> Bool { diagnose(bytes: Array((text + "\n").utf8)) }

    /// Writes what is wrong, or what went well enough, to standard error, wrapped to its width.
    ///
    /// - Parameters:
    ///   - kind: `error` or `warning`.
    ///   - origin: what is introduced before.
    func diagnose(_ kind: String, _ text: String, of origin: String = "") {
        introduce(origin)
        let line = "retention: \(kind): " + SafeText.line(text)
        diagnose((errorWidth.map { TextWidth.fit(line, width: $0, indent: 2) } ?? [line]).joined(separator: "\n"))
    }

    /// Says once what the diagnostics are about, for a mail or a journal; on a terminal the command is in sight.
    ///
    /// - Parameter exitCode: the exit code on which there is help; nil: no error follows.
    func introduce(_ origin: String, exitCode: Int32? = nil) {
        guard !origin.isEmpty, !isErrorTerminal, origins.withLock({ $0.insert(origin).inserted }) else { return }
        let help = exitCode.map { "; help: retention explain \($0), man retention, man retention-run" }
        diagnose("retention: " + SafeText.line(Secrets.hidden(in: origin)) + (help ?? ""))
    }

    /// Writes the bytes of whole lines to standard error.
    func diagnose(bytes: [UInt8]) -> Bool {
        eraseProgress()
        return errors(bytes)
    }

    /// The columns of a line that can be overwritten. One is left free, because some terminals wrap after the last column.
    var progressWidth: Int { max(10, (errorWidth ?? 80) - 1) }

    /// Shows a line that the next one overwrites, cut to the width of the terminal.
    func showProgress(_ line: String) {
        guard showsProgress else { return }
        let text = "\r" + String(line.prefix(progressWidth)) + "\u{1B}[K"
        progressIsShown.withLock { isShown in
            _ = errors(Array(text.utf8))
            isShown = true
        }
    }

    /// Removes the progress line, if there is one.
    func eraseProgress() {
        progressIsShown.withLock { isShown in
            guard isShown else { return }
            _ = errors(Array("\r\u{1B}[K".utf8))
            isShown = false
        }
    }

    private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    private static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
