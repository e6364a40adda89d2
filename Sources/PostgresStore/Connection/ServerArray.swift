/// PostgreSQL's text format of arrays, for lists that are bound as a single value.
enum ServerArray {
    /// The text of an array of elements. A nil element is NULL.
    static func text(_ elements: some Sequence<String?>) -> String {
        var text = "{"
        var isFirst = true
        for element in elements {
            if !isFirst { text += "," }
            isFirst = false
            guard let element else {
                text += "NULL"
                continue
            }
            text += "\""
            for character in element.unicodeScalars {
                if character == "\"" || character == "\\" { text += "\\" }
                text.unicodeScalars.append(character)
            }
            text += "\""
        }
        return text + "}"
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
