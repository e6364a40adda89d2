import GRDB
import GRDBSQLite

/// Stand-ins for functions that only Apple's framework has and that triggers of its stores call.
///
/// They return NULL. The triggers call them to notify the framework and do their own work in SQL.
enum CoreDataFunctions {
    private static let prefix = "NSCoreData"

    /// Adds each function with the framework's prefix that triggers of the schema call.
    static func add(_ schema: StoreSchema, _ db: Database) throws {
        for name in Set(schema.entries("trigger").flatMap { names(in: $0.sql) }) {
            let code = sqlite3_create_function_v2(
                db.sqliteConnection, name, -1, SQLITE_UTF8 | SQLITE_INNOCUOUS, nil,
                { context, _, _ in sqlite3_result_null(context) }, nil,
                nil, nil)
            try requireResult(code)
        }
    }

    /// The words of a text that begin with the prefix.
    private static func names(in text: String) -> [String] {
        text.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_")) }.map(String.init)
            .filter { $0.hasPrefix(prefix) }
    }
}
