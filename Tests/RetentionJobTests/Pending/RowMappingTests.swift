import PriceStore
import RetentionPolicy
import Testing

@testable import RetentionJob

@Suite struct RowMappingTests {
    static let entity = Entity(
        name: "Price",
        attributes: [
            Attribute(name: "id", affinity: .integer, declaredType: "INTEGER"),
            Attribute(name: "updateTime", affinity: .integer, declaredType: "INTEGER"),
            Attribute(name: "price", affinity: .real, declaredType: "REAL"),
            Attribute(name: "symbol", affinity: .text, declaredType: "TEXT"),
            Attribute(name: "amount", affinity: .numeric, declaredType: "DECIMAL(10,2)"),
            Attribute(name: "seen", affinity: .numeric, declaredType: "DATETIME"),
            Attribute(name: "twice", affinity: .real, declaredType: "REAL", isGenerated: true),
        ], primaryKey: ["id"])

    static func source(
        columns: [String: String] = [:], constants: [String: StoreValue] = [:]
    ) -> PendingSource {
        var source = PendingSource(
            files: "pending/*.csv", baseFolder: "/", entity: "Price", marks: Marks(whole: Mark(line: 1, column: 1)))
        source.columns = columns
        source.constants = constants
        return source
    }

    static func dates(_ encoding: DateEncoding?, zone: CalendarZone = .utc) -> PendingDates {
        let mark = Mark(line: 1, column: 1)
        var rule = Rule(
            name: "r", entity: "price", dateAttribute: "UPDATETIME", maxAge: MaxAge(written: "30d"),
            marks: Marks(whole: mark))
        rule.dateFormat = encoding
        var policy = Policy(
            file: PolicySource(path: "retention.yaml", sha256: "", lines: []),
            store: .init(.file("/prices.sqlite"), written: "prices.sqlite", mark: mark), rules: [rule])
        policy.timezone = zone
        return PendingDates(policy)
    }

    private func mapping(
        _ header: [String], columns: [String: String] = [:], constants: [String: StoreValue] = [:],
        encoding: DateEncoding = .unixSeconds, zone: CalendarZone = .utc
    ) throws -> RowMapping {
        var mapping = try RowMapping(
            Self.source(columns: columns, constants: constants), entity: Self.entity,
            dates: Self.dates(encoding, zone: zone))
        try mapping.setHeader(header.map { $0.isEmpty ? .null : .text($0) })
        return mapping
    }

