import PriceStore

/// Judges how sure the best reading of some values is. A doubt lowers the certainty; nothing raises it.
struct FormatJudge {
    let best: FormatReading
    /// Other formats in which at least half of the values are possible dates.
    let rivals: [FormatReading]
    /// The sampled values, all different, without NULL and without values that stand for "no date" in every format.
    let values: [StoreValue]
    let words: AttributeWords
    let clock: Instant

    /// How sure the format is; nil: the values are probably not dates.
    var certainty: DateRecognition.Certainty? {
        if best.encoding == .iso8601, values.contains(where: FormatReading.isWrittenOut) {
            guard best.covers(tenths: 9) || words.hint != nil else { return nil }
            return best.covers(tenths: 9) && !isShort && !isMostlyAhead ? .sure : .likely
        }
        let isStrong = best.covers(tenths: 9) && best.pastCount * 2 > best.regularCount && isRecent
        if best.isWrittenOut, best.encoding != .iso8601 {
            guard isStrong, rivals.isEmpty else { return words.hint == nil ? nil : .unsure }
            if words.speaksOfElse { return words.hasDateWord ? .likely : .unsure }
            return best.plausibleCount >= 3 && !isDense ? .sure : .likely
        }
        guard words.hint != nil else {
            // Some format reads any whole number. If neither name nor type suggests a date, the dates must lie in the last 20 years, in a
            // format that small numbers do not fit.
            guard isStrong, ![.unixDays, .iso8601].contains(best.encoding), rivals.isEmpty || !words.speaksOfElse else {
                return nil
            }
            return rivals.isEmpty && canBeSure && !words.speaksOfElse ? .likely : .unsure
        }
        guard rivals.isEmpty || isClearlyBest, !words.contradicts(best.encoding) else { return .unsure }
        if [.appleSeconds, .appleNanoseconds, .unixDays].contains(best.encoding), !isCurrent { return .unsure }
        // Seconds of 1970 read as Apple's are 31 years late, so some of these dates are after the clock.
        if !rivals.isEmpty, best.pastCount < best.plausibleCount { return .unsure }
        return isStrong && rivals.isEmpty && canBeSure && isOngoing ? .sure : .likely
    }

    /// Whether at least half of the dates are in the future, as in a schedule or an expiry.
    private var isMostlyAhead: Bool { best.pastCount * 2 <= best.plausibleCount }

    /// Whether other numbers do not fit the format by chance, and the values do not look like other numbers.
    private var canBeSure: Bool {
        switch best.encoding {
        // Small numbers and seconds since 1970 fit these formats.
        case .appleSeconds, .appleNanoseconds, .unixDays, .iso8601: false
        case .unixNanoseconds: best.plausibleCount >= 3 && !isDense && areRoundNanoseconds
        default: best.plausibleCount >= 3 && !isDense
        }
    }

    /// Whether nearly all values are consecutive whole numbers, like those of a counter. Days written as numbers jump at the end of a
    /// month.
    private var isDense: Bool {
        let numbers = values.compactMap { value -> Int64? in
            switch value {
            case .integer(let number): number
            case .real(let number): Int64(exactly: number)
            case .text(let text): Int64(text)
            default: nil
            }
        }.sorted()
        guard numbers.count > 1 else { return false }
        var consecutive = 0
        for (number, next) in zip(numbers, numbers.dropFirst()) {
            if next == number &+ 1 { consecutive += 1 }
            let dates = [number, next].compactMap { best.encoding.read(.integer($0), zone: .utc).start?.microseconds }
            if best.encoding == .yyyymmdd, next != number &+ 1, dates.count == 2,
                dates[1] - dates[0] == FormatReading.day
            {
                return false
            }
        }
        return consecutive * 10 >= (numbers.count - 1) * 9
    }

    /// Whether the values end like nanoseconds converted from microseconds or coarser units. Identifiers that begin with a time
    /// (snowflakes) are in the same range, but do not end so.
    private var areRoundNanoseconds: Bool {
        let numbers = values.compactMap { if case .integer(let number) = $0 { number } else { nil } }
        return !numbers.isEmpty && numbers.allSatisfy { $0 % 1000 == 0 } && !numbers.allSatisfy { $0 & 0x3FFFFF == 0 }
    }

    /// Whether the newest date that is not in the future is at most 20 years old.
    private var isRecent: Bool { isWithin(20 * FormatReading.year, best) }
    /// Whether that date is at most five years old. Numbers of an unknown epoch, such as GPS time, read as dates that end earlier.
    private var isOngoing: Bool { isWithin(5 * FormatReading.year, best) }
    /// Whether that date is at most 400 days old.
    private var isCurrent: Bool { isWithin(400 * FormatReading.day, best) }

