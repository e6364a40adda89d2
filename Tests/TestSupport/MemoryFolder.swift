package import Foundation
@preconcurrency import Glibc

extension URL {
    /// A folder in memory, where nothing waits for a disk, if it has room and programs can be run there; else that of temporary files.
    package static let memory: URL = {
        var facts = statvfs()
        // ST_NOEXEC of sys/statvfs.h.
        let isGood =
            statvfs("/dev/shm", &facts) == 0 && facts.f_flag & 8 == 0 && facts.f_bavail * facts.f_frsize > 1 << 30
        return isGood && access("/dev/shm", W_OK) == 0
            ? URL(filePath: "/dev/shm") : FileManager.default.temporaryDirectory
    }()
}
