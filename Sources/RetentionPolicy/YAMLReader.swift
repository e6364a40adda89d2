@preconcurrency import CLibYAML
import PriceStore

/// Reads the document of a policy file into nodes with positions.
///
/// libyaml produces the events. The reader decides everything else: depth, size, aliases, duplicate keys, a second document. After a
/// mistake, reading continues if possible, so that all mistakes are reported at once.
struct YAMLReader {
    /// Deeper nesting, with aliases followed, is an error.
    static let deepestLevel = 64
    /// More values than this, with aliases followed, are an error.
    static let mostNodes = 100_000

    /// Mistakes found so far.
    private(set) var diagnostics: [Diagnostic] = []
    /// The first scalar with a password, however it is written; nil: there is none.
    private var secret: Mark?
    private let text: PolicyText
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private var anchors: [String: YAMLNode] = [:]
    private var openAnchors: Set<String> = []
    private var nodeCount = 0

    /// Keys whose values would be shown if they were only unknown.
    private static let secretKeys: Set<String> = ["pass", "passwd", "password", "pgpassword", "pwd"]

    /// Reads the document.
    ///
    /// - Returns: its root, all mistakes, and the first password. The root is nil if there is none or it cannot be read; there is then a
    ///   mistake.
    static func read(_ text: PolicyText) -> (root: YAMLNode?, diagnostics: [Diagnostic], secret: Mark?) {
        // The parser holds a pointer to itself, so it must not move.
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { parser.deallocate() }
        guard yaml_parser_initialize(parser) == 1 else {
            return (nil, [Diagnostic(at: Mark(line: 1, column: 1), "not enough memory to read the file")], nil)
        }
        defer { yaml_parser_delete(parser) }
        return text.bytes.withUnsafeBufferPointer { bytes in
            yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
            yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
            var reader = YAMLReader(text: text, parser: parser)
            do throws(Diagnostic) {
                let root = try reader.document()
                return (root, reader.diagnostics, reader.secret)
            } catch {
                return (nil, reader.diagnostics + [error], reader.secret)
            }
        }
    }

    private init(text: PolicyText, parser: UnsafeMutablePointer<yaml_parser_t>) {
        self.text = text
        self.parser = parser
    }

    /// The part of an event that the reader needs.
    private enum Event {
        case documentStart
        case end
        case alias(String)
        case scalar(YAMLNode.Scalar, anchor: String?, tag: String?)
        case sequenceStart(anchor: String?, tag: String?)
        case mappingStart(anchor: String?, tag: String?)
        case streamEnd
    }

    private mutating func document() throws(Diagnostic) -> YAMLNode? {
        guard case (.documentStart, _) = try next() else {
            throw Diagnostic(at: Mark(line: 1, column: 1), "the file is empty; expected version, store and rules")
        }
        let (event, mark) = try next()
        let root = try node(event, mark, level: 1)
        _ = try next()
        if case (.documentStart, let second) = try next() {
            diagnostics.append(Diagnostic(at: second, "a second document begins here; the file can hold only one"))
        }
        return root
    }

    private mutating func node(_ event: Event, _ mark: Mark, level: Int) throws(Diagnostic) -> YAMLNode {
        if level > Self.deepestLevel {
            throw Diagnostic(at: mark, "values are nested more than \(Self.deepestLevel) levels deep here")
        }
        if case .alias(let name) = event { return try alias(name, mark, level: level) }
        nodeCount += 1
        if nodeCount > Self.mostNodes { throw Diagnostic(at: mark, Self.tooMany) }
        var node = YAMLNode(content: .sequence([]), mark: mark)
        switch event {
        case .scalar(var scalar, let anchor, let tag):
            checkTag(tag, text: "str", at: mark)
            if tag != nil { scalar.isPlain = false }
            node.content = .scalar(scalar)
            if let anchor { anchors[anchor] = node }
        case .sequenceStart(let anchor, let tag):
            checkTag(tag, text: "seq", at: mark)
            open(anchor)
            var items: [YAMLNode] = []
            while true {
                let (event, itemMark) = try next()
                if case .end = event { break }
                let item = try self.node(event, itemMark, level: level + 1)
                node.nodeCount += item.nodeCount
                node.height = max(node.height, item.height + 1)
                items.append(item)
            }
            node.content = .sequence(items)
            close(anchor, node)
        case .mappingStart(let anchor, let tag):
            checkTag(tag, text: "map", at: mark)
            open(anchor)
            node.content = .mapping(try pairs(of: &node, level: level))
            close(anchor, node)
        case .alias, .documentStart, .end, .streamEnd:
            throw Diagnostic(at: mark, "expected a value here")
        }
        return node
    }

