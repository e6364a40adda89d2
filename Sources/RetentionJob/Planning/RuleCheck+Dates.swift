import PriceStore
import RetentionPolicy

extension RuleCheck {
    /// Reports what a run would refuse because of the dates, and a column without a readable date.
    mutating func reportDates(
        _ entity: Entity, _ date: DateAttribute, _ survey: Survey
    ) throws(StoreError) {
        let samples = try DateRecognition.samples(rule: rule, date, entity, reader)
        let recognition = entity.attribute(named: date.name).flatMap {
            DateRecognition(rule: rule, $0, samples: samples, clock: clock)
        }
        var judge = Refusals(rule: rule, date: date, cutoff: date.earliest, survey: survey, clock: clock)
        judge.doubts.recognition = recognition
        let refusals = judge.ofDates().filter { !rule.accept.contains($0.code) }
        for refusal in refusals {
            let cause = refusal.reason.replacing(
                "refusing to delete from \(rule.entity): ", with: "", maxReplacements: 1)
            report(
                rule.isEnabled ? .error : .warning, at: rule.marks.value("date_format"),
                "the dates look wrong (\(refusal.code.rawValue)): \(cause)")
        }
        if refusals.isEmpty, let sentence = survey.warningOfUnreadable(rule) {
            report(.warning, at: rule.marks.value("date_attribute"), sentence)
        }
        guard refusals.isEmpty, let recognition, recognition.certainty == .likely, recognition.isNamedAsDate,
            let encoding = recognition.encoding, encoding != date.encoding,
            !recognition.alternatives.contains(where: { $0.encoding == date.encoding })
        else { return }
        report(
            .warning, at: rule.marks.value("date_format"),
            "\(entity.name).\(date.name) does not look like \(date.encoding.rawValue), but like \(encoding.rawValue): "
                + recognition.reason)
    }
}
