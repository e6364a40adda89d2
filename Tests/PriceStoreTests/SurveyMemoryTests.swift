import PriceStore
import Testing

@Suite struct SurveyMemoryTests {
    /// What is counted beside a plan is not what the plan has found.
    @Test func aRequestBesideAPlanIsAnotherOne() {
        let date = DateAttribute(name: "at", encoding: .unixSeconds)
        let request = SurveyRequest(entity: "price", date: date, cutoff: .distantPast)
        var beside = request
        beside.deleting.isBesideAPlan = true
        var memory = SurveyMemory<Int>()
        memory[request] = 1
        memory[beside] = 2
        #expect(memory[request] == 1)
    }
}
