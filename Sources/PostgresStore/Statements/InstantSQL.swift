import PriceStore

extension Instant {
    /// The instant in UTC as the server reads it, without a zone, clamped to the range of its dates.
    ///
    /// Source: PostgreSQL manual, "Date/Time Types": 4713 BC to 294276 AD; there is no year 0.
    var serverText: String {
        let microseconds = min(max(microseconds, -210_866_803_200_000_000), 9_223_371_331_199_999_999)
        return Instant(microseconds: microseconds).civil.serverText
    }
}

extension CivilDateTime {
    /// The local time as the server reads it.
    var serverText: String {
        func padded(_ number: Int, _ digits: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        var text = "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2))"
        if microsecond > 0 { text += "." + padded(microsecond, 6) }
        return date.serverText(time: " " + text)
    }
}

extension CivilDate {
    /// The day as the server reads it, with a time after it.
    func serverText(time: String = "") -> String {
        func padded(_ number: Int, _ digits: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        let day = "\(padded(year > 0 ? year : 1 - year, 4))-\(padded(month, 2))-\(padded(self.day, 2))"
        return day + time + (year > 0 ? "" : " BC")
    }
}
