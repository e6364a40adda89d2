import GRDB

/// The tables of a persistent history: one transaction in which all rows of the store were inserted.
struct CoreDataHistory {
    /// When the rows were saved, in seconds since 2001-01-01T00:00:00Z.
    let savedAtAppleSeconds: Double

    /// The numbers of the history's own entities in `Z_ENT`.
    private static let entities = [(16001, "CHANGE"), (16002, "TRANSACTION"), (16003, "TRANSACTIONSTRING")]

    /// Writes the tables and their keys; the rows are those that the tables of the layout have now.
    func write(_ db: Database, _ layout: CoreDataLayout) throws {
        for statement in Self.tables { try db.execute(sql: statement) }
        try db.execute(
            sql: """
                INSERT INTO ATRANSACTIONSTRING (Z_PK, Z_ENT, ZNAME) VALUES (1, 16003, 'org.example.prices'), \
                (2, 16003, 'prices')
                """)
        try db.execute(
            sql: """
                INSERT INTO ATRANSACTION (Z_PK, Z_ENT, ZBUNDLEIDTS, ZPROCESSIDTS, ZTIMESTAMP) VALUES (1, 16002, 1, 2, ?)
                """, arguments: [savedAtAppleSeconds])
        for table in layout.tables {
            try db.execute(
                sql: """
                    INSERT INTO ACHANGE (Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) \
                    SELECT 16001, 0, Z_ENT, Z_PK, 1 FROM \(table.name.quotedDatabaseIdentifier) ORDER BY Z_PK
                    """)
        }
        for index in Self.indexes { try db.execute(sql: index) }
        for (number, name) in Self.entities {
            try db.execute(
                sql: "INSERT INTO Z_PRIMARYKEY SELECT ?, ?, 0, coalesce(max(Z_PK), 0) FROM \("A" + name)",
                arguments: [number, name])
        }
    }

    /// Source: the schemas of stores with a history that Apple's framework wrote.
    private static let tables = [
        """
        CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, \
        ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB )
        """,
        """
        CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER, \
        ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR, \
        ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR, ZQUERYGEN BLOB )
        """,
        """
        CREATE TABLE ATRANSACTIONSTRING ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR )
        """,
    ]

    private static let indexes =
        [
            "CREATE INDEX ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID)",
            "CREATE INDEX Z_TRANSACTION_TransactionAuthorIndex ON ATRANSACTION (ZAUTHOR COLLATE BINARY ASC)",
            "CREATE INDEX Z_TRANSACTION_TransactionTimestampIndex ON ATRANSACTION (ZTIMESTAMP COLLATE BINARY ASC)",
            "CREATE UNIQUE INDEX Z_TRANSACTIONSTRING_UNIQUE_NAME ON ATRANSACTIONSTRING (ZNAME COLLATE BINARY ASC)",
        ]
        + ["ZAUTHORTS", "ZBUNDLEIDTS", "ZCONTEXTNAMETS", "ZPROCESSIDTS"].map {
            "CREATE INDEX ATRANSACTION_\($0)_INDEX ON ATRANSACTION (\($0))"
        }
}
