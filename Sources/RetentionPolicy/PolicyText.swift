import PriceStore

/// The bytes of a policy file as text, with the positions of its lines.
struct PolicyText {
    /// The bytes for the YAML parser, without a byte order mark.
    let bytes: ArraySlice<UInt8>
    let source: PolicySource
    /// The position, in Unicode scalars, at which each line begins.
    private let lineStarts: [Int]
    /// The position at which each line ends, without its line end.
    private let lineEnds: [Int]
    private let scalarCount: Int
    /// The first invalid part of the text, if there is one.
    let mistake: Diagnostic?

    /// Splits the bytes into lines, which end with LF, CRLF or CR. A byte order mark at the start is skipped.
    init(bytes: [UInt8], path: String) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        self.bytes = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : ArraySlice(bytes)

        var starts = [0]
        var ends: [Int] = []
        var lines: [String] = []
        var line = String.UnicodeScalarView()
        var position = 0
        var trouble: (position: Int, message: String)?
        var decoder = UTF8()
        var iterator = self.bytes.makeIterator()
        var previous: Unicode.Scalar?
        decoding: while true {
            let scalar: Unicode.Scalar
            switch decoder.decode(&iterator) {
            case .emptyInput: break decoding
            case .error:
                scalar = "\u{FFFD}"
                if trouble == nil { trouble = (position, "the file is not UTF-8 text here") }
            case .scalarValue(let value):
                scalar = value
                if trouble == nil, let message = Self.complaint(about: value) { trouble = (position, message) }
            }
            position += 1
            if scalar == "\n", previous == "\r" {
                starts[starts.count - 1] = position
            } else if scalar == "\n" || scalar == "\r" {
                lines.append(String(line))
                ends.append(position - 1)
                line = String.UnicodeScalarView()
                starts.append(position)
            } else {
                line.append(scalar)
            }
            previous = scalar
        }
        if !line.isEmpty { lines.append(String(line)) }
        ends.append(position)
        lineStarts = starts
        lineEnds = ends
        scalarCount = position
        source = PolicySource(path: path, sha256: SHA256.digits(of: bytes), lines: lines)
        mistake = trouble.map { Diagnostic(at: Self.place($0.position, in: starts), $0.message) }
    }

    /// The position of a range, given in Unicode scalars. If the range has several lines, it is the part on the first.
    func mark(from start: Int, to end: Int) -> Mark {
        var mark = Self.place(min(start, scalarCount), in: lineStarts)
        mark.length = max(1, min(end, lineEnds[mark.line - 1]) - start)
        return mark
    }

    /// The character at a position; nil: the position is the end of its line.
    func scalar(at mark: Mark) -> Unicode.Scalar? {
        guard mark.line <= source.lines.count else { return nil }
        return source.lines[mark.line - 1].unicodeScalars.dropFirst(mark.column - 1).first
    }

    private static func place(_ position: Int, in lineStarts: [Int]) -> Mark {
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= position { low = middle } else { high = middle }
        }
        return Mark(line: low + 1, column: position - lineStarts[low] + 1)
    }

    /// Why a character is not allowed; nil: it is. YAML allows no control characters except tab and line ends.
    private static func complaint(about scalar: Unicode.Scalar) -> String? {
        var digits: String { scalar.value.padded(4, radix: 16).uppercased() }
        switch scalar.value {
        case 0: return "the file has a NUL byte here: it is not a text file"
        case 0x09, 0x0A, 0x0D, 0x85: return nil
        case 0x01..<0x20, 0x7F..<0xA0:
            return "a control character (U+\(digits)) cannot be used in a policy"
        case 0xFEFF: return "a byte order mark is allowed only at the beginning of the file"
        case 0xFFFE, 0xFFFF: return "the character U+\(digits) cannot be used in a policy"
        default: return nil
        }
    }
}
