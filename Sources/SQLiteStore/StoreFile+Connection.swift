@preconcurrency import Glibc
import GRDB
import GRDBSQLite
import PriceStore

extension StoreFile {
    /// Throws an error of kind `replaced` unless the connection has the checked file open.
    ///
    /// SQLite compares its open file with the name, so nothing is opened here.
    static func confirm(_ checked: Number, at path: String, _ db: Database) throws(StoreError) {
        var hasMoved: Int32 = 0
        let code = sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        var status = stat()
        guard code == SQLITE_OK, hasMoved == 0, stat(path, &status) == 0, Number(status) == checked else {
            throw StoreError(
                .replaced, store: path, message: "another file replaced the store while it was being opened",
                hint: "nothing was changed; run again when the store is in its place")
        }
    }
}
