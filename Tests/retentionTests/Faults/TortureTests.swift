import Foundation
import Testing

/// A few of the crashes and faults that `scripts/torture` tries in numbers, so that they are part of every test run.
struct TortureTests {
    private static let isPossible =
        (try? LaunchedProgram.shell("command -v python3 && command -v clang", in: LaunchedProgram.project))?.status == 0

    @Test(
        .enabled(if: isPossible, "python3 or clang is not installed"),
        arguments: ["--kills 20", "--power 20", "--faults 20"])
    func aRunThatDiesOrFailsAnywhereIsMadeUpForByTheNext(_ option: String) throws {
        let program = LaunchedProgram.folder.appending(path: "retention").path
        let end = try LaunchedProgram.shell(
            "python3 Tests/Torture/torture.py \(option) --jobs 1 --program '\(program)'", in: LaunchedProgram.project)
        #expect(end.status == 0, "\(end.output) \(end.errors)")
    }
}
