import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob
@testable import RetentionReports

/// The review of many stores has the sums of their reviews.
struct StoresReviewTests {
    private typealias Sample = ReviewSample

    private func store(
        _ name: String, _ rule: RunReport.RuleReport = Sample.rule(), _ runs: [LedgerRun] = []
    ) -> StoresReview.Store {
        var review = Sample.review([rule], runs)
        review.plan.store = name
        return StoresReview.Store(review)
    }

    private func review(_ stores: [StoresReview.Store]) -> StoresReview {
        StoresReview("data/*.sqlite", of: Sample.policy(["gold"]), asOf: Sample.now, stores, problems: [])
    }

    private func words(_ stores: [StoresReview.Store]) -> String {
        review(stores).text(TextLayout()).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test func theRowsOfARefusedRuleAreExpired() {
        var unknown = Sample.rule("gold", .refused)
        let refused = Sample.rule("gold", .refused, expired: 264)
        let known = words([store("a", refused), store("b", Sample.rule(expired: 10))])
        #expect(known.contains(" a 1,000 264 10 3.0 MiB ") && known.contains(" all 2,000 274 20 6.0 MiB"), "\(known)")
        unknown.planned.isCounted = false
        #expect(words([store("a", unknown)]).contains(" a 1,000 ? 10 3.0 MiB "))
    }
}
