import PriceStore

/// What aggregates lacked at one moment.
///
/// The server logs changed ranges. A delete is such a change, and a refresh of another range extends the log to whole buckets. So the log
/// alone cannot tell a late row from a row beside deleted ones. But a row that was visible at that moment, outside the ranges then missing,
/// is in the aggregate, whatever was logged since.
struct RollupMemory: Hashable {
    /// The moment.
    var state: ServerState
    /// The job's own transactions that ended after that moment or began later, as rows show them. The server moves rows of compressed
    /// chunks in them.
    ///
    /// A transaction that stays open holds the moment back, even to before earlier runs; the transactions of those runs are carried on.
    var ownXIDs: [String] = []
    /// The ranges that an aggregate lacked, by the number of the aggregate.
    var missing: [Int: [TimeRange]] = [:]

    /// The most ranges for each aggregate, and the most own transactions, that are kept. If there are more ranges, the last ones are merged
    /// into one. If the oldest transactions are dropped, a rule may be refused although nothing is missing.
    private static let mostKept = 500

    /// - Parameter former: the earlier memory, at a comparable state.
    init(_ state: ServerState, after former: RollupMemory? = nil) {
        self.state = state
        let oldest = UInt32(truncatingIfNeeded: state.oldest)
        // Transactions before the state have ended. All numbers are within two billion of each other, so the lower 32 bits show their
        // order.
        ownXIDs = (former?.ownXIDs ?? []).filter { number in
            UInt32(number).map { Int32(bitPattern: $0 &- oldest) >= 0 } ?? false
        }
    }

    /// A line: the state, the own transactions, and `number=low..high,low..high` for each aggregate.
    var text: String {
        let ranges = missing.sorted { $0.key < $1.key }.map { number, ranges in
            var kept = ranges
            if kept.count > Self.mostKept {
                kept.removeSubrange((Self.mostKept - 1)...)
                kept.append(TimeRange(low: ranges[Self.mostKept - 1].low, high: ranges[ranges.count - 1].high))
            }
            return "\(number)=" + kept.map { "\($0.low)..\($0.high)" }.joined(separator: ",")
        }
        return [
            state.text, ownXIDs.suffix(Self.mostKept).joined(separator: ","), ranges.joined(separator: ";"),
        ].joined(separator: " ")
    }

    /// Nil if the line is damaged.
    init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, let state = ServerState(String(parts[0])) else { return nil }
        self.state = state
        ownXIDs = parts[1].split(separator: ",").map { String($0) }
        guard ownXIDs.allSatisfy({ UInt32($0) != nil }) else { return nil }
        for aggregate in parts[2].split(separator: ";") {
            let sides = aggregate.split(separator: "=", omittingEmptySubsequences: false)
            guard sides.count == 2, let number = Int(sides[0]) else { return nil }
            let ranges = sides[1].split(separator: ",").map { TimeRange(text: String($0)) }
            guard !ranges.contains(nil) else { return nil }
            missing[number] = ranges.compactMap(\.self).merged
        }
    }

    /// The condition that a row was written after the state, or by a transaction that was open then, and not by the job.
    ///
    /// A row shows the lower 32 bits of a transaction's number, so a row that was written two billion transactions ago counts as new.
    func isLate(_ alias: String) -> SQLFragment {
        let number = "\(alias).xmin"
        return "(age(\(number)) <= age(" + .bound("\(state.oldest & 0xFFFF_FFFF)", "xid") + ") AND \(number) <> ALL ("
            + .bound(ServerArray.text(ownXIDs), "xid[]") + "))"
    }
}

/// The progress of a server's transactions at one moment.
struct ServerState: Hashable {
    /// The cluster and the database. The cluster is empty if the user may not read its identity.
    let database: String
    /// The timeline, which changes when a standby takes over; empty if the server is a standby.
    let timeline: String
    /// All transactions with lower numbers had ended.
    ///
    /// A row written in a savepoint shows the savepoint's number, which the server's list of open transactions does not contain. It is
    /// greater than that of the transaction.
    let oldest: UInt64
    /// The number of the next transaction.
    let next: UInt64

    init(database: String, timeline: String, oldest: UInt64, next: UInt64) {
        (self.database, self.timeline, self.oldest, self.next) = (database, timeline, oldest, next)
    }

    /// Four parts, separated by `:`.
    var text: String { "\(database):\(timeline):\(oldest):\(next)" }

    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 4, let oldest = UInt64(parts[2]), let next = UInt64(parts[3]) else { return nil }
        self.init(database: String(parts[0]), timeline: String(parts[1]), oldest: oldest, next: next)
    }

    /// Whether the numbers of rows can be compared with this state: the server is the same, has not gone back, and the state is not too
    /// old.
    func isComparable(at now: ServerState) -> Bool {
        database == now.database && (timeline == now.timeline || timeline.isEmpty || now.timeline.isEmpty)
            && next <= now.next && now.next - oldest < 1 << 31
    }
}

/// A range of a hypertable's time, with both ends, in the server's own numbers: microseconds since 1970, or the numbers of the column.
struct TimeRange: Hashable {
    var low: Int64
    var high: Int64

    init(low: Int64, high: Int64) { (self.low, self.high) = (low, high) }

    fileprivate init?(text: String) {
        guard let dots = text.firstRange(of: ".."), let low = Int64(text[..<dots.lowerBound]),
            let high = Int64(text[dots.upperBound...]), low <= high
        else { return nil }
        self.init(low: low, high: high)
    }
}

extension [TimeRange] {
    /// The same values, in order, in as few ranges as possible.
    var merged: [TimeRange] {
        var found: [TimeRange] = []
        for range in sorted(by: { $0.low < $1.low }) {
            if let last = found.last, range.low <= last.high || range.low == last.high + 1 {
                found[found.count - 1].high = Swift.max(last.high, range.high)
            } else {
                found.append(range)
            }
        }
        return found
    }

    /// The values in both, which must be merged.
    func common(with others: [TimeRange]) -> [TimeRange] {
        flatMap { range in
            others.touching(range).map {
                TimeRange(low: Swift.max(range.low, $0.low), high: Swift.min(range.high, $0.high))
            }
        }
    }

    /// The values that are not in others. Both must be merged.
    func without(_ others: [TimeRange]) -> [TimeRange] {
        flatMap { range -> [TimeRange] in
            var rest = range
            var found: [TimeRange] = []
            for other in others.touching(range) {
                if other.low > rest.low { found.append(TimeRange(low: rest.low, high: other.low - 1)) }
                guard other.high < rest.high else { return found }
                rest.low = other.high + 1
            }
            return found + [rest]
        }
    }

    /// The ranges that overlap a range.
    private func touching(_ range: TimeRange) -> ArraySlice<TimeRange> {
        var (first, end) = (startIndex, endIndex)
        while first < end {
            let middle = (first + end) / 2
            if self[middle].high < range.low { first = middle + 1 } else { end = middle }
        }
        return self[first...].prefix { $0.low <= range.high }
    }
}
