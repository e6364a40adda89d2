import CLibMD

/// The SHA-256 of bytes, as 64 hexadecimal digits in lower case.
package struct SHA256 {
    private var state = SHA2_CTX()

    package init() { SHA256Init(&state) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        SHA256Update(&state, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
    }

    package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    package consuming func digits() -> String {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256Final(&digest, &state)
        return HexText.text(digest)
    }

    package static func digits(of text: String) -> String { digits(of: Array(text.utf8)) }

    package static func digits(of bytes: [UInt8]) -> String {
        var hash = SHA256()
        hash.update(bytes)
        return hash.digits()
    }
}
