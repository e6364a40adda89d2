import PriceStore
import RetentionPolicy

/// Rows that a rule would delete as old, but that are recent in another format.
///
/// The newest row is not enough: one row in the declared format hides all others, and so does a year without rows. So the rows to be
/// deleted are checked themselves.
package struct MisreadRows: Hashable, Sendable {
    /// The other format, in which the rows are recent.
    let encoding: DateEncoding
    /// How many of the checked rows are recent in that format.
    let rowCount: Int
    /// How many rows to be deleted were checked.
    let sampledCount: Int
    /// The newest of their dates in that format.
    let newest: Instant

    /// Checks values of rows; nil: fewer than half of the rows to be deleted are recent in any other format, or a tenth of them have a date
    /// of the last 20 years in the declared format.
    ///
    /// - Parameters:
    ///   - values: values of the date attribute; those that are not deleted are ignored.
    ///   - date: the rule's date attribute, in the declared format.
    init?(_ values: [StoreValue], date: DateAttribute, cutoff: Instant, clock: Instant) {
        let recent = clock.advanced(byMicroseconds: -20 * FormatReading.year)
        let expired = Self.expired(values, date, cutoff)
        let believable = expired.compactMap { date.encoding.read($0, zone: date.zone).start }.count { $0 >= recent }
        guard !expired.isEmpty, believable * 10 < expired.count else { return nil }
        let present = max(cutoff, recent)...clock.advanced(byMicroseconds: FormatReading.day)
        // A format that reads today's date as a recent date too reads all old dates so; it shows nothing.
        let today = date.encoding.value(of: clock, zone: date.zone)
        let others = DateEncoding.allCases.filter { encoding in
            guard encoding.isNumeric, encoding != date.encoding else { return false }
            return encoding.read(today, zone: date.zone).start.map { $0 > present.upperBound || $0 < recent } != false
        }
        let readings = others.map { encoding in
            (encoding, expired.compactMap { encoding.read($0, zone: date.zone).start }.filter(present.contains))
        }
        guard let (encoding, live) = readings.max(by: { $0.1.count < $1.1.count }), live.count * 2 >= expired.count,
            let newest = live.max()
        else { return nil }
        (self.encoding, rowCount, sampledCount, self.newest) = (encoding, live.count, expired.count, newest)
    }

    /// Checks rows that a rule would delete: those in a sample of all rows. If it has few of them, or the rule chooses only some rows, a
    /// sample of the rule's rows: the oldest where an index gives them, else the first of the table.
    static func find(
        rule: Rule, _ request: SurveyRequest, byDate: Bool, samples: [StoreValue], _ reader: any RetentionReader,
        clock: Instant
    ) throws(StoreError) -> MisreadRows? {
        let (date, cutoff) = (request.date, request.cutoff)
        guard !rule.isFormatStored, date.encoding.isNumeric else { return nil }
        var values = samples
        if request.filter != .all || expired(samples, date, cutoff).count < fewestSampled {
            let rows = StoreFetchRequest(
                entity: request.entity, predicate: request.expired,
                sortDescriptors: byDate ? [StoreSortDescriptor(date.name)] : [],
                fetchLimit: DateRecognition.sampleCount)
            values = try reader.fetch(rows, attributes: [date.name]).map { $0[0] }
        }
        return MisreadRows(values, date: date, cutoff: cutoff, clock: clock)
    }

    /// The values of rows that would be deleted.
    private static func expired(_ values: [StoreValue], _ date: DateAttribute, _ cutoff: Instant) -> [StoreValue] {
        values.filter {
            date.encoding.read($0, zone: date.zone).start.map { $0 >= date.earliest && $0 < cutoff } == true
        }
    }

    private static let fewestSampled = 5
}
