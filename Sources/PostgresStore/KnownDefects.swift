package import PriceStore

extension KnownDefect {
    /// The known defects of TimescaleDB's versions.
    static let ofTimescale = [
        KnownDefect(
            component: "TimescaleDB", versions: [.release(2, 17, 0) ... .release(2, 28, 2)],
            effect: "a delete of whole compressed batches whose condition has a list with NULL deletes other rows, too",
            remedy: "a run switches direct deletes of compressed batches off for its session",
            source: "https://github.com/timescale/timescaledb/issues/10129")
    ]

    static let directDeletes = "timescaledb.enable_compressed_direct_batch_delete"
}

extension EngineComponent {
    /// The library that talks to servers; nil: the package was built without it.
    package static var libpq: EngineComponent? {
        ServerLink.libraryVersion.map { EngineComponent(name: "libpq", version: $0) }
    }
}

extension PostgresDatabase {
    /// Switches off the faulty optimization of an installed extension. Other versions may not have the setting. A session that cannot do it
    /// does not open.
    static func avoidKnownDefects(_ link: ServerLink) throws(ServerFault) {
        let found = try link.execute("SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'", [])
        guard let version = found.rows.first?.texts[0] else { return }
        let component = EngineComponent(name: "TimescaleDB", version: version)
        guard KnownDefect.ofTimescale.contains(where: { $0.isIn(component) }) else { return }
        _ = try link.execute("SELECT set_config('\(KnownDefect.directDeletes)', 'off', false)", [])
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
