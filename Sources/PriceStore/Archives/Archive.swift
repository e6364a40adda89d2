/// An archive to make: copies of all rows that a run deletes, in a file or schema of its own.
package struct ArchiveRequest: Hashable, Sendable {
    /// A rule whose rows are archived.
    package struct Rule: Hashable, Sendable {
        /// The rule's name; a ``SurveyRequest/archiveRule`` names it.
        package var name: String
        package var entity: String
        /// The rule deletes rows before this instant.
        package var cutoff: Instant

        package init(name: String, entity: String, cutoff: Instant) {
            self.name = name
            self.entity = entity
            self.cutoff = cutoff
        }
    }

    /// Where the archive is made: an existing folder for a store that is a file, a schema for a server.
    package var place: String
    /// The identifier of the run, which names the archive.
    package var run: String
    /// Facts about the run, which the archive records under these names, such as `policy_sha256`.
    package var facts: [String: String]
    package var rules: [Rule]

    package init(place: String, run: String, facts: [String: String] = [:], rules: [Rule]) {
        self.place = place
        self.run = run
        self.facts = facts
        self.rules = rules
    }
}

/// A complete archive.
package struct ArchiveResult: Hashable, Sendable {
    /// The path of the file, or the name of the schema.
    package var path: String
    /// Rows in it, of all tables.
    package var rowCount: Int
    /// Old values of references that were cleared.
    package var referenceCount: Int
    /// The size of the file in bytes; nil for a server.
    package var sizeBytes: Int64?

    package init(path: String, rowCount: Int, referenceCount: Int, sizeBytes: Int64? = nil) {
        self.path = path
        self.rowCount = rowCount
        self.referenceCount = referenceCount
        self.sizeBytes = sizeBytes
    }
}

/// An archive that the store itself holds.
package struct StoredArchive: Hashable, Sendable {
    package var run: String
    package var isComplete: Bool

    package init(run: String, isComplete: Bool) {
        self.run = run
        self.isComplete = isComplete
    }
}
