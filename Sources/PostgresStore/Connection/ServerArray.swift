/// PostgreSQL's text format of arrays, for lists that are bound as a single value.
enum ServerArray {
    /// The text of an array of elements. A nil element is NULL.
    static func text(_ elements: some Sequence<String?>) -> String {
        let texts = elements.map { element in
            guard let element else { return "NULL" }
            guard element.utf8.contains(where: { [34, 92].contains($0) }) else { return "\"\(element)\"" }
            let escaped = element.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }
            return "\"\(escaped.joined())\""
        }
        return "{\(texts.joined(separator: ","))}"
    }

    /// The elements of an array without nesting.
    static func elements(_ text: String) -> [String?] {
        var elements: [String?] = []
        var element = ""
        var (isQuoted, wasQuoted, isEscaped) = (false, false, false)
        func end() {
            elements.append(!wasQuoted && element == "NULL" ? nil : element)
            element = ""
            wasQuoted = false
        }
        let inner = text.unicodeScalars.dropFirst().dropLast()
        if inner.isEmpty { return [] }
        for character in inner {
            if isEscaped {
                element.unicodeScalars.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
                wasQuoted = true
            } else if character == ",", !isQuoted {
                end()
            } else {
                element.unicodeScalars.append(character)
            }
        }
        end()
        return elements
    }
}
