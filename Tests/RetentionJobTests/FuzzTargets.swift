// scripts/fuzz compiles this file too, into one module with the readers.
@preconcurrency import Glibc
import PriceStore

@testable import RetentionJob
@testable import RetentionPolicy
@testable import SQLiteStore

/// One reader, fed with bytes: it may say no, and nothing else. What it says is held against laws; a breach is a trap.
enum FuzzTarget: String, CaseIterable {
    case yaml, duration, dates, csv, ndjson, model

    func take(_ bytes: [UInt8]) {
        switch self {
        case .yaml: Self.yaml(bytes)
        case .duration: Self.duration(String(decoding: bytes, as: UTF8.self))
        case .dates: Self.dates(bytes)
        case .csv: records(bytes) { CSVReader($0) }
        case .ndjson: records(bytes) { NDJSONReader($0) }
        case .model: Self.model(bytes)
        }
    }

    private static func yaml(_ bytes: [UInt8]) {
        do {
            let policy = try PolicyFile.policy(bytes: bytes, path: "fuzz.yaml", baseFolder: "/fuzz")
            precondition(!policy.rules.isEmpty)
        } catch {
            guard case .invalid(let diagnostics, let source) = error else { return }
            precondition(!diagnostics.isEmpty)
            for diagnostic in diagnostics { precondition(diagnostic.mark.line >= 1 && diagnostic.mark.column >= 1) }
            let text = DiagnosticText.render(diagnostics, source: source)
            precondition(!text.unicodeScalars.contains { $0 != "\n" && $0.value < 0x20 })
        }
    }

    private static let now = Instant(unixSeconds: 1_795_132_800)
    private static let zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"].compactMap {
        CalendarZone(identifier: $0)
    }

    private static func duration(_ text: String) {
        _ = try? PolicyDuration.parse(text)
        _ = try? PolicyDuration.parse(text, allowsMilliseconds: true)
        guard var age = try? MaxAge(parsing: text) else { return }
        for zone in zones {
            for align in [nil, .hour, .day, .week, .month] as [CalendarUnit?] {
                let cutoff = Cutoff.instant(asOf: now, maxAge: age, align: align, zone: zone)
                precondition(cutoff <= now)
                // A longer age never deletes more.
                age.seconds += 1
                precondition(Cutoff.instant(asOf: now, maxAge: age, align: align, zone: zone) <= cutoff)
                age.seconds -= 1
                age.days += 1
                precondition(Cutoff.instant(asOf: now, maxAge: age, align: align, zone: zone) <= cutoff)
                age.days -= 1
            }
        }
    }

    private static func dates(_ bytes: [UInt8]) {
        let bits = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let values: [StoreValue] = [
            .text(String(decoding: bytes, as: UTF8.self)), .integer(Int64(bitPattern: bits)),
            .real(Double(bitPattern: bits)), .blob(bytes),
        ]
        for encoding in DateEncoding.allCases where encoding != .native {
            for zone in zones {
                for value in values {
                    guard case .span(let start, let end) = encoding.read(value, zone: zone) else { continue }
                    precondition(start <= end)
                    _ = start.rfc3339
                    _ = encoding.value(of: start, zone: zone)
                }
            }
        }
        if case .text(let text) = values[0] { _ = Instant(iso8601: text, zone: zones[1]) }
    }

    private func records(_ bytes: [UInt8], _ open: (PendingFile) -> any PendingRecordReader) {
        // Two targets may be fed beside each other.
        let scratch = "/dev/shm/retention-fuzz-\(getpid())-\(rawValue)"
        guard let file = fopen(scratch, "w") else { return }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
        defer { unlink(scratch) }
        guard let pending = try? PendingFile(path: scratch) else { return }
        var reader = open(pending)
        var (line, end, count) = (0, Int64(0), 0)
        while let record = try? reader.next() {
            precondition(record.line > line && record.bytes.lowerBound >= end && !record.bytes.isEmpty)
            precondition(record.bytes.upperBound <= Int64(bytes.count))
            (line, end, count) = (record.line, record.bytes.upperBound, count + 1)
            precondition(count <= bytes.count)
        }
    }

    private static func model(_ bytes: [UInt8]) {
        _ = try? ManagedObjectModel.read(archive: bytes)
        _ = try? ManagedObjectModel.read(cache: bytes)
        if let unpacked = try? Inflate.bytes(of: bytes, limit: 1 << 16) { precondition(unpacked.count <= 1 << 16) }
    }
}
