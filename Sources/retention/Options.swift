import ArgumentParser
@preconcurrency import Glibc
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// The policy file, as every command names it.
struct PolicyOption: ParsableArguments {
    @Option(
        name: [.short, .customLong("config")],
        help: ArgumentHelp(
            "The policy file (default: RETENTION_CONFIG in the environment, or retention.yaml).", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?
    @Option(
        help: ArgumentHelp("Of the stores of a pattern, only this file.", valueName: "file"), completion: .file())
    var store: String?
    @Flag(help: "Read a policy that other users can change, even as root.")
    var allowInsecure = false

    /// Reads the policy, see ``PolicyAccess``.
    ///
    /// - Parameters:
    ///   - orInstalled: whether that in /etc is read if none is named and none is in the working folder.
    ///   - takesMany: whether the command is for all stores of a pattern.
    ///   - isChecked: whether it is checked who can change what the policy names. A run does that itself, and records what it finds.
    ///   - forPastRuns: whether a policy with mistakes is enough; see ``PolicyFile/read(path:forPastRuns:)``.
    func read(
        orInstalled: Bool = false, takesMany: Bool = false, isChecked: Bool = true, forPastRuns: Bool = false
    ) throws -> Policy {
        let path = Self.path(config, orInstalled: orInstalled)
        if let hint = Self.hint(for: path) {
            throw CommandFailure(exitCode: 66, message: "\(path): policy file not found", hint: hint)
        }
        let policy = try PolicyAccess.read(path, allowsInsecure: allowInsecure, forPastRuns: forPastRuns)
        if isChecked { try PolicyAccess.check(policy, allowsInsecure: allowInsecure) }
        guard let store else {
            guard policy.stores == nil || takesMany else {
                throw CommandFailure.usage("the policy is for many stores", hint: "name one of them: --store FILE")
            }
            return policy
        }
        guard let stores = ManyStores(policy) else {
            throw CommandFailure.usage("--store is for a policy with a pattern of stores", hint: "leave it out")
        }
        let one = try stores.policy(at: store)
        if isChecked { try PolicyAccess.check(one, allowsInsecure: allowInsecure) }
        return one
    }

    /// Reads the policy for a command that shows past runs, and says which mistakes it has.
    func readForPastRuns(_ console: Console) throws -> Policy {
        let policy = try read(orInstalled: true, takesMany: true, forPastRuns: true)
        if let mistakes = policy.mistakes {
            console.diagnose("warning", "no run can begin, because the policy has a mistake: \(mistakes.firstText)")
        }
        return policy
    }

    static func path(
        _ named: String?, orInstalled: Bool,
        environment: String? = getenv("RETENTION_CONFIG").map { String(cString: $0) },
        exists: (String) -> Bool = { access($0, F_OK) == 0 }
    ) -> String {
        if let named { return named }
        if let environment, !environment.isEmpty { return environment }
        return orInstalled && !exists(usual) && exists(installed) ? installed : usual
    }

    /// What to write if only the policy in /etc is there, which a command that changes the store takes by its name only; nil: it is not so.
    static func hint(for path: String, exists: (String) -> Bool = { access($0, F_OK) == 0 }) -> String? {
        path == usual && !exists(usual) && exists(installed) ? "name the installed one: -c \(installed)" : nil
    }

    private static let usual = "retention.yaml"
    private static let installed = "/etc/retention/retention.yaml"
}

/// A store that a command reads without a policy.
struct StoreOption: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The SQLite file, or the URL of a PostgreSQL database.", valueName: "store"),
        completion: .file())
    var store: String
    @Option(
        help: ArgumentHelp("The compiled model, for a Core Data store that does not contain it.", valueName: "file"),
        completion: .file())
    var model: String?

    /// Reads the contents of the store, or of one that a pattern matches.
    func inspect(_ path: String? = nil) throws -> StoreInspection {
        try StoreInspection.read(
            StoreOpening.reader(ofStoreNamed: path ?? store, model: model), clock: SystemClock.now())
    }

