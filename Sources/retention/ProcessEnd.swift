@preconcurrency import Glibc

/// How the process ends.
enum ProcessEnd {
    /// Ends the process with an exit status.
    static func exit(_ status: Int32) -> Never { Glibc.exit(status) }
}