    private mutating func pairs(of mapping: inout YAMLNode, level: Int) throws(Diagnostic) -> [YAMLNode.Pair] {
        var pairs: [YAMLNode.Pair] = []
        var places: [String: Mark] = [:]
        while true {
            let (event, keyMark) = try next()
            if case .end = event { return pairs }
            var key: YAMLNode.Scalar?
            if case .scalar(let scalar, nil, nil) = event {
                nodeCount += 1
                key = scalar
            } else {
                _ = try node(event, keyMark, level: level + 1)
                diagnostics.append(Diagnostic(at: keyMark, "a key must be a plain word, written out"))
            }
            let (valueEvent, valueMark) = try next()
            let value = try node(valueEvent, valueMark, level: level + 1)
            mapping.nodeCount += value.nodeCount + 1
            mapping.height = max(mapping.height, value.height + 1)
            guard let key else { continue }
            // Further inside it may be the name of an attribute.
            if secret == nil, level < 3, Self.secretKeys.contains(key.text.lowercased()) { secret = keyMark }
            if key.isPlain, key.text == "<<" {
                diagnostics.append(
                    Diagnostic(at: keyMark, "merge keys ('<<') are not supported; write shared keys under 'defaults'"))
            } else if key.text.allSatisfy(\.isWhitespace) || key.isPlain && key.text == "~" {
                diagnostics.append(Diagnostic(at: keyMark, "a key is missing here"))
            } else if let first = places[key.text] {
                diagnostics.append(
                    Diagnostic(
                        at: keyMark,
                        "duplicate key '\(key.text)'; it is already at line \(first.line), column \(first.column)"))
            } else {
                places[key.text] = keyMark
                pairs.append(YAMLNode.Pair(key: key.text, keyMark: keyMark, value: value))
            }
        }
    }

    /// The node of an alias, at the position of the alias. Its size counts as if it were written out, so that aliases of aliases cannot
    /// exceed the limit.
    private mutating func alias(_ name: String, _ mark: Mark, level: Int) throws(Diagnostic) -> YAMLNode {
        if openAnchors.contains(name) { throw Diagnostic(at: mark, "the alias '*\(name)' is inside its own value") }
        guard var node = anchors[name] else {
            let hint = NearestName.suggestion(for: name, in: anchors.keys.sorted())
            throw Diagnostic(at: mark, "the alias '*\(name)' has no anchor '&\(name)' before it\(hint)")
        }
        nodeCount += node.nodeCount
        if nodeCount > Self.mostNodes { throw Diagnostic(at: mark, "with the alias '*\(name)' " + Self.tooMany) }
        if level + node.height - 1 > Self.deepestLevel {
            throw Diagnostic(at: mark, "the alias '*\(name)' nests values more than \(Self.deepestLevel) levels deep")
        }
        node.mark = mark
        return node
    }

    private mutating func open(_ anchor: String?) {
        if let anchor { openAnchors.insert(anchor) }
    }

    private mutating func close(_ anchor: String?, _ node: YAMLNode) {
        guard let anchor else { return }
        openAnchors.remove(anchor)
        anchors[anchor] = node
    }

    private mutating func checkTag(_ tag: String?, text name: String, at mark: Mark) {
        guard let tag, tag != "!", tag != "tag:yaml.org,2002:" + name else { return }
        diagnostics.append(Diagnostic(at: mark, "the tag '\(tag)' is not supported; leave it out"))
    }