    @Test func columnsAreRenamedAndConstantsAdded() throws {
        let mapping = try mapping(
            ["Date", "Price", "symbol"], columns: ["Date": "updateTime"], constants: ["id": .integer(7)])
        let values = try mapping.values(.fields([.text("1970-01-02"), .text("18.930"), .text("XAU")]))
        #expect(
            values == [
                "id": .integer(7), "updateTime": .integer(86400), "price": .real(18.93), "symbol": .text("XAU"),
            ])
    }

    static let wrongHeaders: [([String], [String: String], [String: StoreValue], String)] = [
        (["updatTime"], [:], [:], "Price has no attribute 'updatTime'; did you mean 'updateTime'?"),
        (["Datum"], ["Date": "updateTime"], [:], "there is no column 'Date'"),
        (["price", "zzz"], [:], [:], "Price has no attribute 'zzz'"),
        (["price", ""], [:], [:], "column 2 has no name"),
        (["price", "Price"], [:], [:], "two columns become 'price'"),
        (["price", "twice"], [:], [:], "'twice' is computed by the store"),
        (["price", "symbol"], [:], ["Symbol": .text("XAU")], "'symbol' is a column and a constant"),
    ]

    @Test(arguments: wrongHeaders)
    func aWrongHeaderIsNamed(
        header: [String], columns: [String: String], constants: [String: StoreValue], reason: String
    ) throws {
        #expect(throws: FileProblem("wrong header: \(reason)")) {
            try mapping(header, columns: columns, constants: constants)
        }
    }

    /// Values, and what is written of them in a format; nil: a bad line.
    static let dateSamples: [(text: StoreValue, encoding: DateEncoding, value: StoreValue?)] = [
        (.text("2026-11-21T00:00:00Z"), .unixSeconds, .integer(1_795_219_200)),
        (.text("2026-11-21 01:00:00+01:00"), .unixSeconds, .integer(1_795_219_200)),
        (.text("1833-01"), .unixSeconds, .integer(-4_323_283_200)), (.text("2026"), .unixSeconds, .integer(2026)),
        (.text("-5"), .unixSeconds, .integer(-5)), (.text("1.5"), .unixSeconds, .real(1.5)),
        (.text("1795219200000"), .unixMilliseconds, .integer(1_795_219_200_000)),
        (.integer(1_795_219_200), .unixSeconds, .integer(1_795_219_200)), (.real(1.5), .unixSeconds, .real(1.5)),
        (.text("2026-11-21T00:00:00Z"), .appleSeconds, .integer(816_912_000)),
        (.text("2026-11-20"), .unixMilliseconds, .integer(1_795_132_800_000)),
        (.text("2026-11-20"), .unixMicroseconds, .integer(1_795_132_800_000_000)),
        (.text("2026-11-20"), .unixNanoseconds, .integer(1_795_132_800_000_000_000)),
        (.text("2026-11-20"), .appleNanoseconds, .integer(816_825_600_000_000_000)),
        (.text("2026-11-20"), .webkitMicroseconds, .integer(13_439_606_400_000_000)),
        (.text("2026-11-20"), .windowsFiletime, .integer(134_396_064_000_000_000)),
        (.text("2026-11-20"), .dotnetTicks, .integer(639_307_296_000_000_000)),
        (.text("2026-11-20"), .julianDay, .real(2_461_364.5)), (.text("2026-11-20"), .unixDays, .integer(20_777)),
        (.text("2026-11-20"), .yyyymmddhhmmss, .integer(20_261_120_000_000)),
        (.text("20261121"), .yyyymmdd, .integer(20_261_121)), (.text("2026-11-21"), .yyyymmdd, .integer(20_261_121)),
        (.text("20261321"), .yyyymmdd, nil), (.text("2026"), .yyyymmdd, nil),
        (.text("20261121101112"), .yyyymmddhhmmss, .integer(20_261_121_101_112)),
        (.text("2026"), .iso8601, .text("2026-01-01T00:00:00Z")),
        (.integer(2026), .iso8601, .text("2026-01-01T00:00:00Z")),
        (.text("1833-01"), .iso8601, .text("1833-01-01T00:00:00Z")),
        (.text("2026-11-21 01:00:00+01:00"), .iso8601, .text("2026-11-21T00:00:00Z")), (.real(2026), .iso8601, nil),
        (.text("yesterday"), .unixSeconds, nil), (.text("2026-13-01"), .unixSeconds, nil),
        (.text("2026-11-21"), .native, .text("2026-11-21T00:00:00Z")), (.text("nan"), .unixSeconds, nil),
        (.text("0x10"), .unixSeconds, nil), (.text("1e9"), .unixSeconds, nil), (.text(" "), .unixSeconds, nil),
        (.null, .unixSeconds, .null), (.text(""), .iso8601, .null),
    ]

    @Test(arguments: dateSamples)
    func datesAreWrittenInTheRulesFormat(text: StoreValue, encoding: DateEncoding, value: StoreValue?) throws {
        let dates = Self.dates(encoding)
        if let value {
            #expect(try dates.value(text, in: encoding, attribute: "updateTime") == value)
        } else {
            #expect(throws: BadLine.self) { try dates.value(text, in: encoding, attribute: "updateTime") }
        }
    }

    @Test func aZonelessDateIsReadInThePolicysZone() throws {
        let zone = try #require(CalendarZone(identifier: "Europe/Berlin"))
        let mapping = try mapping(["updateTime"], zone: zone)
        #expect(try mapping.values(.fields([.text("1970-01-02")])) == ["updateTime": .integer(82800)])
    }

    static let values: [(attribute: String, StoreValue, StoreValue?)] = [
        ("price", .text("18.930"), .real(18.93)), ("price", .text("1e3"), .real(1000)),
        ("price", .text("7"), .integer(7)), ("price", .text("n/a"), nil), ("price", .text("inf"), nil),
        ("price", .text("1,5"), nil), ("price", .text(""), .null), ("price", .null, .null), ("amount", .text("x"), nil),
        ("seen", .text("2026-11-21"), .text("2026-11-21")), ("symbol", .text("007"), .text("007")),
        ("symbol", .text(""), .text("")),
    ]

    @Test(arguments: values)
    func aTextInANumericColumnMustBeANumber(attribute: String, value: StoreValue, expected: StoreValue?) throws {
        let mapping = try mapping([attribute])
        let found = try? mapping.values(.fields([value]))
        #expect(found == expected.map { [attribute: $0] })
    }

    /// A number as a JSON file has it, and what becomes of it in a column; nil: a bad line.
    struct NumberSample: CustomTestStringConvertible {
        var affinity: Attribute.Affinity
        var text: String
        var expected: StoreValue?
        var precision = Attribute.Precision.double
        var testDescription: String { "\(text) in \(affinity), \(precision)" }

        init(
            _ affinity: Attribute.Affinity, _ text: String, _ expected: StoreValue?,
            _ precision: Attribute.Precision = .double
        ) {
            (self.affinity, self.text, self.expected, self.precision) = (affinity, text, expected, precision)
        }
    }

    static let texts: [NumberSample] = ["12345678901234567890123", "1.0", "1e5", "-0", "1e400", "0.10"].map {
        NumberSample(.text, $0, .text($0))
    }

    static let integers: [NumberSample] = [
        NumberSample(.integer, "9223372036854775807", .integer(.max)),
        NumberSample(.integer, "-9223372036854775808", .integer(.min)),
        NumberSample(.integer, "18446744073709551615", nil), NumberSample(.integer, "9223372036854775809", nil),
        NumberSample(.integer, "9223372036854775808", .real(0x1p63)), NumberSample(.integer, "1.5", .real(1.5)),
        NumberSample(.integer, "-0", .integer(0)), NumberSample(.integer, "1e400", nil),
        NumberSample(.numeric, "18446744073709551615", nil),
        NumberSample(.numeric, "9007199254740993", .integer(9_007_199_254_740_993)),
        NumberSample(
            .numeric, "12345678901234567890.123456789", .text("12345678901234567890.123456789"), .decimal),
        NumberSample(.numeric, "1e400", .text("1e400"), .decimal),
        NumberSample(.none, "18446744073709551615", nil), NumberSample(.none, "1.5", .real(1.5)),
    ]

    static let doubles: [NumberSample] = [
        NumberSample(.real, "0.1", .real(0.1)), NumberSample(.real, "0.10000000000000001", .real(0.1)),
        NumberSample(.real, "0.1000000000000000055511151231257827", .real(0.1)),
        NumberSample(.real, "3.14159265358979323846", nil), NumberSample(.real, "12345678901234567.89", nil),
        NumberSample(.real, "9007199254740992", .integer(9_007_199_254_740_992)),
        NumberSample(.real, "9007199254740993", nil), NumberSample(.real, "9007199254740993.0", nil),
        NumberSample(.real, "1e22", .real(1e22)), NumberSample(.real, "1e400", nil),
        NumberSample(.real, "100000000000000000000000", nil), NumberSample(.real, "1e-400", nil),
        NumberSample(.real, "0e9", .real(0)), NumberSample(.real, "5e-324", .real(.leastNonzeroMagnitude)),
        NumberSample(.real, "-2.50", .real(-2.5)),
        NumberSample(.real, "1.7976931348623157e308", .real(.greatestFiniteMagnitude)),
        NumberSample(.real, "16777217", nil, .single), NumberSample(.real, "0.1", .real(0.1), .single),
        NumberSample(.real, "0.123456789", nil, .single),
    ]

    @Test(arguments: texts + integers + doubles) func aNumberIsKeptExactlyOrTheLineIsBad(_ sample: NumberSample) throws
    {
        var attribute = Attribute(
            name: "n", affinity: sample.affinity, declaredType: sample.affinity == .numeric ? "NUMERIC" : "")
        attribute.precision = sample.precision
        let entity = Entity(name: "Price", attributes: [attribute])
        var mapping = try RowMapping(Self.source(), entity: entity, dates: Self.dates(.unixSeconds))
        try mapping.setHeader([.text("n")])
        func value(_ content: PendingRecord.Content) -> StoreValue? { (try? mapping.values(content))?["n"] }
        let json = value(.members([.init(name: "n", value: .text(sample.text), isNumber: true)]))
        #expect(json == sample.expected)
        // A field of a CSV file is a text where the column does not ask for numbers.
        let csv = value(.fields([.text(sample.text)]))
        #expect(csv == (sample.affinity == .none ? .text(sample.text) : sample.expected))
    }

    /// SQLite makes a double of a text with a large number, in a column such as DATETIME.
    @Test(arguments: ["18446744073709551615", " 18446744073709551615\n", "1e400"])
    func aTextThatWouldBecomeAnotherNumberIsABadLine(text: String) throws {
        let mapping = try mapping(["seen"])
        #expect(throws: BadLine("seen: a number that the column cannot hold exactly")) {
            try mapping.values(.fields([.text(text)]))
        }
        #expect(try mapping.values(.fields([.text(" 5")])) == ["seen": .text(" 5")])
    }

    @Test func aWholeNumberThatIsNoDateOf64BitsIsABadLine() throws {
        let mapping = try mapping(["updateTime"])
        for content in [
            PendingRecord.Content.fields([.text("18446744073709551615")]),
            .members([.init(name: "updateTime", value: .text("18446744073709551615"), isNumber: true)]),
        ] {
            #expect(throws: BadLine("updateTime: a number that the column cannot hold exactly")) {
                try mapping.values(content)
            }
        }
        let number = PendingRecord.Member(name: "updateTime", value: .text("1795219200.123456789"), isNumber: true)
        #expect(try mapping.values(.members([number])) == ["updateTime": .real(1_795_219_200.1234567)])
    }

    @Test func anUnknownNameInJSONIsABadLine() throws {
        let mapping = try RowMapping(Self.source(), entity: Self.entity, dates: Self.dates(.unixSeconds))
        #expect(throws: BadLine("Price has no attribute 'prise'; did you mean 'price'?")) {
            try mapping.values(.members([.init(name: "prise", value: .integer(1))]))
        }
        #expect(throws: BadLine("two names become 'price'")) {
            try mapping.values(
                .members([.init(name: "price", value: .integer(1)), .init(name: "PRICE", value: .integer(1))]))
        }
        #expect(try mapping.values(.members([.init(name: "price", value: .integer(1))])) == ["price": .integer(1)])
    }
}
