import ArgumentParser
import PriceStore

@preconcurrency import Glibc

/// The command: creates gold-price stores of any size for the demo, the tests and the benchmarks.
@main
struct GoldPrices: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "goldprices",
        abstract: "Creates a SQLite store of made-up gold prices, and a pending file for it.",
        discussion: """
            The store has one table, YahooGoldPricePoint, with a point for each symbol and minute. All points, the \
            store's and then the pending file's, end just before --until; without it, before the present minute. \
            The same options and seed give the same rows.
            """)

    /// The order in which rows are inserted.
    enum Order: String, CaseIterable, ExpressibleByArgument { case time, random }

    @Argument(help: "The file to create.")
    var store: String

    @Option(help: "How many points the store has.")
    var rows = 500_000

    @Option(help: "A number that chooses the prices.")
    var seed: UInt64 = 42

    @Option(help: ArgumentHelp("All points are before this ISO 8601 instant (default: now).", valueName: "instant"))
    var until: String?

    @Option(help: ArgumentHelp("The time from one point of a symbol to the next.", valueName: "seconds"))
    var every = 60

    @Option(help: ArgumentHelp("The symbols, with commas between them.", valueName: "list"))
    var symbols = "XAUUSD"

    @Option(help: "s1: date index; s2: and a unique key; s3: WITHOUT ROWID; s4: no date index; s5: text dates.")
    var schema = StoreSchema.s1

    @Option(help: "The order in which rows are written.")
    var order = Order.time

    @Option(help: ArgumentHelp("Also create a CSV file with points newer than the store's.", valueName: "file"))
    var pending: String?

    @Option(help: "How many points the pending file has (default: 1440 with --pending).")
    var pendingRows: Int?

    @Flag(help: "Overwrite files that are already there.")
    var force = false

    private var symbolList: [String] {
        symbols.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    func validate() throws {
        guard (0...1_000_000_000).contains(rows) else { throw ValidationError("--rows is from 0 to 1000000000") }
        guard (0...1_000_000_000).contains(pendingRows ?? 0) else {
            throw ValidationError("--pending-rows is from 0 to 1000000000")
        }
        guard pending != nil || pendingRows == nil else { throw ValidationError("--pending-rows needs --pending") }
        guard (1...31_622_400).contains(every) else { throw ValidationError("--every is from 1 to 31622400 seconds") }
        guard symbolList.allSatisfy(isSymbol), Set(symbolList).count == symbolList.count, symbolList.count <= 1000
        else { throw ValidationError("--symbols takes up to 1000 different names of letters, digits and = . _ -") }
        guard until == nil || untilInstant != nil else { throw ValidationError("--until is not an ISO 8601 instant") }
    }

    private func isSymbol(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || "=._-".utf8.contains($0)
            }
    }

    private var untilInstant: Instant? { until.flatMap { Instant(iso8601: $0) } }

    func run() throws {
        do {
            try make()
        } catch {
            fputs("goldprices: \(error)\n", stderr)
            throw ExitCode(73)
        }
    }

    private func make() throws {
        let symbols = symbolList
        let pendingCount = pending == nil ? 0 : pendingRows ?? 1440
        let untilSeconds = untilInstant.map { Int64($0.since(Instant(unixSeconds: 0)).components.seconds) }
        let spans = PriceSeries.spans(
            storeRows: rows, pendingRows: pendingCount, symbolCount: symbols.count, secondsPerStep: Int64(every),
            untilUnixSeconds: untilSeconds ?? Int64(time(nil)))

        for path in [store, pending].compactMap(\.self) where !force && access(path, F_OK) == 0 {
            throw GoldPricesError("refusing to overwrite \(path); --force does")
        }
        let series = PriceSeries(
            spans.store, symbolCount: symbols.count, secondsPerStep: Int64(every), seed: seed)
        let points = GoldPriceStore(path: store, schema: schema, symbols: symbols)
        switch order {
        case .time: try points.write(series)
        case .random: try points.write(shuffled(Array(series)))
        }
        report(store, spans.store, symbols.count)

        guard let pending else { return }
        let file = PendingFile(path: pending, symbols: symbols)
        try file.write(
            PriceSeries(spans.pending, symbolCount: symbols.count, secondsPerStep: Int64(every), seed: seed &+ 1))
        report(pending, spans.pending, symbols.count)
    }

    /// The points in an order that depends on the seed (Fisher-Yates, because the standard library's order may change).
    private func shuffled(_ points: [PricePoint]) -> [PricePoint] {
        var points = points
        var generator = SplitMix64(seed: ~seed)
        for last in stride(from: points.count - 1, to: 0, by: -1) {
            points.swapAt(last, generator.next(below: last + 1))
        }
        return points
    }

    private func report(_ path: String, _ span: PriceSeries.Span, _ symbolCount: Int) {
        guard span.rowCount > 0 else { return print("\(path): no points") }
        let steps = Int64((span.rowCount - 1) / symbolCount)
        let first = Instant(unixSeconds: span.firstUnixSeconds)
        let last = Instant(unixSeconds: span.firstUnixSeconds + steps * Int64(every))
        print("\(path): \(span.rowCount) points, \(first.rfc3339) to \(last.rfc3339)")
    }
}
