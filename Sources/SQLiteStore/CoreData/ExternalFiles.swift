import Foundation
import GRDB
import PriceStore

/// Large values that Core Data stores in files of their own: `.NAME_SUPPORT/_EXTERNAL_DATA/UUID` beside the store `NAME.sqlite`. The column
/// then contains the byte 2, the file name and a NUL.
enum ExternalFiles {
    /// The condition that a column contains a file name.
    static func isReference(_ column: String) -> String {
        "typeof(\(column)) = 'blob' AND substr(\(column), 1, 1) = x'02' AND length(\(column)) BETWEEN 2 AND 128"
    }

    /// The file name in such a value, or nil if it contains none that could be a file of the folder.
    static func name(in value: StoreValue) -> String? {
        guard case .blob(let bytes) = value, bytes.first == 2 else { return nil }
        let name = bytes.dropFirst().prefix { $0 != 0 }
        // No name may lead out of the folder.
        guard !name.isEmpty, name.allSatisfy({ isPlain($0) }) else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x2D
    }

    /// The folder of a store's files.
    static func folder(ofStore path: String) -> String {
        let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let file = path[slash...]
        let bare = file.lastIndex(of: ".").map { file[..<$0] } ?? file
        return "\(path[..<slash]).\(bare)_SUPPORT/_EXTERNAL_DATA"
    }
}

extension CoreDataEntity {
    /// The columns of attributes whose values can be in files, sorted.
    var externalAttributes: [String] {
        managed?.attributes.values.filter { $0.isExternal && !$0.isTransient }
            .compactMap { columns[$0.name.lowercased()] }.sorted() ?? []
    }
}

extension CoreDataSchema {
    /// The columns of a table that can contain file names.
    func externalColumns(of table: String) -> [String] {
        Set(entities.values.filter { $0.table == table }.flatMap(\.externalAttributes)).sorted()
    }

    /// All columns of the store that can contain file names.
    private var allExternalColumns: [(table: String, column: String)] {
        Set(entities.values.map(\.table)).sorted().flatMap { table in
            externalColumns(of: table).map { (table, $0) }
        }
    }

    /// A query for every value of the store that is a file name.
    var externalReferences: String {
        allExternalColumns.map { table, column in
            "SELECT \(column.quotedIdentifier) AS value FROM main.\(table.quotedIdentifier) "
                + "WHERE \(ExternalFiles.isReference(column.quotedIdentifier))"
        }.joined(separator: " UNION ALL ")
    }
}

extension SQLiteFileConnection {
    /// The files that only the removed rows of a step refer to, sorted. A run would remove them.
    func externalFiles(_ graph: ObjectGraph, _ db: Database) throws -> [String] {
        var going: [String] = []
        for table in try graph.losingTables() {
            let removed = try removedObjects(table, graph.removed, db)
            for column in graph.schema.externalColumns(of: table) {
                going.append(
                    "SELECT \(column.quotedIdentifier) AS value FROM main.\(table.quotedIdentifier) WHERE Z_PK IN "
                        + "(SELECT k0 FROM temp.\(removed) WHERE step = \(graph.step)) "
                        + "AND \(ExternalFiles.isReference(column.quotedIdentifier))")
            }
        }
        guard !going.isEmpty else { return [] }
        let query =
            "SELECT value FROM (\(going.joined(separator: " UNION ALL "))) AS going GROUP BY value HAVING count(*) = "
            + "(SELECT count(*) FROM (\(graph.schema.externalReferences)) AS every WHERE every.value = going.value)"
        let names = try rows(SQLFragment(query), db).compactMap { ExternalFiles.name(in: $0[0]) }.sorted()
        guard let folder = externalFolder else { return [] }
        return names.filter { name in
            var facts = stat()
            return lstat(folder + "/" + name, &facts) == 0 && facts.st_mode & S_IFMT != S_IFDIR
        }
    }

    /// The folder of the store's files, or nil if it is missing or reached through a symbolic link. Through a link, a name could be any
    /// user's file.
    private var externalFolder: String? {
        let folder = ExternalFiles.folder(ofStore: storeIdentifier)
        return StoreFile.identifier(of: folder) == folder ? folder : nil
    }

    /// Notes the files that the rows about to be deleted refer to.
    ///
    /// The references to each file are counted once for all batches of a request. Each batch subtracts its own.
    func noteExternalFiles(of table: String, keys: String, _ schema: CoreDataSchema, _ db: Database) throws {
        let columns = schema.externalColumns(of: table)
        guard !columns.isEmpty, let objects = temporaries.objects else { return }
        let counted = try externalCounts(objects, schema, db)
        for column in columns.map(\.quotedIdentifier) {
            let going =
                "SELECT \(column) AS value FROM main.\(table.quotedIdentifier) WHERE Z_PK IN (\(keys)) "
                + "AND \(ExternalFiles.isReference(column))"
            try execute(
                SQLFragment(
                    "UPDATE temp.\(counted) AS counted SET references_left = references_left - gone.number FROM "
                        + "(SELECT value, count(*) AS number FROM (\(going)) GROUP BY value) AS gone "
                        + "WHERE counted.value = gone.value"), db)
        }
        let unused = SQLFragment("SELECT value FROM temp.\(counted) WHERE references_left <= 0")
        objects.unusedFiles += try rows(unused, db).compactMap { ExternalFiles.name(in: $0[0]) }
        try execute(SQLFragment("DELETE FROM temp.\(counted) WHERE references_left <= 0"), db)
    }

    private func externalCounts(_ objects: BatchObjects, _ schema: CoreDataSchema, _ db: Database) throws -> String {
        if let known = objects.externalCounts { return known }
        let name = temporaryName("files")
        try execute(
            SQLFragment("CREATE TEMP TABLE \(name) (value BLOB PRIMARY KEY, references_left) WITHOUT ROWID"), db)
        try execute(
            SQLFragment(
                "INSERT INTO temp.\(name) SELECT value, count(*) FROM (\(schema.externalReferences)) GROUP BY value"),
            db)
        objects.externalCounts = name
        return name
    }

    /// Removes the files that no row refers to any more. Must be called after the commit. A missing file is no error. If the folder is
    /// reached through a symbolic link, all files stay.
    ///
    /// - Returns: how many files were removed.
    func removeUnusedFiles() -> Int {
        guard let objects = temporaries.objects else { return 0 }
        defer { objects.unusedFiles = [] }
        guard let folder = externalFolder else { return 0 }
        return objects.unusedFiles.filter { unlink(folder + "/" + $0) == 0 }.count
    }
}
