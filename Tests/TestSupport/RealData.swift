package import Foundation
package import Testing

/// Real data that tests use. `Tests/Samples/README.md` has its sources.
package enum RealData {
    /// The price of gold in each month since 1833, which lies in the repository.
    package static let gold = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../Samples/gold-monthly.csv"
    ).standardizedFileURL

    /// A file of the folder that the variable `RETENTION_SAMPLES` names: data that does not lie in the repository.
    ///
    /// - Returns: nil if it is not there.
    package static func more(_ path: String) -> URL? {
        guard let folder = ProcessInfo.processInfo.environment["RETENTION_SAMPLES"] else { return nil }
        let file = URL(filePath: folder).appending(path: path).standardizedFileURL
        return FileManager.default.fileExists(atPath: file.path) ? file : nil
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test where a file or folder of ``RealData/more(_:)`` is missing.
    package static func needsRealData(_ path: String) -> Self {
        .enabled("RETENTION_SAMPLES names no folder with \(path)") { RealData.more(path) != nil }
    }
}
