import PriceStore
import RetentionPolicy

/// Rows that a rule would delete as old, and that are live rows in another format.
///
/// The newest row does not tell: a single row in the declared format, or none of the last year, hides all others. So the
/// rows that would be deleted are judged themselves.
package struct MisreadRows: Hashable, Sendable {
    /// The format in which they are live.
    let encoding: DateEncoding
    /// How many of the rows that were looked at are live in it.
    let rowCount: Int
    /// How many rows that would be deleted were looked at.
    let sampledCount: Int
    /// The newest of their dates in that format.
    let newest: Instant

    /// Judges values of rows; nil: the rows that would be deleted are not half live in any other format, or a tenth of them have a
    /// date of the last 20 years in the declared format.
    ///
    /// - Parameters:
    ///   - values: of the date attribute; those that would stay do not count.
    ///   - date: the rule's date attribute, in the declared format.
    init?(_ values: [StoreValue], date: DateAttribute, cutoff: Instant, clock: Instant) {
        let recent = clock.advanced(byMicroseconds: -20 * FormatReading.year)
        let going = Self.going(values, date, cutoff)
        let believable = going.count { (date.encoding.read($0, zone: date.zone).start ?? .distantPast) >= recent }
        guard !going.isEmpty, believable * 10 < going.count else { return nil }
        let present = max(cutoff, recent)...clock.advanced(byMicroseconds: FormatReading.day)
        // A format that reads a date of today as past, too, reads all old dates so: it shows nothing.
        let today = date.encoding.value(of: clock, zone: date.zone)
        let others = DateEncoding.allCases.filter { encoding in
            guard encoding.isNumeric, encoding != date.encoding else { return false }
            return encoding.read(today, zone: date.zone).start.map { $0 > present.upperBound || $0 < recent } ?? true
        }
        let readings = others.map { encoding in
            (encoding, going.compactMap { encoding.read($0, zone: date.zone).start }.filter(present.contains))
        }
        guard let (encoding, live) = readings.max(by: { $0.1.count < $1.1.count }), live.count * 2 >= going.count,
            let newest = live.max()
        else { return nil }
        (self.encoding, rowCount, sampledCount, self.newest) = (encoding, live.count, going.count, newest)
    }

    /// Looks at rows that a rule would delete: those of a sample of all rows, or, where it has few of them or the rule names
    /// only some rows, at some that the rule names.
    static func find(
        rule: Rule, _ request: SurveyRequest, samples: [StoreValue], _ reader: any StoreReader, clock: Instant
    ) throws(StoreError) -> MisreadRows? {
        let (date, cutoff) = (request.date, request.cutoff)
        guard !rule.isFormatStored, date.encoding.isNumeric else { return nil }
        var values = samples
        if request.filter != .all || going(samples, date, cutoff).count < fewestSampled {
            values = try reader.fetchRows(
                FetchRequest(
                    entity: request.entity, predicate: request.deletion, fetchLimit: DateRecognition.sampleCount),
                attributes: [date.name]
            ).map { $0.values[0] }
        }
        return MisreadRows(values, date: date, cutoff: cutoff, clock: clock)
    }

    /// The values of rows that would be deleted.
    private static func going(_ values: [StoreValue], _ date: DateAttribute, _ cutoff: Instant) -> [StoreValue] {
        values.filter {
            date.encoding.read($0, zone: date.zone).start.map { $0 >= date.earliest && $0 < cutoff } ?? false
        }
    }

    private static let fewestSampled = 5
}
