import Foundation
import Testing

/// What may cross threads compiles; what belongs to one thread does not.
@Suite(.enabled(if: BuiltModules.areThere, "the build folder has no modules"))
struct SendabilityTests {
    /// Compiles functions that hand a value of each type to another task and keep it; what the compiler says.
    private func share(_ types: [String]) throws -> (status: Int32, said: String) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sendability-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let functions = types.map { "func share(_ value: \($0)) { Task.detached { _ = value } }" }
        let file = folder.appending(path: "Share.swift")
        try (["import PriceObjects", "import PriceStore", "import SQLiteStore"] + functions).joined(separator: "\n")
            .write(to: file, atomically: true, encoding: .utf8)
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        // Whether a value may be handed over is found out on the way to the intermediate language.
        process.arguments = [
            "swiftc", "-swift-version", "6", "-I", BuiltModules.folder.path, "-I", BuiltModules.sqlite.path, "-I",
            BuiltModules.settings.path, "-I", BuiltModules.zlib.path,
            "-emit-sil", file.path,
            "-o", folder.appending(path: "out").path,
        ]
        process.standardError = pipe
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        let said = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: said, as: UTF8.self))
    }

    @Test(arguments: [
        "StoreContext", "ManagedObject", "ChangeObservation", "SQLiteWriter", "SQLiteReader", "BatchInsertRequest",
    ])
    func whatBelongsToOneThreadCannotBeShared(_ type: String) throws {
        let (status, said) = try share([type])
        #expect(status != 0)
        #expect(said.contains("risks causing data races"), "\(said)")
    }

    @Test func whatMayCrossThreadsCanBeShared() throws {
        let (status, said) = try share([
            "ObjectID", "ChangeSet", "ObjectsDidChange", "StoreValue", "StorePredicate", "StoreFetchRequest",
            "BatchDeleteRequest", "BatchDeleteResult", "BatchUpdateRequest", "BatchUpdateResult", "BatchInsertResult",
            "Entity", "Instant", "CalendarZone", "MergePolicy", "StoreError", "ObjectValidationError",
            "ManagedObjectError",
            "MergeConflictError",
        ])
        #expect(status == 0, "\(said)")
    }
}

/// The modules as this very build made them.
private enum BuiltModules {
    static let folder = Bundle.main.bundleURL.resolvingSymlinksInPath().appending(path: "Modules")
    /// The C module that the engine's own module needs.
    static let sqlite = folder.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "checkouts/GRDB.swift/Sources/GRDBSQLite")
    /// The other one, in the project's own sources.
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")
    static let settings = sources.appending(path: "CSQLiteConfig")
    static let zlib = sources.appending(path: "CZlib")
    static let areThere = FileManager.default.fileExists(atPath: folder.appending(path: "PriceStore.swiftmodule").path)
}
