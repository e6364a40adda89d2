package import PriceStore

extension KnownDefect {
    /// The known defects of TimescaleDB's versions. Both are in one optimization, which a session can switch off.
    static let ofTimescale = [
        KnownDefect(
            component: "TimescaleDB", versions: [.release(2, 17, 0) ... .release(2, 18, 0)],
            effect: "a delete from a compressed chunk whose condition has <> for a column of the segments deletes all "
                + "rows of the chunk",
            remedy: directDeletesAreOff, source: "https://github.com/timescale/timescaledb/issues/7643"),
        KnownDefect(
            component: "TimescaleDB", versions: [.release(2, 17, 0) ... .release(2, 28, 2)],
            effect: "a delete of whole compressed batches whose condition has a list with NULL deletes other rows, too",
            remedy: directDeletesAreOff, source: "https://github.com/timescale/timescaledb/issues/10129"),
    ]

    private static let directDeletesAreOff = "a run switches direct deletes of compressed batches off for its session"

    /// The setting of the optimisation.
    static let directDeletes = "timescaledb.enable_compressed_direct_batch_delete"

    /// Why rows of a hypertable must not be deleted, as a clause; nil if they may.
    ///
    /// - Parameters:
    ///   - version: the version of TimescaleDB.
    ///   - setting: the value of ``directDeletes`` in this session; nil if the setting does not exist.
    static func obstacle(version: String, directDeletes setting: String?) -> String? {
        let component = EngineComponent(name: "TimescaleDB", version: version)
        guard setting != "off", let defect = ofTimescale.first(where: { $0.isIn(component) }) else { return nil }
        return "\(component) has a known defect (\(defect.effect)), and \(directDeletes) could not be switched off"
    }
}

extension EngineComponent {
    /// The library that talks to servers; nil: the package was built without it.
    package static var libpq: EngineComponent? {
        ServerLink.libraryVersion.map { EngineComponent(name: "libpq", version: $0) }
    }
}

extension PostgresDatabase {
    /// Switches off the faulty optimization of an installed extension. Other versions may not have the setting.
    static func avoidKnownDefects(_ link: ServerLink) throws(ServerFault) {
        let found = try link.execute("SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'", [])
        guard let version = found.rows.first?.texts[0] else { return }
        let component = EngineComponent(name: "TimescaleDB", version: version)
        guard KnownDefect.ofTimescale.contains(where: { $0.isIn(component) }) else { return }
        _ = try link.execute("SELECT set_config('\(KnownDefect.directDeletes)', 'off', false)", [])
    }

    /// Why this session must not delete rows of a hypertable, as a clause; nil if it may.
    func obstacleOfKnownDefects() throws -> String? {
        let setting = "current_setting('\(KnownDefect.directDeletes)', true)"
        return try row(
            "SELECT extversion, \(setting) AS setting FROM pg_extension WHERE extname = 'timescaledb'"
        ).flatMap {
            KnownDefect.obstacle(version: try $0.text("extversion"), directDeletes: try $0.optionalText("setting"))
        }
    }

    /// The server, and the extensions that the program supports specially.
    package func components() throws(StoreError) -> [EngineComponent] {
        try run("reading the versions") {
            let names = ["timescaledb": "TimescaleDB", "citus": "Citus"]
            return try rows(
                """
                SELECT 'postgresql' AS name, current_setting('server_version') AS version UNION ALL (
                    SELECT extname, extversion FROM pg_extension WHERE extname IN ('timescaledb', 'citus') ORDER BY 1)
                """
            ).map { EngineComponent(name: names[try $0.text("name")] ?? "PostgreSQL", version: try $0.text("version")) }
        }
    }

    /// The known defects of the extensions.
    package func knownDefects() throws(StoreError) -> [KnownDefect] {
        let components = try components()
        return KnownDefect.ofTimescale.filter { components.contains(where: $0.isIn) }
    }
}
