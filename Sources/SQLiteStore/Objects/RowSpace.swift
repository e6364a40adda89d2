import GRDB
import GRDBSQLite
import PriceStore

/// The space of rows in the pages of a table and its indexes after a `VACUUM`.
///
/// Source: sqlite.org/fileformat2.html, sections 1.6 and 2.1. Not counted are the root of each tree, the inner pages, and what is unusual: an
/// index with a condition has an entry for each row, and a value of an expression takes 8 bytes.
struct RowSpace {
    /// A tree of pages with an entry for each row.
    fileprivate struct Tree {
        /// Whether its entries are the rows of a table with a rowid.
        var isTable = false
        /// The places of the columns whose values an entry has.
        var columns: [Int] = []
        /// How many values of expressions an entry has.
        var expressionCount = 0
        /// Whether an entry ends with the rowid.
        var endsWithRowID = false

        /// The pages that hold what is too long for an entry's own page, and those that are full of entries.
        fileprivate var overflowCount = 0
        fileprivate var fullCount = 0
        /// The bytes of entries in the page that is being filled.
        fileprivate var filled = 0

        /// Adds an entry as SQLite does in the order of a tree: what does not fit in the page begins the next one.
        fileprivate mutating func add(_ payload: Int, rowID: Int64, usable: Int) {
            // The most that an entry may have on its page, and the least if it continues on others.
            let local = isTable ? usable - 35 : (usable - 12) * 64 / 255 - 23
            let least = (usable - 12) * 32 / 255 - 23
            var size = payload
            if payload > local {
                let rest = least + (payload - least) % (usable - 4)
                size = rest <= local ? rest : least
                overflowCount += (payload - size + usable - 5) / (usable - 4)
                size += 4
            }
            // The length of the entry, the rowid, and the place of the entry in its page.
            size += RowSpace.varint(payload) + (isTable ? RowSpace.varint(Int(rowID)) : 0) + 2
            // A page has a header of 8 bytes.
            if filled + size > usable - 8 { (fullCount, filled) = (fullCount + 1, 0) }
            filled += size
        }

        fileprivate func pages(usable: Int) -> Double {
            Double(overflowCount + fullCount) + Double(filled) / Double(usable - 8)
        }
    }

    private var trees: [Tree] = []
    /// The bytes of a page, and those of them that SQLite uses.
    private let page: Int
    private let usable: Int
    /// The column that is the rowid, and the columns that store a whole number as one though they are declared REAL.
    private let alias: Int?
    private let reals: Set<Int>
    /// Whether texts are stored in UTF-16.
    private let isWide: Bool
    /// The bytes of the values of the last row.
    private var sizes: [Int] = []

    init(of table: SQLiteTable, page: Int, reserved: Int, isWide: Bool) {
        let names = table.entity.attributes.map(\.name.folded)
        func places(_ columns: [String]) -> [Int] { columns.compactMap { names.firstIndex(of: $0.folded) } }
        let key = table.isWithoutRowID ? places(table.entity.primaryKey) : []
        (self.page, usable, self.isWide) = (page, page - reserved, isWide)
        alias = table.rowIDAlias.flatMap { places([$0]).first }
        reals = Set(table.entity.attributes.indices.filter { table.entity.attributes[$0].affinity == .real })
        trees = [Tree(isTable: !table.isWithoutRowID, columns: Array(names.indices))]
        for index in table.indexes where index.name != table.keyIndex {
            let own = places(index.columns.compactMap(\.name))
            trees.append(
                Tree(
                    columns: own + key.filter { !own.contains($0) },
                    expressionCount: index.columns.count { $0.name == nil }, endsWithRowID: !table.isWithoutRowID))
        }
    }

    /// The bytes of the pages of the rows that were added.
    var bytes: Int { Int(trees.reduce(0) { $0 + $1.pages(usable: usable) } * Double(page)) }

    /// Adds a row with its rowid, or 0, and the values of all its columns.
    fileprivate mutating func add(_ rowID: Int64, _ values: SQLValues) {
        sizes.removeAll(keepingCapacity: true)
        for (column, value) in values.enumerated() { sizes.append(size(value, column)) }
        for tree in trees.indices {
            // The length of the header is a byte.
            var payload = 1 + 9 * trees[tree].expressionCount
            for column in trees[tree].columns {
                // A table has the rowid beside its row.
                payload += trees[tree].isTable && column == alias ? 1 : sizes[column]
            }
            if trees[tree].endsWithRowID { payload += 1 + Self.width(rowID) }
            trees[tree].add(payload, rowID: rowID, usable: usable)
        }
    }

    /// The bytes of a value, with those of its type in the header.
    private func size(_ value: OpaquePointer?, _ column: Int) -> Int {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: return 1 + Self.width(sqlite3_value_int64(value))
        case SQLITE_FLOAT:
            let whole = reals.contains(column) ? Int64(exactly: sqlite3_value_double(value)) : nil
            return 1 + (whole.map(Self.width) ?? 8)
        case SQLITE_TEXT, SQLITE_BLOB:
            let isText = sqlite3_value_type(value) == SQLITE_TEXT
            let length = Int(isWide && isText ? sqlite3_value_bytes16(value) : sqlite3_value_bytes(value))
            return Self.varint(13 + 2 * length) + length
        default: return 1
        }
    }

    /// The bytes of a whole number.
    private static func width(_ number: Int64) -> Int {
        if number == 0 || number == 1 { return 0 }
        let bits = Int64.bitWidth - (number < 0 ? ~number : number).leadingZeroBitCount + 1
        return [8, 16, 24, 32, 48].first { bits <= $0 }.map { $0 / 8 } ?? 8
    }

    /// The bytes of a number of variable length.
    private static func varint(_ number: Int) -> Int {
        number < 0 ? 9 : max(1, min(9, (Int.bitWidth - number.leadingZeroBitCount + 6) / 7))
    }
}

/// An aggregate function of a connection that adds rows: `retention_space(rowid, value, …)`, with all columns. Its SQL result is NULL.
final class SpaceFunction {
    static let name = "retention_space"
    /// SQLite limits the arguments of a function to 100 at least.
    static let mostColumns = 99

    /// The space of the rows for which queries have called the function.
    private(set) var space: RowSpace

    init(_ empty: RowSpace, _ db: Database) throws {
        space = empty
        try db.addFunctions(of: self, isAggregate: true, [(Self.name, -1, addRow)])
    }

    fileprivate func add(_ values: SQLValues) {
        guard let rowID = values.first else { return }
        space.add(sqlite3_value_int64(rowID), SQLValues(rebasing: values.dropFirst()))
    }
}

private func addRow(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    functionObject(context, SpaceFunction.self)?.add(SQLValues(start: values, count: Int(count)))
}
