import PriceStore
import RetentionPolicy

extension Planner {
    /// The settings of `relationships` with which no related row would prevent a rule's delete.
    func ways(past survey: Survey, of request: SurveyRequest, _ reader: any RetentionReader) throws(StoreError)
        -> Set<Rule.RelationshipSetting>
    {
        guard survey.unsupported == nil else { return [] }
        var found: Set<Rule.RelationshipSetting> = []
        for setting in [Rule.RelationshipSetting.nullify, .cascade] where setting.request != request.relationships {
            var other = request
            other.relationships = setting.request
            (other.countsAllRows, other.countsKeptRows, other.countsRelatedRows) = (false, false, true)
            let survey = try answer(other, reader)
            if survey.unsupported == nil, survey.obstacles.isEmpty { found.insert(setting) }
        }
        return found
    }
}
