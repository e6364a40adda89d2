package import PriceStore
import RetentionPolicy

/// The date format that fits the values of an attribute, and how certain that is. It is for people; the only decision that uses it is to
/// refuse a rule with another format.
///
/// The values decide. "Sure" means that exactly one format gives nearly all of them a plausible date, most of them in the past. A name
/// never makes a format sure. See decision 0021.
package struct DateRecognition: Hashable, Sendable {
    /// How sure a format is.
    package enum Certainty: String, Hashable, Sendable, CaseIterable {
        /// The store declares it, as a Core Data model does.
        case declared
        /// One format gives nearly all values a plausible date, and no other format does.
        case sure
        /// One format is clearly the best, with a doubt named in the reason.
        case likely
        /// Two or more formats fit, or little except the values suggests a date.
        case unsure
        /// The values have two or more formats or shapes.
        case mixed
        /// The name or the type suggests a date, but no format reads the values.
        case none
    }

    /// Values of one kind in an attribute that holds several kinds.
    package struct Shape: Hashable, Sendable {
        /// The format that reads them; nil: none does.
        package var encoding: DateEncoding?
        /// How many of the sampled values are of this kind.
        package var valueCount: Int
        package var example: StoreValue
    }

    /// The format; nil: the values are mixed, or no format reads them.
    package var encoding: DateEncoding?
    package var certainty: Certainty
    /// Why, as a sentence without a full stop.
    package var reason: String
    /// Some of the values.
    package var examples: [StoreValue]
    /// Other formats in which at least half of the values are dates, most likely first.
    package var alternatives: [FormatReading] = []
    /// Values that stand for "no date".
    package var sentinels: [StoreValue] = []
    /// The kinds of values of a mixed attribute, the commonest first.
    package var shapes: [Shape] = []
    /// Whether all dates are more than a day after the clock: they say when something ends, or the format is wrong.
    package var isInFuture = false
    /// Whether more than a quarter of the dates are: they are those of a calendar or a plan.
    package var isOftenInFuture = false
    /// Whether the store, the name or the type says that the values are dates.
    package var isNamedAsDate: Bool

    /// Judges an attribute by its values, its name and its type; nil: nothing suggests a date.
    ///
    /// - Parameters:
    ///   - samples: values from the whole entity; NULL does not count.
    ///   - clock: the time to which dates are compared to decide whether they are plausible.
    package init?(_ attribute: Attribute, samples: [StoreValue], clock: Instant) {
        let values = samples.filter { !$0.isNull }.unique
        let words = AttributeWords(attribute)
        examples = Array(values.prefix(3))
        isNamedAsDate = words.hint != nil || attribute.dateEncoding != nil
        if let declared = attribute.dateEncoding {
            (encoding, certainty, reason) = (declared, .declared, "the store declares it")
            return
        }
        (certainty, reason) = (.none, "")
        let regular = values.filter { !FormatReading.isFiller($0) }
        sentinels = values.filter(FormatReading.isFiller)
        let readings = FormatReading.all(regular, clock: clock)
        let candidates = readings.filter { $0.covers(tenths: 5) }
        if let shapes = Self.shapes(regular, readings, isNamed: isNamedAsDate) {
            (self.shapes, certainty) = (shapes, .mixed)
            reason = Self.reason(shapes, of: regular.count)
        } else if let best = candidates.first {
            let rivals = readings.filter {
                // One date that fits two orders of day and month is enough.
                $0.encoding != best.encoding
                    && ($0.possibleCount * 2 >= $0.regularCount || $0.encoding.datePattern != nil)
            }
            let judge = FormatJudge(best: best, rivals: rivals, values: regular, words: words, clock: clock)
            guard let certainty = judge.certainty else { return nil }
            (encoding, self.certainty, alternatives) = (best.encoding, certainty, rivals)
            sentinels += best.sentinels
            isInFuture = best.pastCount == 0
            isOftenInFuture = best.pastCount * 4 < best.plausibleCount * 3
            reason = judge.reason
        } else {
            guard let hint = words.hint else { return nil }
            reason = Self.reason(hint: hint, values: values, regular: regular)
        }
    }

    /// The number of values sampled from an attribute.
    package static let sampleCount = 60

    /// A sample of a rule's date attribute; empty if the store declares the format.
    static func samples(
        rule: Rule, _ date: DateAttribute, _ entity: Entity, _ reader: any RetentionReader
    ) throws(StoreError) -> [StoreValue] {
        guard !rule.isFormatStored, date.encoding != .native else { return [] }
        return try reader.sample(entity: entity.name, attribute: date.name, limit: sampleCount)
    }

    /// The recognised format of a sample of a rule's date attribute; nil: the sample is empty, or nothing suggests a date.
    init?(rule: Rule, _ attribute: Attribute, samples: [StoreValue], clock: Instant) {
        guard !rule.isFormatStored, !samples.isEmpty else { return nil }
        self.init(attribute, samples: samples, clock: clock)
    }

    /// Takes the counts of all rows into account: a format that cannot read a tenth of the rows is not sure.
    package mutating func weigh(_ survey: Survey) {
        let unread = survey.unreadable.filter { [.wrongType, .notADate].contains($0.reason) }.reduce(0) {
            $0 + $1.rowCount
        }
        guard certainty == .sure, unread * 10 > unread + (survey.readableCount ?? 0) else { return }
        certainty = .likely
        reason += "; among all rows \(Figures.count(unread, "value")) cannot be read in it"
    }

    /// The pattern to look for in all rows, because a sample of them may have no value that fits it; nil: there is none, or the sample has.
    package var otherOrder: DateEncoding? {
        [.sure, .likely].contains(certainty) ? encoding.flatMap(FormatReading.otherOrder) : nil
    }

    /// Takes into account how many rows have the day and the month in the other order, or in both.
    package mutating func weigh(_ other: DateEncoding, rowCount: Int) {
        guard rowCount > 0 else { return }
        certainty = .unsure
        reason += "; among all rows \(Figures.count(rowCount, "value", "is a date", "are dates")) in \(other.rawValue)"
    }

    // MARK: Mixed values

    /// The kinds of the values, if no single format explains them and two kinds together do; nil: the values are not mixed.
    private static func shapes(_ values: [StoreValue], _ readings: [FormatReading], isNamed: Bool) -> [Shape]? {
        guard let first = readings.max(by: { $0.pastCount < $1.pastCount }), first.pastCount * 10 >= values.count,
            first.pastCount > 0, !readings.contains(where: { $0.covers(tenths: 9) })
        else { return nil }
        let plausible = first.plausible(of: values)
        var found = [Shape(encoding: first.encoding, valueCount: plausible.count, example: plausible[0])]
        var rest = (first.unread + first.outliers).filter { !first.doubtful.contains($0) }
        let others = readings.filter { $0.pastCount > 0 && !$0.hasUnit(of: first) }
        while let (next, read) = others.map({ ($0, $0.plausible(of: rest)) }).max(by: { $0.1.count < $1.1.count }),
            isKind(read, of: values)
        {
            found.append(Shape(encoding: next.encoding, valueCount: read.count, example: read[0]))
            rest.removeAll(where: read.contains)
        }
        // Values that no format reads form their own kind if the name suggests dates.
        let unread = rest.filter { first.unread.contains($0) && ($0.isText || plausible[0].isText) }
        if isNamed, isKind(unread, of: values) {
            found.append(Shape(encoding: nil, valueCount: unread.count, example: unread[0]))
        }
        let explained = found.reduce(0) { $0 + $1.valueCount }
        guard found.count > 1, isNamed || explained * 10 >= values.count * 9 else { return nil }
        return found.sorted { $0.valueCount > $1.valueCount }
    }

    /// Whether some values are enough for a kind of their own: at least two, and a tenth of all.
    private static func isKind(_ some: [StoreValue], of values: [StoreValue]) -> Bool {
        some.count > 1 && some.count * 10 >= values.count
    }
}
