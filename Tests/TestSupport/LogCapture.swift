package import Logging
import PriceStore

/// Keeps log records, so that a test can read them.
package final class LogCapture: LogHandler, Sendable {
    package struct Record: Sendable {
        package var level: Logger.Level
        package var message: String
        package var metadata: [String: String]
    }

    package init() {}

    private let storage = LockedValue<[Record]>([])
    package var records: [Record] { storage.withLock { $0 } }

    package func log(event: LogEvent) {
        let metadata = (event.metadata ?? [:]).mapValues { "\($0)" }
        storage.withLock { $0.append(Record(level: event.level, message: "\(event.message)", metadata: metadata)) }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }
    package var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    package var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
}
