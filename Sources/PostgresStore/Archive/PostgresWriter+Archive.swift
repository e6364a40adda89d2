package import PriceStore

extension PostgresDatabase {
    /// Throws unless a schema can hold archives and belongs to this user alone.
    package func checkArchivePlace(_ name: String) throws(StoreError) {
        try run("looking at the schema of the archives") { _ = try ArchivePlace(session: self, schema: name).check() }
    }

    /// The archives in a schema, oldest first.
    package func archives(in place: String) throws(StoreError) -> [StoredArchive] {
        let place = ArchivePlace(session: self, schema: place)
        return try run("looking for archives") {
            guard try place.check() else { return [] }
            return try rows(
                "SELECT run, complete FROM \(place.table("retention_archives")) ORDER BY run COLLATE \"C\""
            ).map { StoredArchive(run: try $0.text("run"), isComplete: try $0.isTrue("complete")) }
        }
    }
}

extension PostgresWriter {
    /// Starts the archive of a run, in the schema that the request names.
    package func beginArchive(_ request: ArchiveRequest) throws(StoreError) {
        let place = ArchivePlace(session: self, schema: request.place)
        let facts = request.facts.sorted { $0.key < $1.key }
        func list(_ values: [String]) -> SQLFragment { .list(values, "text") }
        try batch("beginning the archive") {
            if try !place.check() {
                for (table, columns) in ArchivePlace.catalog {
                    try place.makeTable(place.table(table), "(\(columns))", mark: ArchivePlace.mark)
                }
            }
            let rules = [
                request.rules.map(\.name), request.rules.map(\.entity), request.rules.map(\.cutoff.rfc3339),
            ].map(list)
            let values: [SQLFragment] = [
                .bound(request.run, "text"), "\(ArchivePlace.format)", .bound(storeIdentifier, "text"),
                "jsonb_object(" + list(facts.map(\.key)) + ", " + list(facts.map(\.value)) + ")",
                "(SELECT coalesce(jsonb_agg(jsonb_build_object('name', n, 'entity', e, 'cutoff', c) ORDER BY i), '[]') "
                    + "FROM unnest(" + .joined(rules, by: ", ") + ") WITH ORDINALITY AS r (n, e, c, i))",
                "false, 0, 0",
            ]
            try execute("INSERT INTO \(place.table("retention_archives")) SELECT " + .joined(values, by: ", "))
        }
        archiver = RowArchiver(place, run: request.run, rules: request.rules.map(\.name))
    }

    /// Checks that the archive has the rows that its parts list, and completes it. An archive without rows is removed.
    package func completeArchive() throws(StoreError) -> ArchiveResult? {
        guard let archiver else { return nil }
        self.archiver = nil
        guard archiver.partCount > 0 else {
            try removeArchive(of: archiver.run, in: archiver.place.schema)
            return nil
        }
        return try batch("completing the archive") {
            // A complete archive must be on disk.
            try execute("SET LOCAL synchronous_commit = on")
            var result = ArchiveResult(path: archiver.place.schema, rowCount: 0, referenceCount: 0)
            for table in archiver.tables {
                let rowCount = try count("SELECT count(*) FROM \(table.sql)")
                let copiedCount = try count(
                    "SELECT sum(last_row - first_row + 1) FROM \(archiver.place.table("retention_parts")) "
                        + "WHERE table_number = \(table.number) AND run = " + .bound(archiver.run, "text"))
                guard rowCount == copiedCount else {
                    throw StoreError(
                        .constraint, store: name,
                        message:
                            "the archive of this run was changed by others: one of its tables does not have the rows that were copied"
                    )
                }
                switch table.kind {
                case .rows: result.rowCount += rowCount
                case .references: result.referenceCount += rowCount
                case .candles: break
                }
            }
            try execute(
                "UPDATE \(archiver.place.table("retention_archives")) SET complete = true, row_count = \(result.rowCount), "
                    + "reference_count = \(result.referenceCount) WHERE run = " + .bound(archiver.run, "text"))
            return result
        }
    }

    /// Removes the tables and the description of an archive. It removes nothing if another table has the name of one of them.
    package func removeArchive(of run: String, in place: String) throws(StoreError) {
        let place = ArchivePlace(session: self, schema: place)
        try batch("removing the archive of run \(run)") {
            guard try place.check() else { return }
            let isThisRun = " WHERE run = " + SQLFragment.bound(run, "text")
            for name in try texts("SELECT archive_table FROM \(place.table("retention_tables"))" + isThisRun) {
                let table = place.table(name)
                guard let isOurs = try place.isOurs(table, ArchivePlace.mark(of: run)) else { continue }
                guard isOurs else {
                    throw StoreError(
                        .unsupported, store: name,
                        message: "\(table) is not the table that run \(run) created, and is not removed")
                }
                try execute("DROP TABLE \(table)")
            }
            for (table, _) in ArchivePlace.catalog.reversed() {
                try execute("DELETE FROM \(place.table(table))" + isThisRun)
            }
        }
    }
}