    /// The files that the pattern matches, and what cannot be read; no files: it is no pattern.
    func files() throws(CommandFailure) -> (paths: [String], problems: [String]) {
        guard access(store, F_OK) != 0, store.contains(where: { "*?[".contains($0) }), !store.contains("://") else {
            return ([], [])
        }
        let pattern = StorePattern(store, baseFolder: FilePlace.realPath(".") ?? "/")
        let files = StoreFiles(pattern, ownPaths: [], isOwn: StoreOpening.isOwnFile)
        guard !files.paths.isEmpty else {
            throw CommandFailure(
                exitCode: files.problems.isEmpty ? 66 : 74,
                message: files.problems.first ?? "no file matches '\(store)'")
        }
        return (files.paths.map(pattern.display), files.problems)
    }
}

/// The instant at which a command computes ages.
struct AsOfOption: ParsableArguments {
    @Option(help: ArgumentHelp("Compute ages at this instant (ISO 8601) instead of now.", valueName: "instant"))
    var asOf: String?

    /// Throws if the option's value is not an instant.
    func check() throws(CommandFailure) {
        if let asOf { _ = try OptionValue.instant(asOf, option: "--as-of") }
    }

    /// The instant at which ages are computed. By default it is the current whole second, so that a report names it exactly and `--as-of`
    /// can repeat it.
    func instant(for policy: Policy, clock: Instant) throws(CommandFailure) -> Instant {
        guard let asOf else { return clock.toSecond }
        let instant = try OptionValue.instant(asOf, option: "--as-of", zone: policy.timezone)
        guard instant <= clock else {
            throw .usage(
                "--as-of \(instant.rfc3339) is later than the clock, \(clock.rfc3339)",
                hint: "a later instant would delete rows that are not expired yet")
        }
        return instant
    }
}

/// The format of a report, as commands name it.
struct FormatOption: ParsableArguments {
    @Option(help: "The format of the report.")
    var format = ReportFormat.text
    @Flag(help: "The same as --format json.")
    var json = false

    /// Whether the report is for programs.
    var isJSON: Bool { json || format == .json }
}

/// The time limit and the output of a run or an undo.
struct OutputOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Stop after this time; the same command continues later.", valueName: "duration"))
    var maxRuntime: String?
    @OptionGroup var format: FormatOption
    @Flag(name: .shortAndLong, help: "Print no report if the exit code is 0.")
    var quiet = false
    @Flag(help: "Show no progress bar.")
    var noProgress = false
    @Option(help: ArgumentHelp("The format of the log.", valueName: "format"))
    var logFormat: Policy.LogSettings.Format?
    @Option(help: ArgumentHelp("The minimum log level.", valueName: "level"))
    var logLevel: Policy.LogSettings.Level?

    /// The time budget; nil: none is given.
    func budget() throws(CommandFailure) -> Duration? {
        guard let maxRuntime else { return nil }
        return try OptionValue.duration(maxRuntime, option: "--max-runtime")
    }

    /// The log that these options and later the policy describe.
    func log(isVerbose: Bool = false, isDryRun: Bool) -> LogOpening {
        LogOpening(
            format: logFormat, level: logLevel, isQuiet: quiet, reportsText: !format.isJSON, isVerbose: isVerbose,
            isDryRun: isDryRun)
    }

    func observer(_ console: Console) -> ProgressBar? {
        guard console.showsProgress, !noProgress, !quiet else { return nil }
        return ProgressBar(
            show: console.showProgress, erase: console.eraseProgress, uptime: SystemClock.uptime,
            width: { console.progressWidth })
    }

    /// Prints a report: the failure on standard error, unless its reader gets it with the report, and the rest in the requested format.
    ///
    /// - Parameters:
    ///   - log: the log of the run. If it is silent and no report is printed, warnings are shown.
    ///   - summary: the line that the journal gets instead of a report.
    /// - Returns: the exit status.
    func show(
        _ report: RunReport, _ console: Console, _ log: LogOpening.Log, summary: String? = nil, text: () -> String
    ) throws(CommandFailure) -> Int32 {
        if let failure = report.failure, format.isJSON || !console.isOneStream { console.diagnose("error", failure) }
        guard !quiet || report.exitCode != 0 else {
            if log.isSilent, logLevel != .error {
                for warning in report.warnings { console.diagnose("warning", warning, of: log.origin) }
            }
            if console.isJournal, let summary { console.diagnose(summary) }
            return report.exitCode
        }
        try console.report(format.isJSON ? report.document : text())
        return report.exitCode
    }
}

