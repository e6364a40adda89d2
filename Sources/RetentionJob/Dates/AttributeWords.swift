package import PriceStore

/// What the name and the declared type of an attribute suggest about its values.
package struct AttributeWords {
    /// What a date says about its row, judged by its name.
    package enum Role: Int, Comparable {
        /// When the event of the row happened: the name says no more than that it is a date, such as `time` or `tradeDate`.
        case event
        /// When the row was created.
        case created
        /// When something happened.
        case happened
        /// When the row was received or stored.
        case loaded
        /// When the row was last changed or read.
        case changed
        /// When something ends, is due, or was born; this is not the age of the row.
        case other

        package static func < (a: Role, b: Role) -> Bool { a.rawValue < b.rawValue }
    }

    /// What suggests a date: `type`, `name`, or nil.
    let hint: String?
    /// Whether the name suggests something else: an identifier, a duration, a count.
    let speaksOfElse: Bool
    /// Whether any word of the name suggests a date.
    let hasDateWord: Bool
    package let role: Role
    /// Whether the last word says that the value is an instant or a day, as in `rented_on`.
    private let saysInstant: Bool
    private let words: [String]

    package init(_ attribute: Attribute) {
        let type = attribute.declaredType.uppercased()
        let words = Self.split(attribute.name)
        let last = words.last { !$0.isEmpty } ?? ""
        hasDateWord = words.contains { Self.dateWords.contains($0) || Self.endsAsDate($0) }
        let saysInstant = ["at", "date", "on", "timestamp", "ts", "utc"].contains(last)
        speaksOfElse =
            Self.otherWords.contains(last) || !saysInstant && words.contains(where: Self.durationWords.contains)
        let isType = type.contains("DATE") || type.contains("TIME")
        hint = speaksOfElse ? nil : isType ? "type" : hasDateWord ? "name" : nil
        let lists: [(Role, Set<String>)] = [
            (.other, Self.endWords), (.created, Self.createdWords), (.loaded, Self.loadedWords),
            (.changed, Self.changedWords),
        ]
        let stems = words + words.compactMap(Self.stem)
        let isEvent = words.allSatisfy { Self.dateWords.contains($0) || Self.eventWords.contains($0) }
        role = lists.first { list in stems.contains(where: list.1.contains) }?.0 ?? (isEvent ? .event : .happened)
        (self.words, self.saysInstant) = (words, saysInstant)
    }

    /// Whether this date says when something ends, and the other one when the same thing begins: `close_date` and `open_date`.
    ///
    /// - Parameter isOfRow: whether the row may have begun, or was stored or changed, at the other one, whatever its name.
    package func isEnd(of other: AttributeWords, isOfRow: Bool) -> Bool {
        let (end, begin, ends) = (marked, other.marked, Self.endMarks.union(Self.outcomeMarks))
        guard end.words.contains(where: ends.contains), !begin.words.contains(where: ends.contains) else {
            return false
        }
        let (isStored, hasBegun) = (other.isStored, begin.words.contains(where: Self.beginMarks.contains))
        // Most of what was made is never cancelled, returned or deleted.
        if !saysEnd, !(isOfRow && isStored || other.saysBeginning) { return false }
        return end.subject == begin.subject
            || isOfRow && (isStored && other.hint != nil || hasBegun && (other.hint != nil || other.saysInstant))
    }

    /// Whether the name says that something begins: more than that the row was created.
    package var saysBeginning: Bool {
        marked.words.contains(where: Self.beginMarks.contains) && !marked.words.contains("created")
    }

    /// Whether the name says that something ends: all of what has begun, not some of it.
    package var saysEnd: Bool { marked.words.contains(where: Self.endMarks.contains) }

    /// Whether the name says when the row itself was created, stored or changed.
    package var isStored: Bool { [.created, .loaded, .changed].contains(role) }

    /// The words, compound ones as their marks, and those that say what begins or ends.
    private var marked: (words: [String], subject: [String]) {
        let marks = Self.beginMarks.union(Self.endMarks).union(Self.outcomeMarks)
        var words = words.map { word in Self.stem(word).flatMap { marks.contains($0) ? $0 : nil } ?? word }
        for place in words.indices.dropFirst() where Self.passageWords.contains(words[place - 1]) {
            words[place] = ["in": "entered", "out": "exited"][words[place]] ?? words[place]
        }
        return (words, words.filter { !marks.contains($0) && !Self.dateWords.contains($0) && $0 != "on" })
    }

    private static let beginMarks: Set<String> = [
        "activated", "began", "begin", "begins", "begun", "borrowed", "bought", "buy", "checkin", "created", "enrolled",
        "entered", "entry", "from", "hire", "hired", "joined", "lock", "locked", "open", "opened", "opening", "opens",
        "rented", "reported", "signed", "since", "start", "started", "starts",
    ]
    private static let endMarks: Set<String> = [
        "checkout", "close", "closed", "closes", "closing", "completed", "end", "ended", "ends", "exit", "exited",
        "expiration", "expire", "expired", "expires", "expiry", "finish", "finished", "finishes", "left", "maturity",
        "resolved", "revoked", "sell", "sold", "stop", "stopped", "terminated", "to", "unlock", "unlocked", "until",
    ]
    /// What ends some of what has begun.
    private static let outcomeMarks: Set<String> = [
        "canceled", "cancelled", "deleted", "removed", "returned", "settle", "settled", "settlement",
    ]
    /// What is before `in` and `out` where they say that something begins and ends.
    private static let passageWords: Set<String> = [
        "check", "checked", "clock", "clocked", "log", "logged", "sign", "signed", "time",
    ]

    /// Whether the name ends with a unit, as in `time_ms`, that is not the unit of a format.
    func contradicts(_ encoding: DateEncoding) -> Bool {
        guard encoding.isNumeric, let last = words.last, let unit = Self.units[last] else { return false }
        return !encoding.rawValue.hasSuffix(unit)
    }

    private static let units = [
        "ms": "milliseconds", "millis": "milliseconds", "msec": "milliseconds", "us": "microseconds",
        "usec": "microseconds", "micros": "microseconds", "ns": "nanoseconds", "nsec": "nanoseconds",
        "nanos": "nanoseconds", "sec": "seconds", "secs": "seconds",
    ]

    /// Whether a compound word ends like a date: `createtime`, `zcreationdate`.
    private static func endsAsDate(_ word: String) -> Bool {
        guard !durationWords.contains(word), !["update", "candidate", "mandate", "validate"].contains(word) else {
            return false
        }
        return ["time", "date", "timestamp", "utc"].contains { word.count > $0.count && word.hasSuffix($0) }
    }

    /// A compound word without its last part: `expiry` of `expirytime`, `valid` of `validto`.
    private static func stem(_ word: String) -> String? {
        ["timestamp", "before", "time", "date", "utc", "dt", "ts", "at", "to"]
            .first { word.count > $0.count + 2 && word.hasSuffix($0) }.map { String(word.dropLast($0.count)) }
    }

    private static let dateWords: Set<String> = [
        "accessed", "at", "born", "birthday", "created", "date", "datetime", "day", "deadline", "dob", "epoch",
        "expires", "expiry", "inserted", "modified", "received", "recorded", "seen", "sent", "since", "stamp", "time",
        "timestamp", "ts", "updated", "until", "utc", "visited", "when",
    ]

    private static let otherWords: Set<String> = [
        "account", "age", "amount", "balance", "build", "bytes", "checksum", "cnt", "code", "count", "crc", "days",
        "flags", "guid", "hash", "hours", "id", "ids", "idx", "index", "isbn", "key", "len", "length", "level",
        "minutes", "no", "nr", "num", "number", "offset", "phone", "pid", "port", "position", "postcode", "price",
        "rank", "rate", "rev", "revision", "rowid", "score", "seq", "sequence", "serial", "size", "snowflake", "status",
        "sum", "tel", "total", "uid", "uuid", "version", "weeks", "zip", "zipcode",
    ]

    private static let durationWords: Set<String> = [
        "cook", "delay", "downtime", "duration", "elapsed", "every", "execution", "exposure", "idle", "interval",
        "latency", "lease", "lifetime", "period", "ping", "play", "playtime", "prep", "processing", "remaining",
        "response", "retention", "run", "runtime", "spent", "timeout", "took", "travel", "ttl", "uptime", "wait",
    ]

    private static let eventWords: Set<String> = ["bar", "candle", "event", "kline", "price", "quote", "tick", "trade"]

    private static let createdWords: Set<String> = [
        "added", "btime", "captured", "create", "created", "creation", "ctime", "issued", "measured", "observed",
        "occurred", "order", "ordered", "posted", "published", "registered", "sampled", "submitted",
    ]

    private static let loadedWords: Set<String> = [
        "arrival", "arrived", "download", "downloaded", "export", "exported", "fetch", "fetched", "import", "imported",
        "ingest", "ingested", "insert", "inserted", "load", "loaded", "logged", "received", "recorded", "stored",
    ]

    private static let changedWords: Set<String> = [
        "access", "accessed", "atime", "changed", "closed", "completed", "deleted", "edited", "finished", "last",
        "login", "modification", "modified", "mtime", "opened", "read", "refreshed", "removed", "seen", "shipped",
        "sync", "synced", "update", "updated", "used", "viewed", "visited",
    ]

    private static let endWords: Set<String> = [
        "best", "birth", "birthdate", "birthday", "born", "bday", "deadline", "death", "dob", "due", "end", "ended",
        "ends", "estimated", "expiration", "expire", "expired", "expires", "expiry", "hire", "hired", "next", "planned",
        "renewal", "renews", "required", "scheduled", "termination", "until", "valid", "warranty",
    ]

    /// The words of a name, in lower case: `updateTime`, `update_time` and `UPDATE TIME` give the same words.
    package static func split(_ name: String) -> [String] {
        var words = [""]
        var wasLower = false
        for character in name {
            let isLetter = character.isLetter
            if !isLetter || (character.isUppercase && wasLower) { words.append("") }
            if isLetter { words[words.count - 1] += character.lowercased() }
            wasLower = character.isLowercase
        }
        return words.filter { !$0.isEmpty }
    }
}
