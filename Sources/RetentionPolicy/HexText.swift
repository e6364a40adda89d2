/// Bytes as hexadecimal digits in lower case.
package enum HexText {
    private static let digits = Array("0123456789abcdef".unicodeScalars)

    /// Two digits for each byte.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        var text = ""
        for byte in bytes {
            text.unicodeScalars.append(digits[Int(byte >> 4)])
            text.unicodeScalars.append(digits[Int(byte & 15)])
        }
        return text
    }
}
