import Foundation
@preconcurrency import Glibc
import PriceStore
import TestSupport

@testable import retention

/// One of the programs of this package, started as a user would start it.
struct LaunchedProgram {
    /// What a process said and how it ended.
    struct Ending {
        var status: Int32
        var output: String
        var errors: String

        /// The standard output with line breaks as spaces.
        var words: String { output.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    }

    /// The folder that holds the programs that were built with the tests.
    static var folder: URL { Bundle.main.bundleURL }

    /// The project's folder.
    static var project: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    }

    /// The variables by which `scripts/nightly` sets another time, a changed place and the file of coverage.
    private static let nightly = ProcessInfo.processInfo.environment.filter { name, _ in
        ["LD_PRELOAD", "RETENTION_MUTANT", "LLVM_PROFILE_FILE"].contains(name) || name.contains("FAKE")
    }

    /// Runs a program of this package to its end.
    static func run(_ name: String, _ arguments: [String], in folder: URL) throws -> Ending {
        try run(Self.folder.appending(path: name), arguments, in: folder, environment: nil)
    }

    /// Runs a command of `retention` in this process, on a thread with a working folder of its own. It has the environment and the
    /// locks of the tests, and no signals: what is about these needs a process.
    static func perform(_ arguments: [String], in folder: URL) throws -> Ending {
        let output = LockedBytes()
        let errors = LockedBytes()
        let status = LockedValue<Int32?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        let thread = Thread {
            defer { isDone.signal() }
            guard leaveWorkingFolder(), chdir(folder.path) == 0 else { return }
            let console = Console(output: output.append, errors: errors.append)
            let code = RetentionCommand.perform(arguments, console)
            status.withLock { $0 = code }
        }
        thread.stackSize = 8 << 20
        thread.start()
        isDone.wait()
        struct NoFolder: Error {}
        guard let status = status.withLock({ $0 }) else { throw NoFolder() }
        return Ending(status: status, output: output.text, errors: errors.text)
    }

    /// Gives the thread a working folder of its own; false: the system does not.
    private static func leaveWorkingFolder() -> Bool {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let symbol = dlsym(nil, "unshare") else { return false }
        // CLONE_FS of linux/sched.h.
        return unsafeBitCast(symbol, to: Unshare.self)(0x200) == 0
    }

    /// Runs a line in a shell that knows this package's programs.
    static func shell(_ line: String, in folder: URL) throws -> Ending {
        let path = Self.folder.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        let environment = ["PATH": path, "HOME": folder.path, "LANG": "C.UTF-8"]
        return try run(URL(filePath: "/bin/sh"), ["-c", line], in: folder, environment: environment)
    }

    /// Runs an executable to its end, without a terminal and with nothing on standard input.
    ///
    /// - Parameter environment: all variables of the process, besides those of `scripts/nightly`; nil: those of
    ///   the tests.
    static func run(
        _ executable: URL, _ arguments: [String], in folder: URL, environment: [String: String]?
    ) throws -> Ending {
        let scratch = try TemporaryFolder()
        // Files, not pipes: a process cannot block on a full file.
        let output = scratch.url.appending(path: "output")
        let errors = scratch.url.appending(path: "errors")
        for file in [output, errors] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.currentDirectoryURL = folder
        if let environment { process.environment = environment.merging(nightly) { own, _ in own } }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        process.waitUntilExit()
        return Ending(
            status: process.terminationStatus,
            output: String(decoding: try Data(contentsOf: output), as: UTF8.self),
            errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self))
    }
}

/// What a command prints.
private final class LockedBytes: Sendable {
    private let bytes = LockedValue<[UInt8]>([])

    @Sendable func append(_ more: [UInt8]) -> Bool {
        bytes.withLock { $0 += more }
        return true
    }

    var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
}

/// A temporary folder that is deleted when the test ends.
final class TemporaryFolder {
    let url: URL

    init(inMemory: Bool = false) throws {
        url = (inMemory ? .memory : FileManager.default.temporaryDirectory)
            .appending(path: "retention-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Writes a file that only its owner may change, and makes the folders above it.
    @discardableResult
    func write(_ text: String, to path: String) throws -> URL {
        let file = url.appending(path: path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        return file
    }
}
