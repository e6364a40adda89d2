import Foundation
import RetentionJob
import Testing

/// Every "other run" here is another process: a lock that only this process can see would prove nothing.
@Suite struct RunLockTests {
    private let folder: URL
    private let store: String
    private var lock: String { store + ".retention-lock" }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "run-lock-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        store =
            try #require(realpath(folder.path(percentEncoded: false), nil).map { String(cString: $0) }) + "/p.sqlite"
        try Data().write(to: URL(filePath: store))
    }

    /// Starts a process that holds the lock until its standard input ends, and waits until it does.
    private func holder() throws -> (process: Process, input: Pipe) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/flock")
        process.arguments = [lock, "sh", "-c", "echo held; cat >/dev/null"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        #expect(output.fileHandleForReading.availableData == Data("held\n".utf8))
        return (process, input)
    }

    @Test func writesThisProcessIntoAFileThatRemains() throws {
        do {
            let taken = try RunLock.acquire(storePath: store)
            #expect(try String(contentsOfFile: taken.path, encoding: .utf8) == "\(getpid())\n")
            #expect(taken.path == lock)
        }
        #expect(FileManager.default.fileExists(atPath: lock))
        #expect(try String(contentsOfFile: lock, encoding: .utf8).isEmpty)
        _ = try RunLock.acquire(storePath: store)
    }

    @Test func aStoreThatIsMissingHasNoLock() throws {
        let missing = store + "x"
        let reason = "No such file or directory"
        #expect(throws: RunLock.Failure.cannotCreate(path: missing + ".retention-lock", reason: reason)) {
            try RunLock.acquire(storePath: missing)
        }
        #expect(!RunLock.isHeld(storePath: missing))
    }

    /// A run that began before the store was moved, and a link was left in its place.
    @Test func findsTheLockBesideALink() throws {
        let other = try holder()
        let moved = store + "-moved"
        try FileManager.default.moveItem(atPath: store, toPath: moved)
        try FileManager.default.createSymbolicLink(atPath: store, withDestinationPath: moved)
        #expect(throws: RunLock.Failure.held(path: lock, processID: nil)) { try RunLock.acquire(storePath: store) }
        try other.input.fileHandleForWriting.close()
        other.process.waitUntilExit()
        _ = try RunLock.acquire(storePath: store)
    }

    @Test(arguments: [("999999999\n", 999_999_999), ("", nil)] as [(String, Int32?)])
    func namesTheProcessThatHoldsIt(text: String, processID: Int32?) throws {
        try Data(text.utf8).write(to: URL(filePath: lock))
        let other = try holder()
        #expect(throws: RunLock.Failure.held(path: lock, processID: processID)) {
            try RunLock.acquire(storePath: store)
        }
        #expect(RunLock.isHeld(storePath: store))
        try other.input.fileHandleForWriting.close()
        other.process.waitUntilExit()
        // The process is gone, and its number is still there.
        #expect(!RunLock.isHeld(storePath: store))
        let taken = try RunLock.acquire(storePath: store)
        #expect(try String(contentsOfFile: taken.path, encoding: .utf8) == "\(getpid())\n")
    }

    @Test func twoNamesOfOneStoreHaveOneLock() throws {
        let link = folder.appending(path: "link.sqlite")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: URL(filePath: store))
        let other = try holder()
        #expect(RunLock.isHeld(storePath: link.path(percentEncoded: false)))
        #expect(throws: RunLock.Failure.self) { try RunLock.acquire(storePath: link.path(percentEncoded: false)) }
        try other.input.fileHandleForWriting.close()
    }

    @Test func askingMakesNoFile() {
        #expect(!RunLock.isHeld(storePath: store))
        #expect(!FileManager.default.fileExists(atPath: lock))
    }

    @Test func askingDoesNotHinderARun() throws {
        let taken = try RunLock.acquire(storePath: store)
        #expect(RunLock.isHeld(storePath: store))
        #expect(try String(contentsOfFile: taken.path, encoding: .utf8) == "\(getpid())\n")
    }
}