    private static let tooMany = "the file has more than 100,000 values, which is the limit"

    private mutating func next() throws(Diagnostic) -> (Event, Mark) {
        var event = yaml_event_t()
        while true {
            guard yaml_parser_parse(parser, &event) == 1 else { throw parserMistake() }
            defer { yaml_event_delete(&event) }
            let mark = mark(of: event)
            switch event.type {
            case YAML_STREAM_START_EVENT: continue
            case YAML_DOCUMENT_START_EVENT: return (.documentStart, mark)
            case YAML_DOCUMENT_END_EVENT, YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return (.end, mark)
            case YAML_ALIAS_EVENT: return (.alias(Self.string(event.data.alias.anchor) ?? ""), mark)
            case YAML_SCALAR_EVENT:
                let data = event.data.scalar
                let bytes = UnsafeBufferPointer(start: data.value, count: data.length)
                let scalar = YAMLNode.Scalar(
                    text: String(decoding: bytes, as: UTF8.self), isPlain: data.style == YAML_PLAIN_SCALAR_STYLE)
                if secret == nil, Secrets.areIn(scalar.text) { secret = mark }
                return (.scalar(scalar, anchor: Self.string(data.anchor), tag: Self.string(data.tag)), mark)
            case YAML_SEQUENCE_START_EVENT:
                let data = event.data.sequence_start
                return (.sequenceStart(anchor: Self.string(data.anchor), tag: Self.string(data.tag)), mark)
            case YAML_MAPPING_START_EVENT:
                let data = event.data.mapping_start
                return (.mappingStart(anchor: Self.string(data.anchor), tag: Self.string(data.tag)), mark)
            default: return (.streamEnd, mark)
            }
        }
    }

    private func mark(of event: yaml_event_t) -> Mark {
        var start = event.start_mark.index
        var end = event.end_mark.index
        switch event.type {
        case YAML_SCALAR_EVENT where event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE:
            // A message is not about an anchor or a tag before the value.
            let bytes = UnsafeBufferPointer(start: event.data.scalar.value, count: event.data.scalar.length)
            let length = String(decoding: bytes, as: UTF8.self).unicodeScalars.count
            if event.start_mark.line == event.end_mark.line, length > 0, end - start > length { start = end - length }
        case YAML_SEQUENCE_START_EVENT, YAML_MAPPING_START_EVENT:
            // The event ends where the first item begins, but the rest of the line belongs to it.
            end = .max
        default: break
        }
        return text.mark(from: start, to: end)
    }

    private func parserMistake() -> Diagnostic {
        let parser = parser.pointee
        let problem = parser.problem.map { String(cString: $0) } ?? "the file cannot be read as YAML"
        let mark = text.mark(from: parser.problem_mark.index, to: parser.problem_mark.index + 1)
        if parser.error == YAML_MEMORY_ERROR { return Diagnostic(at: mark, "not enough memory to read the file") }
        let scalar = text.scalar(at: mark)
        if problem.contains("cannot start any token") || problem.contains("found a tab"), let scalar {
            if scalar == "\t" { return Diagnostic(at: mark, "a tab cannot be used for indentation; use spaces") }
            return Diagnostic(at: mark, "a value cannot begin with '\(scalar)'; write it in quotes")
        }
        let context = parser.context.map { String(cString: $0) }
        let trouble = YAMLSyntaxError(
            problem: problem, context: context, place: mark,
            contextPlace: text.mark(from: parser.context_mark.index, to: parser.context_mark.index + 1),
            lines: text.source.lines)
        if let diagnostic = trouble.diagnostic { return diagnostic }
        var message = "this is not YAML: \(problem)"
        if let context {
            message += " \(context)"
            if context.hasPrefix("while"), parser.context_mark.index != parser.problem_mark.index {
                let place = text.mark(from: parser.context_mark.index, to: parser.context_mark.index)
                message += " that begins at line \(place.line), column \(place.column)"
            }
        }
        return Diagnostic(at: mark, message)
    }

    private static func string(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        guard let pointer else { return nil }
        return String(cString: pointer)
    }
}
