import PriceStore

@preconcurrency import Glibc

/// Writes price points into a CSV file as a feed leaves it for the job.
struct PendingFile {
    let path: String
    let symbols: [String]

    /// Writes the file. It gets its name only when it is complete, because the job imports what it finds.
    ///
    /// - Throws: ``GoldPricesError`` if the file cannot be written.
    func write(_ points: some Sequence<PricePoint>) throws {
        let partial = path + ".part"
        guard let file = fopen(partial, "w") else { throw failure(partial) }
        fputs("symbol,updateTime,price,open,high,low,volume\n", file)
        for point in points { fputs(line(point), file) }
        let written = ferror(file) == 0
        guard fclose(file) == 0, written, rename(partial, path) == 0 else {
            let error = failure(path)
            unlink(partial)
            throw error
        }
    }

    private func line(_ point: PricePoint) -> String {
        let prices = [point.priceCents, point.openCents, point.highCents, point.lowCents].map(decimal)
        return symbols[Int(point.symbol)] + "," + Instant(unixSeconds: point.unixSeconds).rfc3339 + ","
            + prices.joined(separator: ",") + ",\(point.volume)\n"
    }

    /// A non-negative number of cents as a decimal number with two decimals.
    private func decimal(_ cents: Int32) -> String {
        let rest = cents % 100
        return "\(cents / 100).\(rest < 10 ? "0" : "")\(rest)"
    }

    private func failure(_ path: String) -> GoldPricesError {
        GoldPricesError("cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
