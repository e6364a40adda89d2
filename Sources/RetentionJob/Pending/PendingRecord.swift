import PriceStore

/// One record of a pending file: its position and its content.
struct PendingRecord: Equatable {
    /// What a record says, or why it cannot be read.
    enum Content: Equatable {
        /// The fields of a CSV record, in order; an empty field without quotes is NULL.
        case fields([StoreValue])
        /// The members of a JSON object, in order; names are unique.
        case members([Member])
        /// Why the record cannot be read, as a clause for `.rejected`.
        case bad(String)
    }

    /// A name and a value in a JSON object.
    struct Member: Equatable {
        var name: String
        var value: StoreValue
        /// Whether the value is a number; then ``value`` is its text as written.
        var isNumber = false
    }

    /// The line of the file on which the record begins, counted from 1.
    var line: Int
    /// The bytes of the record in the file, with its line end.
    var bytes: Range<Int64>
    var content: Content
}

/// Reads the records of a pending file from front to back, in bounded memory.
protocol PendingRecordReader {
    /// The next record, good or bad; nil at the end of the file.
    ///
    /// - Throws: `StoreError` if the file cannot be read.
    mutating func next() throws -> PendingRecord?
}