    private func isWithin(_ span: Int64, _ reading: FormatReading) -> Bool {
        reading.newestPast.map { $0 >= clock.advanced(byMicroseconds: -span) } ?? false
    }

    /// Whether only the best format reads dates up to the present.
    private var isClearlyBest: Bool {
        isCurrent && !rivals.contains { isWithin(400 * FormatReading.day, $0) }
    }

    /// Whether texts contain no day, so that they may be something else, unless all are months of the plausible past.
    private var isShort: Bool {
        let isShort = values.contains { if case .text(let text) = $0 { text.utf8.count < 10 } else { false } }
        let isPast =
            best.pastCount == best.plausibleCount && best.oldest.map { $0 >= FormatReading.firstPlausible } ?? false
        return isShort && !(isPast && best.pastCount >= 3)
    }

    // MARK: Words

    /// Why the format has this certainty, as a sentence without a full stop.
    var reason: String {
        var parts = ["\(best.plausibleCount) of \(values.count) sampled values are dates in it, such as " + example]
        if words.speaksOfElse {
            parts.append("its name suggests something other than a date")
        } else if words.hint == nil, !best.isWrittenOut {
            parts.append("neither its name nor its type suggests a date")
        }
        if words.contradicts(best.encoding) { parts.append("its name suggests another unit") }
        if best.pastCount == 0 {
            parts.append("all of them are in the future")
        } else if best.pastCount < best.plausibleCount {
            parts.append("\(best.plausibleCount - best.pastCount) of these are in the future")
        }
        if best.pastCount > 0, !isRecent, best.encoding != .iso8601 {
            parts.append("the newest is more than 20 years old")
        } else if best.pastCount > 0, !isOngoing, !best.isWrittenOut {
            parts.append("the newest is more than five years old")
        }
        if best.encoding != .iso8601, best.plausibleCount < 3 {
            parts.append("there are too few different values to be sure")
        }
        if best.encoding != .iso8601, isDense { parts.append("they are consecutive numbers, like those of a counter") }
        if best.encoding == .unixNanoseconds, !areRoundNanoseconds {
            parts.append("identifiers that begin with a time look the same")
        }
        if best.encoding == .unixDays { parts.append("other small numbers look the same") }
        if let outlier = best.outliers.first {
            parts.append("\(best.outliers.count) out of range, such as \(SafeText.example(outlier))")
        }
        for rival in rivals.prefix(3) {
            let span = [rival.oldest, rival.newest].compactMap { $0.map { "\($0.civil.date)" } }
            parts.append(
                "in \(rival.encoding.rawValue) \(rival.possibleCount) of them are dates"
                    + (span.isEmpty ? "" : ", from \(span.joined(separator: " to "))"))
        }
        if rivals.isEmpty { parts.append("no other format fits") }
        return parts.joined(separator: "; ")
    }

    private var example: String { SafeText.example(best.plausible(of: values).first ?? .null) }
}

extension DateRecognition {
    /// Why values are mixed, as a sentence without a full stop.
    static func reason(_ shapes: [Shape], of count: Int) -> String {
        let parts = shapes.map { shape in
            "\(shape.valueCount) \(shape.encoding.map { "in \($0.rawValue)" } ?? "that no format reads"), such as "
                + SafeText.example(shape.example)
        }
        return "of \(count) sampled values there are " + parts.joined(separator: "; ")
            + "; a rule can read only one of these formats"
    }

    /// Why no format is known although a name or type suggests a date, as a sentence without a full stop.
    static func reason(hint: String, values: [StoreValue], regular: [StoreValue]) -> String {
        let speaks = "its \(hint) suggests a date, but "
        guard let first = values.first else { return speaks + "it has no values" }
        guard !regular.isEmpty else {
            return speaks + "its only values are placeholders for no date, such as \(SafeText.example(first))"
        }
        var forms: [(form: String, count: Int, example: StoreValue)] = []
        for value in regular {
            let form = Self.form(value)
            if let index = forms.firstIndex(where: { $0.form == form }) {
                forms[index].count += 1
            } else {
                forms.append((form, 1, value))
            }
        }
        let shown = forms.sorted { $0.count > $1.count }.prefix(3).map {
            "\($0.count) like \(SafeText.example($0.example))"
        }
        return speaks + "no format reads its \(regular.count) sampled values as plausible dates: "
            + shown.joined(separator: ", ") + (forms.count > 3 ? ", …" : "")
    }

    /// The form of a value: digits and letters are equal, all other characters differ.
    private static func form(_ value: StoreValue) -> String {
        switch value {
        case .integer, .real: return "number"
        case .null: return "null"
        case .blob: return "blob"
        case .text(let text):
            var form = ""
            for character in text.prefix(40) {
                let kind: Character = character.isNumber ? "9" : character.isLetter ? "a" : character
                if form.last != kind { form.append(kind) }
            }
            return form
        }
    }
}
