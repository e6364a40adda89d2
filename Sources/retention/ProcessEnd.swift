@preconcurrency import Glibc

/// Ends the process.
func exit(with status: Int32) -> Never { Glibc.exit(status) }
