import PriceStore

/// What continuous aggregates did not have at one moment.
///
/// The server logs ranges that changed. A delete is such a change, and a refresh of any other range extends what is logged to
/// whole buckets, so the log alone does not tell a late row from a row beside deleted ones. But a row that was visible at that
/// moment, outside the ranges that were missing then, is in the aggregate, whatever was logged since.
struct RollupMemory: Hashable {
    /// The moment.
    var state: ServerState
    /// The job's own transactions that were not over then, or later, as rows show them: the server moves rows of compressed
    /// chunks in them.
    ///
    /// A transaction that stays open holds the moment back, also before runs that have ended: their numbers are carried on.
    var ownXIDs: [String] = []
    /// By the number of the aggregate: the ranges that it did not have.
    var missing: [Int: [TimeRange]] = [:]

    /// The most ranges of an aggregate, and the most own transactions, that are kept. With more ranges, the last ones become
    /// one; without the oldest transactions, a rule may be refused although nothing is missing.
    private static let mostKept = 500

    /// - Parameter former: what was known before, at a comparable state.
    init(_ state: ServerState, after former: RollupMemory? = nil) {
        self.state = state
        let oldest = UInt32(truncatingIfNeeded: state.oldest)
        // Those before the state are over; all are fewer than two billion apart, so the lower 32 bits tell which came first.
        ownXIDs = (former?.ownXIDs ?? []).filter { number in
            UInt32(number).map { Int32(bitPattern: $0 &- oldest) >= 0 } ?? false
        }
    }

    /// One line: the state, own transactions, and for each aggregate `number=low..high,low..high`.
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

    /// Nil: the line is damaged.
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

    /// The condition that a row of a table was written after the state, or by a transaction that was open then, and not by the job.
    ///
    /// A row shows the lower 32 bits of a transaction's number: one that was written two billion transactions ago is taken for
    /// a new one.
    func isLate(_ alias: String) -> SQLFragment {
        let number = "\(alias).xmin"
        return "(age(\(number)) <= age(" + .bound("\(state.oldest & 0xFFFF_FFFF)", "xid") + ") AND \(number) <> ALL ("
            + .bound(ServerArray.text(ownXIDs), "xid[]") + "))"
    }
}

/// How far a server's transactions were at one moment.
struct ServerState: Hashable {
    /// The cluster and the database; the cluster is empty if the user may not ask for it.
    let database: String
    /// The timeline, which changes when a standby takes over; empty: the server is a standby.
    let timeline: String
    /// All transactions before this number were over.
    ///
    /// A row shows the number of its savepoint, if there is one, which the server's list of open transactions does not have.
    /// It is greater than that of the transaction.
    let oldest: UInt64
    /// The number of the next transaction.
    let next: UInt64

    init(database: String, timeline: String, oldest: UInt64, next: UInt64) {
        (self.database, self.timeline, self.oldest, self.next) = (database, timeline, oldest, next)
    }

    /// Four parts, with `:` between.
    var text: String { "\(database):\(timeline):\(oldest):\(next)" }

    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 4, let oldest = UInt64(parts[2]), let next = UInt64(parts[3]) else { return nil }
        self.init(database: String(parts[0]), timeline: String(parts[1]), oldest: oldest, next: next)
    }

    /// Whether the numbers of rows can be compared with it: the server is the same and has not gone back, and it is not too
    /// long ago.
    func isComparable(at now: ServerState) -> Bool {
        database == now.database && (timeline == now.timeline || timeline.isEmpty || now.timeline.isEmpty)
            && next <= now.next && now.next - oldest < 1 << 31
    }
}

/// A range of a hypertable's time, in the server's own numbers: microseconds since 1970, or the numbers of the column. Both ends
/// belong to it.
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
    /// The same values in order, in as few ranges as possible.
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

    /// What is in both, which are merged.
    func common(with others: [TimeRange]) -> [TimeRange] {
        flatMap { range in
            others.touching(range).map {
                TimeRange(low: Swift.max(range.low, $0.low), high: Swift.min(range.high, $0.high))
            }
        }
    }

    /// What is not in others. Both are merged.
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

    /// Those that have values in common with a range.
    private func touching(_ range: TimeRange) -> ArraySlice<TimeRange> {
        var (first, end) = (startIndex, endIndex)
        while first < end {
            let middle = (first + end) / 2
            if self[middle].high < range.low { first = middle + 1 } else { end = middle }
        }
        return self[first...].prefix { $0.low <= range.high }
    }
}
