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

/// Stands for the hash of the crypto library, which is not what is tried here.
struct SHA256 {
    static func hash(data: some Sequence<UInt8>) -> [UInt8] { [UInt8](repeating: 0, count: 32) }
    mutating func update(data: some Sequence<UInt8>) {}
    mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    func finalize() -> [UInt8] { [UInt8](repeating: 0, count: 32) }
}
