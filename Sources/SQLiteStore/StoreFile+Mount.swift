@preconcurrency import Glibc
import PriceStore

extension StoreFile {
    /// Throws if the file, or one that SQLite keeps beside it, is a mount of its own, here or elsewhere. It then has a second name, and a
    /// program that uses that name has a separate WAL or journal.
    static func requireNoMount(_ path: String) throws(StoreError) {
        let real = identifier(of: path)
        try requireNoMountElsewhere(path, real)
        try requireWALOfOthers(path, real)
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

    /// Throws if the file, or one that SQLite keeps beside it, is mounted by itself at another place that this process sees.
    private static func requireNoMountElsewhere(_ path: String, _ real: String) throws(StoreError) {
        for ending in ["", "-wal", "-shm", "-journal"] {
            let file = real + ending
            guard let number = number(of: file), let name = file.split(separator: "/").last.map(String.init) else {
                continue
            }
            for place in KernelFile.mounts(ofFileNamed: name) where place != file && self.number(of: place) == number {
                throw StoreError(
                    .inputOutput, store: path,
                    message:
                        "\(ending.isEmpty ? "the file" : file) is also mounted by itself at \(place): that name has a separate WAL or "
                        + "journal",
                    hint: "mount the folder that holds it instead")
            }
        }
    }

    /// Throws if another process has the store open in WAL mode but no WAL is beside it. That process uses a name that this one may not
    /// see, as in a container with its own mounts.
    private static func requireWALOfOthers(_ path: String, _ real: String) throws(StoreError) {
        // A connection that is opening or closing briefly holds the lock without a WAL.
        for look in 0..<5 {
            if look > 0 { usleep(20_000) }
            guard let process = processWithoutWAL(real) else { return }
            guard look == 4 else { continue }
            throw StoreError(
                .inputOutput, store: path,
                message:
                    "process \(process) has the store open in WAL mode, but no WAL is beside it: it uses another name of the file, or "
                    + "the WAL was removed",
                hint:
                    "if the file is mounted into a container, mount the folder that holds it instead; otherwise end that process"
            )
        }
    }

    private static func processWithoutWAL(_ real: String) -> Int32? {
        guard number(of: real + "-wal") == nil, number(of: real + "-shm") == nil, isInWALMode(real) else { return nil }
        var status = stat()
        guard stat(real, &status) == 0 else { return nil }
        let device = deviceText(UInt64(status.st_dev))
        // A connection in WAL mode holds the shared lock while it is open. Source: sqlite.org/walformat.html and os.h.
        let sharedByte = 0x4000_0002
        return KernelFile.locks(ofInode: UInt64(status.st_ino)).first {
            $0.processID > 0 && $0.processID != getpid() && $0.firstByte == sharedByte && $0.device == device
        }?.processID
    }

    /// A device as the kernel's list of locks shows it: major and minor number in hexadecimal.
    private static func deviceText(_ device: UInt64) -> String {
        let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
        let minor = device & 0xFF | (device >> 12) & ~0xFF
        func hex(_ number: UInt64) -> String {
            let text = String(number, radix: 16)
            return text.count < 2 ? "0" + text : text
        }
        return hex(major) + ":" + hex(minor)
    }

    /// Whether the header says WAL mode. Source: sqlite.org/fileformat2.html, section 1.3.3.
    private static func isInWALMode(_ path: String) -> Bool {
        (try? header(of: path).dropFirst(19).first) == 2
    }

    /// The kernel's number of the mount that contains a file or folder, or nil if it does not exist or the kernel does not tell.
    private static func mountNumber(of path: String) -> Int? {
        // A descriptor of the name only needs no permission and releases no lock when it is closed.
        let descriptor = open(path, nameOnly | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let title = "mnt_id:"
        let line = KernelFile.read("/proc/self/fdinfo/\(descriptor)").split(separator: "\n").first {
            $0.hasPrefix(title)
        }
        return (line?.dropFirst(title.count).drop { $0 == "\t" || $0 == " " }).flatMap { Int($0) }
    }

    /// `O_PATH` of Linux, which Swift's Glibc lacks.
    private static let nameOnly: Int32 = 0o10_000_000
}