/// The format of a report.
enum ReportFormat: String, ExpressibleByArgument, CaseIterable {
    case text, json
}

extension Policy.LogSettings.Format: ExpressibleByArgument {}
extension Policy.LogSettings.Level: ExpressibleByArgument {
    /// A level as other programs write it is accepted.
    init?(argument: String) {
        let word = argument.lowercased()
        self.init(rawValue: ["warn": "warning", "err": "error"][word] ?? word)
    }
}

/// Reads the values of options. A value that cannot be read is wrong usage.
enum OptionValue {
    /// An ISO 8601 instant. A text without a zone is read in the given zone.
    static func instant(_ text: String, option: String, zone: CalendarZone = .utc) throws(CommandFailure) -> Instant {
        guard let instant = Instant(iso8601: text, zone: zone) else {
            throw .usage(
                "\(option) '\(text)' is not an ISO 8601 instant",
                hint: "write it as 2026-11-21T00:00:00Z or 2026-11-21"
                    + (option == "--since" ? ", or as an age: 7d" : ""))
        }
        // Of a local time that occurs twice the first instant is used, before which fewer rows are. A text with an offset gives the same
        // instant in UTC.
        return Instant(iso8601: text) == instant ? instant : zone.instant(of: zone.civil(of: instant), .first)
    }

    /// An instant, or how long ago it was: `7d`.
    static func past(_ text: String, option: String, zone: CalendarZone) throws -> Instant {
        if let age = try? MaxAge(parsing: text) {
            return Cutoff.instant(asOf: SystemClock.now(), maxAge: age, align: nil, zone: zone)
        }
        if text.hasPrefix("-"), (try? MaxAge(parsing: String(text.dropFirst()))) != nil { throw CommandLineHints.sign }
        return try instant(text, option: option, zone: zone)
    }

    static func duration(_ text: String, option: String) throws(CommandFailure) -> Duration {
        do throws(DurationMistake) {
            return try PolicyDuration.parse(text)
        } catch {
            throw .usage("\(option): \(error.message)", hint: "write it as 90s or 10min")
        }
    }

    static func refusalCode(_ text: String) throws(CommandFailure) -> RefusalCode {
        let names = RefusalCode.acceptable.map(\.rawValue)
        if let code = RefusalCode(rawValue: text) {
            guard RefusalCode.acceptable.contains(code) else {
                throw .usage("--accept \(text): this refusal cannot be accepted", hint: "one of \(list(names))")
            }
            return code
        }
        throw .usage(
            "--accept '\(text)': unknown refusal code"
                + (RefusalCode(recorded: text).map { "; it is called '\($0.rawValue)' now" }
                    ?? NearestName.suggestion(for: text, in: names)),
            hint: repeated(text, "--accept") ?? "one of \(list(names))")
    }

    /// How a list of values is written; nil: the text is one value.
    private static func repeated(_ text: String, _ option: String) -> String? {
        text.contains(",")
            ? "repeat the option: " + text.split(separator: ",").map { "\(option) \($0)" }.joined(separator: " ") : nil
    }

    static func ruleName(_ name: String, in policy: Policy) throws(CommandFailure) -> String {
        let names = policy.rules.map(\.name)
        // A rule with a pattern is carried out for each table: `ticks:ohlcv_BTC`.
        if names.contains(name) || name.firstIndex(of: ":").map({ names.contains(String(name[..<$0])) }) == true {
            return name
        }
        throw .usage(
            "no rule is named '\(name)'" + NearestName.suggestion(for: name, in: names),
            hint: repeated(name, "--rule") ?? "the rules are \(list(names))")
    }

    /// A word from a list.
    ///
    /// - Parameter otherNames: words for them that are suggested, not accepted.
    static func word(
        _ text: String, option: String, of words: [String], otherNames: [String: String] = [:]
    ) throws(CommandFailure) -> String {
        if words.contains(text) { return text }
        let meant = otherNames[text.lowercased()].map { "; did you mean '\($0)'?" }
        throw .usage(
            "\(option) '\(text)' is unknown" + (meant ?? NearestName.suggestion(for: text, in: words)),
            hint: "one of \(list(words))")
    }

    private static func list(_ names: [String]) -> String { names.joined(separator: ", ") }
}
