// Compiled by scripts/fuzz; no target of the package.
@preconcurrency import Glibc

/// The target that the environment names.
private let chosen = getenv("FUZZ_TARGET").flatMap { FuzzTarget(rawValue: String(cString: $0)) }

/// What libFuzzer calls.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let target = chosen else { return -1 }
    target.take(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
