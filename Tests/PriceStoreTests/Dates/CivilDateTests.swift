import PriceStore
import Testing

struct CivilDateTests {
    @Test func countsDaysFrom1970() {
        #expect(CivilDate(year: 1970, month: 1, day: 1).dayNumber == 0)
        #expect(CivilDate(year: 2026, month: 11, day: 20).dayNumber == 20_777)
        #expect(CivilDate(year: 2000, month: 2, day: 29).dayNumber == 11_016)
        #expect(CivilDate(year: 1969, month: 12, day: 31).dayNumber == -1)
        #expect(CivilDate(year: 1, month: 1, day: 1).dayNumber == -719_162)
        #expect(CivilDate(year: 0, month: 2, day: 29).dayNumber == -719_469)
    }

    @Test func everyDayFollowsTheOneBefore() {
        var date = CivilDate(year: -5, month: 12, day: 31)
        let first = date.dayNumber
        for number in first...first + 900_000 {
            #expect(CivilDate(dayNumber: number) == date)
            #expect(date.dayNumber == number)
            guard CivilDate(dayNumber: number) == date else { return }
            if date.day < CivilDate.daysInMonth(year: date.year, month: date.month) {
                date.day += 1
            } else {
                date = CivilDate(year: date.month == 12 ? date.year + 1 : date.year, month: date.month % 12 + 1, day: 1)
            }
        }
    }

    @Test func absurdYearsDoNotTrap() {
        #expect(CivilDate(year: .max, month: 12, day: 31).dayNumber > 364_000_000)
        #expect(CivilDate(year: .min, month: 1, day: 1).dayNumber < -364_000_000)
    }

    @Test func leapYearsHaveA29February() {
        let leap = [2024, 2000, 1600, 0, -4].allSatisfy { CivilDate(year: $0, month: 2, day: 29).isValid }
        let common = [2026, 1900, 2100].contains { CivilDate(year: $0, month: 2, day: 29).isValid }
        #expect(leap && !common)
        #expect(!CivilDate(year: 2026, month: 13, day: 1).isValid)
        #expect(!CivilDate(year: 2026, month: 0, day: 1).isValid)
        #expect(!CivilDate(year: 2026, month: 4, day: 31).isValid)
        #expect(!CivilDate(year: 2026, month: 4, day: 0).isValid)
    }
}
