import PriceStore
import TestSupport
import Testing

struct ISO8601Tests {
    struct Accepted: Sendable, CustomTestStringConvertible {
        var text: String
        var start: String
        var end: String?
        var zone: String
        var testDescription: String { "\(text) in \(zone)" }

        /// Without an end: an instant.
        init(_ text: String, _ start: String, to end: String? = nil, in zone: String = "UTC") {
            self.text = text
            self.start = start
            self.end = end
            self.zone = zone
        }
    }

    @Test(arguments: [
        Accepted("2026", "2026-01-01T00:00:00Z", to: "2027-01-01T00:00:00Z"),
        Accepted("0000", "0000-01-01T00:00:00Z", to: "0001-01-01T00:00:00Z"),
        Accepted("9999", "9999-01-01T00:00:00Z", to: "10000-01-01T00:00:00Z"),
        Accepted("2026-11", "2026-11-01T00:00:00Z", to: "2026-12-01T00:00:00Z"),
        Accepted("2026-12", "2026-12-01T00:00:00Z", to: "2027-01-01T00:00:00Z"),
        Accepted("2026-11-20", "2026-11-20T00:00:00Z", to: "2026-11-21T00:00:00Z"),
        Accepted("2024-02-29", "2024-02-29T00:00:00Z", to: "2024-03-01T00:00:00Z"),
        Accepted("2026-11-20T12:34", "2026-11-20T12:34:00Z"),
        Accepted("2026-11-20 12:34:56", "2026-11-20T12:34:56Z"),
        Accepted("2026-11-20t12:34:56z", "2026-11-20T12:34:56Z"),
        Accepted("2026-11-20T12:34Z", "2026-11-20T12:34:00Z"),
        Accepted("2026-11-20T23:59:59.9999999999", "2026-11-20T23:59:59.999999Z"),
        Accepted("2026-11-20T12:34:56,5Z", "2026-11-20T12:34:56.500Z"),
        Accepted("2026-11-20T12:34:56.000000999Z", "2026-11-20T12:34:56Z"),
        Accepted("2026-11-20T12:34:56+01", "2026-11-20T11:34:56Z"),
        Accepted("2026-11-20T12:34:56+0130", "2026-11-20T11:04:56Z"),
        Accepted("2026-11-20 00:00:00.25-05:30", "2026-11-20T05:30:00.250Z"),
        Accepted("2026-11-20T00:00:00+23:59", "2026-11-19T00:01:00Z"),
        Accepted("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
        Accepted("2026-11-20", "2026-11-19T23:00:00Z", to: "2026-11-20T23:00:00Z", in: "Europe/Berlin"),
        Accepted("2026-03-29", "2026-03-28T23:00:00Z", to: "2026-03-29T22:00:00Z", in: "Europe/Berlin"),
        Accepted("2026-03", "2026-02-28T23:00:00Z", to: "2026-03-31T22:00:00Z", in: "Europe/Berlin"),
        Accepted("2026-11-20 12:00", "2026-11-20T11:00:00Z", in: "Europe/Berlin"),
        Accepted("2026-11-20 12:00Z", "2026-11-20T12:00:00Z", in: "Europe/Berlin"),
        Accepted("2018-11-04", "2018-11-04T03:00:00Z", to: "2018-11-05T02:00:00Z", in: "America/Sao_Paulo"),
        // Of a local time that occurs twice the later, of two midnights the first as a start and the later as an end.
        Accepted("2026-10-25 02:30", "2026-10-25T01:30:00Z", in: "Europe/Berlin"),
        Accepted("2026-10-25 02:30+02:00", "2026-10-25T00:30:00Z", in: "Europe/Berlin"),
        Accepted("2026-10-24", "2026-10-24T00:00:00Z", to: "2026-10-25T01:00:00Z", in: "Atlantic/Azores"),
        Accepted("2026-10-25", "2026-10-25T00:00:00Z", to: "2026-10-26T01:00:00Z", in: "Atlantic/Azores"),
        // A leap second is the instant after it.
        Accepted("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        Accepted("2017-01-01 00:59:60.5", "2017-01-01T00:00:00.500Z", in: "Europe/Berlin"),
        // The zone had no such day.
        Accepted("2011-12-30", "2011-12-30T10:00:00Z", to: "2011-12-30T10:00:00.000001Z", in: "Pacific/Apia"),
    ])
    func reads(row: Accepted) throws {
        let zone = try CalendarZoneTests.zone(row.zone)
        guard case .span(let start, let end) = DateEncoding.iso8601.read(.text(row.text), zone: zone) else {
            Issue.record("not read")
            return
        }
        #expect(start.rfc3339 == row.start)
        if let expected = row.end {
            #expect(end.rfc3339 == expected)
        } else {
            #expect(end == start.advanced(byMicroseconds: 1))
        }
    }

    @Test(arguments: [
        "", " ", "2", "202", "20261", "2026-", "2026-1", "2026-1-1", "2026-11-", "2026-11-2", "2026-00", "2026-13",
        "2026-11-00", "2026-11-31", "2026-02-29", "1900-02-29", "20261120", "2026-11-20T", "2026-11-20 ", "2026-11-20Z",
        "2026-11-20+01:00", "2026-11-20T12", "2026-11-20T12:", "2026-11-20T1:00", "2026-11-20T24:00",
        "2026-11-20T23:60",
        "2026-11-20T23:59:61", "2026-11-20T23:59:", "2026-11-20T23:59:5", "2026-11-20T23:59:59.", "2026-11-20T23:59.5",
        "2026-11-20T23:59:59.Z", "2026-11-20T23:59:59 Z", "2026-11-20T23:59:59ZZ", "2026-11-20T23:59:59Z ",
        "2026-11-20T23:59:59+", "2026-11-20T23:59:59+1", "2026-11-20T23:59:59+010", "2026-11-20T23:59:59+01:",
        "2026-11-20T23:59:59+01:0", "2026-11-20T23:59:59+24:00", "2026-11-20T23:59:59+01:60",
        "2026-11-20T23:59:59+01:00:00", "2026-11-20T23:59:59 UTC", " 2026-11-20", "2026-11-20\n", "2026-11-20\0",
        "2026-11-20T00:00:00\0Z", "2026/11/20", "2026-11-20_00:00", "+2026-11-20", "-2026-11-20", "12026-11-20",
        "２０２６-11-20", "2026\u{2212}11-20", "2026-W47-5", "2026-324", "20261120T000000Z", "20.11.2026", "now", "NaN",
        "1795132800",
    ])
    func refuses(text: String) {
        #expect(DateEncoding.iso8601.read(.text(text), zone: .utc) == .unreadable(.notADate))
    }

    @Test func everyTextIsEitherReadOrRefusedWithoutATrap() {
        var random = SeededRandom(3)
        let alphabet = Array("0123456789-:+TtZz., \0é")
        var read = 0
        for _ in 0..<200_000 {
            var text = Array("2026-11-20T12:34:56.789+01:00".prefix(.random(in: 0...29, using: &random)))
            for _ in 0..<Int.random(in: 0...2, using: &random) where !text.isEmpty {
                guard let place = text.indices.randomElement(using: &random) else { continue }
                text[place] = alphabet.randomElement(using: &random) ?? "0"
            }
            if DateEncoding.iso8601.read(.text(String(text)), zone: .utc).start != nil { read += 1 }
        }
        #expect(read > 1000 && read < 150_000)
    }

    @Test func onlyTextIsRead() {
        let iso = DateEncoding.iso8601
        #expect(iso.read(.null, zone: .utc) == .unreadable(.null))
        #expect(iso.read(.integer(2026), zone: .utc) == .unreadable(.wrongType))
        #expect(iso.read(.real(2026), zone: .utc) == .unreadable(.wrongType))
        #expect(iso.read(.blob(Array("2026-11-20".utf8)), zone: .utc) == .unreadable(.wrongType))
    }
}
