@preconcurrency import Glibc
import PriceStore
import RetentionJob

/// A command of the policy that gets the report of a run on standard input, and as JSON in a file. It is executed without a shell.
///
/// It inherits only a few variables, so that no password in the job's environment reaches it. Its output goes to standard error, because
/// standard output has only the report.
package struct NoticeCommand {
    private let words: [String]
    /// How long the command may take before it and everything that it started are killed.
    package var timeLimit: Duration
    private let sleep: (Duration) -> Void

    /// Makes a command.
    ///
    /// - Parameter words: the program and its arguments. A program without a slash is looked up in the `PATH`.
    package init(_ words: [String], timeLimit: Duration = .seconds(60), sleep: @escaping (Duration) -> Void) {
        self.words = words
        self.timeLimit = timeLimit
        self.sleep = sleep
    }

    /// The variables that a command gets from the job's environment, if they are set.
    private static let inherited = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"]

    /// Runs the command to its end.
    ///
    /// - Parameter document: the file that the variable `RETENTION_REPORT` names.
    /// - Returns: the error, as a sentence without a full stop; nil: none.
    package func run(input: String, document: String = "", variables: [(String, String)] = []) -> String? {
        guard let program = words.first else { return nil }
        // Files without a name: the command may read them or not, and nothing blocks or is left.
        var files: [UnsafeMutablePointer<FILE>] = []
        defer { for file in files { fclose(file) } }
        for text in [input, document] {
            guard let file = tmpfile() else {
                return "\(program): its input cannot be created: \(String(systemError: errno))"
            }
            files.append(file)
            guard FilePortions.write(Array(text.utf8), to: fileno(file)), lseek(fileno(file), 0, SEEK_SET) == 0 else {
                return "\(program): its input cannot be written: \(String(systemError: errno))"
            }
        }
        var child: pid_t = 0
        let code = spawn(
            &child, inputs: files.map { fileno($0) },
            environment: environment(variables + [("RETENTION_REPORT", "/dev/fd/\(Self.documentDescriptor)")]))
        guard code == 0 else { return "\(program) cannot be run: \(String(systemError: code))" }
        return wait(for: child, program)
    }

    /// The descriptor of the document in the command. The system's own files have lower ones.
    private static let documentDescriptor: Int32 = 9

    private func environment(_ variables: [(String, String)]) -> [String] {
        let kept = Self.inherited.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
        return kept + variables.map { "\($0)=\($1)" }
    }

    private func spawn(_ child: inout pid_t, inputs: [Int32], environment: [String]) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (source, target) in zip(inputs, [STDIN_FILENO, Self.documentDescriptor]) {
            posix_spawn_file_actions_adddup2(&actions, source, target)
        }
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A separate process group can be killed as a whole. Signals that this program ignores or handles are reset.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGPIPE, SIGXFSZ, SIGINT, SIGTERM] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var arguments = words.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for text in arguments + variables { free(text) } }
        return posix_spawnp(&child, words[0], &actions, &attributes, &arguments, &variables)
    }

    private func wait(for child: pid_t, _ program: String) -> String? {
        var status: Int32 = 0
        var waited = Duration.zero
        let step = Duration.milliseconds(10)
        while true {
            let ended = waitpid(child, &status, WNOHANG)
            if ended == child { break }
            if ended < 0, errno != EINTR {
                return "\(program): its exit status is unknown: \(String(systemError: errno))"
            }
            guard waited < timeLimit else {
                kill(-child, SIGKILL)
                _ = waitpid(child, &status, 0)
                return "\(program) took longer than \(Figures.duration(timeLimit)) and was killed"
            }
            sleep(step)
            waited += step
        }
        let signal = status & 0x7F
        if signal != 0 { return "\(program) was ended by signal \(signal)" }
        let exit = (status >> 8) & 0xFF
        return exit == 0 ? nil : "\(program) ended with exit status \(exit)"
    }
}
