import PriceStore

extension Instant {
    /// The instant in UTC in the server's format, without a zone, clamped to the server's range of dates.
    ///
    /// Source: PostgreSQL manual, "Date/Time Types": 4713 BC to 294276 AD; there is no year 0.
    var serverText: String {
        let microseconds = min(max(microseconds, -210_866_803_200_000_000), 9_223_371_331_199_999_999)
        return Instant(microseconds: microseconds).civil.serverText
    }
}

extension CivilDateTime {
    /// The local time in the server's format.
    var serverText: String {
        var text = "\(hour.padded(2)):\(minute.padded(2)):\(second.padded(2))"
        if microsecond > 0 { text += "." + microsecond.padded(6) }
        return date.serverText(time: " " + text)
    }
}

extension CivilDate {
    /// The day in the server's format, followed by a time.
    func serverText(time: String = "") -> String {
        "\((year > 0 ? year : 1 - year).padded(4))-\(month.padded(2))-\(day.padded(2))\(time)" + (year > 0 ? "" : " BC")
    }
}
