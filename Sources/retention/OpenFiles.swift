@preconcurrency import Glibc
import PriceStore
import RetentionJob

/// The number of files that the process may have open.
enum OpenFiles {
    /// A little more than the files that a run has open at once: store, ledger and their side files, temporary files of SQLite, log, lock,
    /// a pending file and its folders, signal handling.
    private static let needed = 24

    /// Opens closed standard streams, so that no file of the job gets their numbers and receives the output. Throws if the limit on open
    /// files is too low, because some system libraries then end the process.
    static func prepare() throws(CommandFailure) {
        for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) < 0 {
            // The lowest free number is used. Writing to a folder fails, so a report without an output is an error.
            _ = open("/", O_RDONLY | O_DIRECTORY)
        }
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < needed {
            let descriptor = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            if descriptor >= 0 {
                opened.append(descriptor)
            } else {
                guard [EMFILE, ENFILE].contains(errno) else { return }
                throw CommandFailure(
                    exitCode: 74,
                    message: "only \(Figures.count(opened.count, "more file")) can be opened, and a run may "
                        + "need \(needed): " + String(systemError: errno),
                    hint: "raise the limit, as with ulimit -n 256, or LimitNOFILE=256 in a systemd unit")
            }
        }
    }
}
