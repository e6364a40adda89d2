import GRDB

/// The settings in a file's header.
struct HeaderSettings {
    var pageSize: Int
    var autoVacuum: Int
    var encoding: String
    var applicationID: Int
    var userVersion: Int

    static func read(_ connection: SQLiteFile, _ db: Database) throws -> HeaderSettings {
        HeaderSettings(
            pageSize: try connection.pragma("page_size", db), autoVacuum: try connection.pragma("auto_vacuum", db),
            encoding: try String.fetchOne(db, sql: "PRAGMA main.encoding") ?? "UTF-8",
            applicationID: try connection.pragma("application_id", db),
            userVersion: try connection.pragma("user_version", db))
    }

    /// Writes the settings to a file that is still empty.
    func write(_ db: Database) throws {
        try db.execute(
            sql: """
                PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = \(autoVacuum); PRAGMA encoding = '\(encoding)';
                PRAGMA application_id = \(applicationID); PRAGMA user_version = \(userVersion);
                """)
    }
}
