import Logging
import PriceStore

/// Keeps log records, so that a test can read them.
final class LogCapture: LogHandler, Sendable {
    struct Record: Sendable {
        var level: Logger.Level
        var message: String
        var metadata: [String: String]
    }

    private let storage = LockedValue<[Record]>([])
    var records: [Record] { storage.withLock { $0 } }

    func log(event: LogEvent) {
        let metadata = (event.metadata ?? [:]).mapValues { "\($0)" }
        storage.withLock { $0.append(Record(level: event.level, message: "\(event.message)", metadata: metadata)) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
}
