import RetentionJob
import RetentionPolicy

/// Shows the progress of a run on the terminal: rows, rate and time left, on one line that is removed at the end.
final class ProgressBar: RunObserver {
    private let show: (String) -> Void
    private let erase: () -> Void
    private let uptime: () -> Duration
    private let width: () -> Int
    private var label = ""
    private var began = Duration.zero
    private var lastShown: Duration?

    private static let interval = Duration.milliseconds(100)

    /// Makes a progress bar.
    ///
    /// - Parameters:
    ///   - show: shows a line in place of the previous one.
    ///   - width: the current maximum width of a line.
    init(
        show: @escaping (String) -> Void, erase: @escaping () -> Void, uptime: @escaping () -> Duration,
        width: @escaping () -> Int
    ) {
        self.show = show
        self.erase = erase
        self.uptime = uptime
        self.width = width
    }

    func runDidBegin(stage: String) {
        label = SafeText.line(stage)
        lastShown = uptime()
        show(label + " …")
    }

    func runDidBegin(rule: String, expiredCount: Int) {
        label = SafeText.line(rule)
        began = uptime()
        lastShown = nil
        update(deletedCount: 0, expiredCount: expiredCount)
    }

    func runDidDelete(deletedCount: Int, expiredCount: Int) {
        update(deletedCount: deletedCount, expiredCount: expiredCount)
    }

    func runDidEnd() {
        erase()
    }

    private func update(deletedCount: Int, expiredCount: Int) {
        let now = uptime()
        if let lastShown, now - lastShown < Self.interval { return }
        lastShown = now
        show(
            Self.line(
                label: label, deletedCount: deletedCount, expiredCount: expiredCount, elapsed: now - began,
                width: width()))
    }

    /// The line: `yahoo-gold  [########------------]  40.0%  200,000 of 500,000 rows  100,000 rows/s  3.0 s left`.
    ///
    /// If it is wider than the terminal, parts are omitted in this order: the rate, the bar, the count, the percentage. Then the label is
    /// cut. The time left always stays.
    static func line(label: String, deletedCount: Int, expiredCount: Int, elapsed: Duration, width: Int = .max)
        -> String
    {
        let total = max(expiredCount, deletedCount)
        let cells = 20
        let filled = total == 0 ? 0 : Int(Int128(deletedCount) * Int128(cells) / Int128(total))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: cells - filled)
        var parts = [
            label, "[\(bar)]", Figures.percent(deletedCount, of: total) ?? "",
            "\(Figures.grouped(deletedCount)) of \(Figures.grouped(total)) rows", "", "",
        ]
        let microseconds = Int128(elapsed.wholeMicroseconds)
        if microseconds > 0, deletedCount > 0 {
            let perSecond = Int128(deletedCount) * 1_000_000 / microseconds
            let left = microseconds * Int128(total - deletedCount) / Int128(deletedCount)
            parts[4] = "\(Figures.grouped(perSecond)) rows/s"
            parts[5] = "\(Figures.duration(Duration(wholeMicroseconds: Int64(clamping: left)))) left"
        }
        func joined() -> String { parts.filter { !$0.isEmpty }.joined(separator: "  ") }
        for part in [4, 1, 3, 2] where TextWidth.of(joined()) > width { parts[part] = "" }
        let excess = TextWidth.of(joined()) - width
        if excess > 0 { parts[0] = String(label.prefix(max(0, label.count - excess - 1))) + "…" }
        return joined()
    }
}
