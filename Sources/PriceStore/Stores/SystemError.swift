import Glibc

extension String {
    /// What the system says of the code of an error, as `No such file or directory`.
    package init(systemError code: Int32) { self.init(cString: strerror(code)) }
}
