/// The width of a text in columns of a terminal.
package enum TextWidth {
    /// The width of a text on one line. Combining marks have no width; East Asian characters and emoji take two columns.
    package static func of(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { width, character in
            width + (character.unicodeScalars.contains(where: isWide) ? 2 : isMark(character) ? 0 : 1)
        }
    }

    /// The text in lines of at most `width` columns, broken at spaces, but not before a unit. A longer word gets its own line.
    ///
    /// - Parameter indent: the spaces before each line except the first.
    package static func wrap(_ text: String, width: Int, indent: Int = 0) -> [String] {
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = ""
        var lineWidth = 0
        for word in words(text) {
            let wordWidth = of(word)
            if !line.isEmpty, lineWidth + 1 + wordWidth > width {
                lines.append(line)
                line = ""
            }
            let start = line.isEmpty ? (lines.isEmpty ? "" : margin) : line + " "
            lineWidth = (line.isEmpty ? start.count : lineWidth + 1) + wordWidth
            line = start + word
        }
        if !line.isEmpty || lines.isEmpty { lines.append(line) }
        return lines
    }

    /// The words of a text. A number and its unit are one word, and so are a quoted name and a command, because a broken one cannot be
    /// copied. A command stands after a colon, up to a comma, a semicolon or the end.
    private static func words(_ text: String) -> [String] {
        // An expression is costly to build, and most texts have none.
        let hasCommand = text.contains(": retention ") || text.contains(": mkdir ")
        let command =
            hasCommand ? text.firstMatch(of: #/: ((?:retention|mkdir) (?:'[^']*'|\\'|[^'])*?(?:[;,](?= )|$))/#)?.1 : nil
        let hasPairs = text.count { $0 == "\"" } % 2 == 0
        var words: [String] = []
        for part in text[..<(command?.startIndex ?? text.endIndex)].split(separator: " ") {
            let hasOpenQuote = hasPairs && words.last.map { $0.count { $0 == "\"" } % 2 == 1 } ?? false
            if let last = words.last,
                hasOpenQuote || last.last?.isNumber == true && units.contains(part.prefix { $0.isLetter })
            {
                words[words.count - 1] = last + " " + part
            } else {
                words.append(String(part))
            }
        }
        return words + (command.map { [String($0)] + self.words(String(text[$0.endIndex...])) } ?? [])
    }

    private static let units: Set<Substring> = [
        "ms", "s", "min", "h", "d", "bytes", "KiB", "MiB", "GiB", "TiB", "PiB",
    ]

    /// The line itself if it fits, otherwise its wrapped lines.
    package static func fit(_ line: String, width: Int, indent: Int = 0) -> [String] {
        of(line) <= width ? [line] : wrap(line, width: width, indent: indent)
    }

    private static func isMark(_ character: Character) -> Bool {
        character.unicodeScalars.allSatisfy {
            switch $0.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .format, .control: true
            default: false
            }
        }
    }

    /// Whether a terminal shows the character in two columns: East Asian wide characters and emoji.
    static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF,
            0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
