import GRDB
import GRDBSQLite
package import PriceStore

extension KnownDefect {
    /// The known defects of SQLite versions.
    static let ofSQLite = [walReset]

    /// ``WriteAheadLog`` describes how it is avoided.
    static let walReset = KnownDefect(
        component: "SQLite",
        versions: [
            .release(3, 7, 0) ... .release(3, 44, 5), .release(3, 45, 0) ... .release(3, 50, 6),
            .release(3, 51, 0) ... .release(3, 51, 2),
        ],
        effect: "a checkpoint that begins with nothing left to copy, while another connection restarts the WAL, can "
            + "lose commits or damage the file",
        remedy: "a run does its checkpoints only while the WAL cannot be restarted",
        source: "https://sqlite.org/wal.html#walresetbug")
}

extension EngineComponent {
    /// The SQLite library of this program.
    package static var sqlite: EngineComponent {
        EngineComponent(name: "SQLite", version: String(cString: sqlite3_libversion()))
    }
}

extension SQLiteFile {
    /// The only component: SQLite.
    package func components() throws(StoreError) -> [EngineComponent] { [.sqlite] }

    /// The defects of this SQLite. The defect of the WAL counts only for a store in WAL mode.
    package func knownDefects() throws(StoreError) -> [KnownDefect] {
        try run("reading the journal mode") { db in
            let hasWAL = try hasWAL(db)
            return KnownDefect.ofSQLite.filter { $0.isIn(.sqlite) && (hasWAL || $0 != .walReset) }
        }
    }
}
