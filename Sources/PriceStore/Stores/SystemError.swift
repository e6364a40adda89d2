#if !os(Linux)
    #error("retention and its library build on Linux only: they use /proc and the file locks of Linux")
#endif
import Glibc

extension String {
    /// What the system says of the code of an error, as `No such file or directory`.
    package init(systemError code: Int32) { self.init(cString: strerror(code)) }
}
