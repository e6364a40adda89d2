@preconcurrency import Glibc
import PriceStore

extension StoreFile {
    /// Throws if the file, or one that SQLite keeps beside it, is mounted by itself. It then has a second name elsewhere, beside
    /// which another program keeps its own WAL or journal.
    static func requireNoMount(_ path: String) throws(StoreError) {
        let real = identifier(of: path)
        guard let mount = mountNumber(of: folder(of: real)) else { return }
        for ending in ["", "-wal", "-shm", "-journal"] {
            guard let own = mountNumber(of: real + ending), own != mount else { continue }
            let what = ending.isEmpty ? "the file" : "\(real + ending), which belongs to the store,"
            throw StoreError(
                .inputOutput, store: path,
                message: "\(what) is a mount point of its own: another name of the file has a separate WAL or journal",
                hint: "mount the folder that holds it instead")
        }
    }

    /// The kernel's number of the mount that a file or folder is on; nil: there is no such file, or the kernel does not say.
    private static func mountNumber(of path: String) -> Int? {
        // Opened as a name only: that neither needs a permission nor releases a lock when it is closed.
        let descriptor = open(path, nameOnly | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let title = "mnt_id:"
        let line = KernelFile.read("/proc/self/fdinfo/\(descriptor)").split(separator: "\n").first {
            $0.hasPrefix(title)
        }
        return (line?.dropFirst(title.count).drop { $0 == "\t" || $0 == " " }).flatMap { Int($0) }
    }

    /// `O_PATH` of Linux, which Swift's Glibc does not have.
    private static let nameOnly: Int32 = 0o10_000_000
}
