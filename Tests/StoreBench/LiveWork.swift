import ArgumentParser
import GRDB
@preconcurrency import Glibc
import SwiftOverlayShims

/// A beat: something is done at planned times, and measured from them. Whoever is kept waiting begins the next turn late,
/// and that delay counts: a latency measured from the actual start would hide it.
struct Beat {
    /// From one planned time to the next.
    let millisecondsBetween: Int

    /// Works until standard input is closed, and prints a line for each turn: its planned time and how much later it was
    /// done, both in nanoseconds, the first by the monotonic clock. The line `ready` comes before the first.
    func run(_ work: (_ turn: Int) throws -> Void) throws {
        print("ready")
        fflush(nil)
        var lines: [String] = []
        let began = Self.now()
        var turn = 0
        while !Self.inputIsClosed() {
            let planned = began + turn * millisecondsBetween * 1_000_000
            let early = planned - Self.now()
            if early > 0 { usleep(UInt32(early / 1000)) }
            try work(turn)
            lines.append("\(planned) \(Self.now() - planned)")
            turn += 1
        }
        print(lines.joined(separator: "\n"))
    }

    private static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    private static func inputIsClosed() -> Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 0) > 0
    }
}

/// Writes a point at each beat, in one transaction, until standard input is closed.
struct LiveWriter: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Writes points at a steady rate and measures itself.")

    @Argument(help: "The store.")
    var store: String

    @Option(help: "Milliseconds from one point to the next.")
    var every = 5

    @Option(help: "The time of the first point, in seconds since 1970; the next are a minute apart.")
    var from: Int64

    func run() throws {
        let queue = try LiveStore.open(store)
        try Beat(millisecondsBetween: every).run { turn in
            try queue.write { db in
                try db.cachedStatement(
                    sql: """
                        INSERT INTO YahooGoldPricePoint (symbol, updateTime, price, open, high, low, volume) \
                        VALUES ('XAUUSD', ?, 2400, 2400, 2401, 2399, 1)
                        """
                ).execute(arguments: [from + 60 * Int64(turn)])
            }
        }
    }
}

/// Counts the newest points at each beat, until standard input is closed.
struct LiveReader: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Counts points at a steady rate and measures itself.")

    @Argument(help: "The store.")
    var store: String

    @Option(help: "Milliseconds from one count to the next.")
    var every = 50

    @Option(help: "Points from this time on are counted, in seconds since 1970.")
    var from: Int64

    func run() throws {
        let queue = try LiveStore.open(store)
        try Beat(millisecondsBetween: every).run { _ in
            _ = try queue.read { db in
                try db.cachedStatement(sql: "SELECT count(*) FROM YahooGoldPricePoint WHERE updateTime >= ?")
                    .execute(arguments: [from])
            }
        }
    }
}

/// A store as other programs open it.
private enum LiveStore {
    static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        // Longer than any measured delete, so that no connection gives up.
        configuration.busyMode = .timeout(120)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = NORMAL") }
        return queue
    }
}
