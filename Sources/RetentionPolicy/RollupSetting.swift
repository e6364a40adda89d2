package import PriceStore

extension Rule {
    /// How the expired rows of a rule become candles in the transaction that deletes them.
    package struct RollupSetting: Hashable, Sendable {
        package var target: String
        package var buckets: CandleBuckets
        /// The groups. If the rows are candles, the groups are those of the rule that makes them, unless the policy names others.
        package var per: [String]
        /// The attribute of the price; nil: the rows are candles.
        package var price: String?
        package var volume: String?
        package var allowsNonPositive = false
        /// The target's names of the fields, where they are not the usual ones.
        package var names = CandleNames()
        /// The names of the fields in the rows, if these are candles.
        package var sourceNames = CandleNames()

        /// The target's attributes that identify a candle.
        package var key: [String] { per.map { names[group: $0] } + [names[.time]] }

        /// Whether the rows are candles of shorter buckets.
        package var isFromCandles: Bool { price == nil }
    }
}

extension CandleBuckets.Length {
    /// The length that an age names; nil: candles cannot have that length.
    init?(_ age: MaxAge) {
        switch (age.months, age.days, age.seconds) {
        case (1, 0, 0): self = .unit(.month)
        case (3, 0, 0): self = .unit(.quarter)
        case (12, 0, 0): self = .unit(.year)
        case (0, 1, 0), (0, 0, 86_400): self = .unit(.day)
        case (0, 7, 0): self = .unit(.week)
        case (0, 0, 60..<86_400) where age.seconds % 60 == 0 && 86_400 % age.seconds == 0:
            self = .minutes(Int(age.seconds / 60))
        default: return nil
        }
    }

    /// The length as a policy writes it, in its largest unit.
    package var written: String {
        switch self {
        case .minutes(let count): count % 60 == 0 ? "\(count / 60)h" : "\(count)min"
        case .unit(.month): "1mo"
        case .unit(.quarter): "3mo"
        case .unit(.year): "1y"
        case .unit(.week): "1w"
        case .unit: "1d"
        }
    }

    /// Whether each bucket of a longer length consists of whole buckets of this one, within one session.
    func divides(_ other: CandleBuckets.Length) -> Bool {
        switch (self, other) {
        case (.minutes(let own), .minutes(let others)): own < others && others % own == 0
        case (.minutes, .unit): true
        case (.unit, .minutes), (.unit(.week), _), (_, .unit(.week)):
            (self, other) == (.unit(.day), .unit(.week))
        case (.unit(let own), .unit(let others)): own.size < others.size
        }
    }
}

extension CandleBuckets {
    /// The years for which `check` compares sessions. For others a run itself notices what does not fit.
    package static let checkedYears = Instant(unixSeconds: 946_684_800)...Instant(unixSeconds: 2_114_380_800)

    /// Whether each bucket of longer ones consists of whole buckets of these. Different sessions are compared over ``checkedYears``; those
    /// of minutes and hours, which are many, from 2024 to 2027.
    func divide(_ other: CandleBuckets) -> Bool {
        guard length.divides(other.length) else { return false }
        guard zone != other.zone || sessionStart != other.sessionStart else { return true }
        var (end, last) = (Self.checkedYears.lowerBound, Self.checkedYears.upperBound)
        if case .minutes = other.length {
            (end, last) = (Instant(unixSeconds: 1_704_067_200), Instant(unixSeconds: 1_830_297_600))
        }
        while end < last {
            end = other.bucket(at: end).upperBound
            guard bucket(at: end).lowerBound == end else { return false }
        }
        return true
    }
}

extension Rule.RollupSetting {
    /// The setting as the ledger records it: everything that determines the candles.
    var canonical: String {
        func text(_ value: String) -> String { CanonicalText.text(value) }
        var members = [("into", text(target)), ("every", text(buckets.length.written))]
        members += CanonicalText.per(per)
        if let price { members.append(("price", text(price))) } else { members.append(("from", text("candles"))) }
        if let volume { members.append(("volume", text(volume))) }
        let minutes = buckets.sessionStart / 60
        let start = "\((minutes / 60).padded(2)):\((minutes % 60).padded(2))"
        let session = [("zone", text(buckets.zone.identifier)), ("start", text(start))]
        members.append(("session", CanonicalText.object(session)))
        if allowsNonPositive { members.append(("allow_non_positive", "true")) }
        let columns = names.others.filter { $0.key != $0.value }.sorted { $0.key < $1.key }
            .map { ($0.key, text($0.value)) }
        if !columns.isEmpty { members.append(("columns", CanonicalText.object(columns))) }
        return CanonicalText.object(members)
    }
}
