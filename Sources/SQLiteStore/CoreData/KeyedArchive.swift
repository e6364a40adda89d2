/// A keyed archive: a property list whose objects refer to each other by index into the archive's own table.
///
/// It is read as data: no class is looked up or instantiated. Objects are identified by their number in the property list.
struct KeyedArchive {
    private let list: PropertyList
    /// The archive's table, as numbers of the property list.
    private let table: [Int]
    /// The outermost object.
    let root: Int

    /// The most classes that an object may name: its own and its superclasses.
    private static let largestClassCount = 64

    init(_ bytes: [UInt8]) throws(ModelArchiveError) {
        list = try PropertyList(bytes)
        guard let objects = list.value("$objects", of: list.top), case .array(let table) = list.objects[objects],
            let top = list.value("$top", of: list.top), let root = list.value("root", of: top)
        else { throw ModelArchiveError("the property list is not a keyed archive: it lacks $objects or $top") }
        self.table = table
        guard case .uid(let index) = list.objects[root], table.indices.contains(index) else {
            throw ModelArchiveError("the archive is damaged: its root object is missing")
        }
        self.root = table[index]
    }

    /// The object under a key of an object, or nil if the key is missing or its value is archived as nil.
    func member(_ key: String, of object: Int) throws(ModelArchiveError) -> Int? {
        guard let value = list.value(key, of: object) else { return nil }
        let target = try resolved(value)
        return list.objects[target] == .string("$null") ? nil : target
    }

    /// The text under a key, of up to 1000 bytes; names in a model are shorter.
    func string(_ key: String, of object: Int) throws(ModelArchiveError) -> String? {
        guard var member = try member(key, of: object) else { return nil }
        // A mutable string is an object that contains the text.
        member = list.value("NS.string", of: member) ?? member
        guard case .string(let text) = list.objects[member] else { throw damage(object, "its \(key) is not text") }
        guard text.utf8.count <= 1000 else { throw damage(object, "its \(key) is longer than 1000 bytes") }
        return text
    }

    func integer(_ key: String, of object: Int) throws(ModelArchiveError) -> Int64? {
        guard let member = try member(key, of: object) else { return nil }
        guard case .integer(let number) = list.objects[member] else {
            throw damage(object, "its \(key) is not an integer")
        }
        return number
    }

    /// The flag under a key. Archives omit false flags.
    func flag(_ key: String, of object: Int) throws(ModelArchiveError) -> Bool {
        guard let member = try member(key, of: object) else { return false }
        switch list.objects[member] {
        case .boolean(let flag): return flag
        case .integer(let number): return number != 0
        default: throw damage(object, "its \(key) is neither true nor false")
        }
    }

    /// Whether an object is an instance of a class or of a subclass.
    func isKind(_ object: Int, of name: String) throws(ModelArchiveError) -> Bool {
        guard let description = try member("$class", of: object), let names = list.value("$classes", of: description),
            case .array(let classes) = list.objects[names], classes.count <= Self.largestClassCount
        else { return false }
        return classes.contains { list.objects[$0] == .string(name) }
    }

    /// The values of an archived dictionary, in the archive's order. A dictionary has either parallel arrays of keys and values, or slots
    /// for a table of known keys, some of which may be empty.
    func values(_ key: String, of object: Int) throws(ModelArchiveError) -> [Int] {
        guard let dictionary = try member(key, of: object) else { return [] }
        if let values = list.value("NS.objects", of: dictionary) { return try elements(values, of: dictionary) }
        guard let slots = try member("values", of: dictionary), let values = list.value("NS.objects", of: slots) else {
            throw damage(object, "its \(key) is not a dictionary")
        }
        let empty = try member("emptyToken", of: dictionary)
        return try elements(values, of: slots).filter { $0 != empty }
    }

    private func elements(_ array: Int, of object: Int) throws(ModelArchiveError) -> [Int] {
        guard case .array(let elements) = list.objects[array] else {
            throw damage(object, "its elements are not an array")
        }
        var targets: [Int] = []
        targets.reserveCapacity(elements.count)
        for element in elements { targets.append(try resolved(element)) }
        return targets
    }

    private func resolved(_ value: Int) throws(ModelArchiveError) -> Int {
        guard case .uid(let index) = list.objects[value] else { return value }
        guard table.indices.contains(index) else {
            throw ModelArchiveError(
                "the archive is damaged: it refers to object \(index), but has \(table.count) objects")
        }
        return table[index]
    }

    /// An error that identifies an object by its number in the archive.
    func damage(_ object: Int, _ what: String) -> ModelArchiveError {
        let name = table.firstIndex(of: object).map { "object \($0)" } ?? "an object"
        return ModelArchiveError("the archive is damaged at \(name): \(what)")
    }
}
