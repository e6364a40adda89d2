import PriceStore
import Testing

/// Which versions of a component have a defect.
struct KnownDefectTests {
    private func version(_ text: String) throws -> ComponentVersion { try #require(ComponentVersion(text)) }

    @Test(arguments: [
        ("3.9.0", "3.10.0"), ("3.40", "3.40.1"), ("2.28.3-dev", "2.28.3"), ("2.28.2", "2.28.3-dev"), ("9.6", "15.20"),
        ("15.20 (Debian 15.20-0+deb12u1)", "18.6"),
    ])
    func versionsAreComparedNumberByNumber(older: String, newer: String) throws {
        #expect(try version(older) < version(newer))
        #expect(try !(version(newer) < version(older)) && version(older) != version(newer))
    }

    @Test func equalVersionsAreEqual() throws {
        #expect(try version("3.40") == version("3.40.0"))
        #expect(try Set([version("3.40"), version("3.40.0")]).count == 1)
        #expect(try "\(version("15.20 (Debian)"))" == "15.20")
        #expect(ComponentVersion("unknown") == nil && ComponentVersion("") == nil)
    }

    @Test func aDefectIsInTheVersionsOfItsRangesOnly() {
        let defect = KnownDefect(
            component: "Engine",
            versions: [.release(1, 2, 0) ... .release(1, 4, 5), .release(1, 5, 0) ... .release(1, 5, 2)],
            effect: "it breaks", remedy: "it is not used", source: "here")
        func isIn(_ version: String) -> Bool { defect.isIn(EngineComponent(name: "Engine", version: version)) }
        for version in ["1.2", "1.3.99", "1.4.5", "1.5", "1.5.2", "1.5.2-dev", "no version"] { #expect(isIn(version)) }
        for version in ["1.1.9", "1.4.6", "1.4.99", "1.5.3-dev", "1.5.3", "2.0"] {
            #expect(!isIn(version), "\(version)")
        }
        #expect(!defect.isIn(EngineComponent(name: "Other", version: "1.3")))
        #expect(
            defect.sentence
                == "Engine 1.2.0 to 1.4.5, 1.5.0 to 1.5.2 has a known defect: it breaks; it is not used (here)")
    }
}
