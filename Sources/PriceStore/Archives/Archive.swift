/// An archive to make: copies of all rows that a run deletes, in a file or schema of its own.
public struct ArchiveRequest: Hashable, Sendable {
    /// A rule whose rows are archived.
    public struct Rule: Hashable, Sendable {
        /// The rule's name; a ``SurveyRequest/archiveRule`` names it.
        public var name: String
        /// The entity that it deletes from.
        public var entity: String
        /// Rows before it are deleted.
        public var cutoff: Instant

        /// Makes a rule.
        public init(name: String, entity: String, cutoff: Instant) {
            self.name = name
            self.entity = entity
            self.cutoff = cutoff
        }
    }

    /// Where the archive is made: an existing folder for a store that is a file, a schema for a server.
    public var place: String
    /// The identifier of the run, which names the archive.
    public var run: String
    /// Facts about the run that the archive records under these names, such as `policy_sha256`.
    public var facts: [String: String]
    /// The rules whose rows are archived.
    public var rules: [Rule]

    /// Makes a request.
    public init(place: String, run: String, facts: [String: String] = [:], rules: [Rule]) {
        self.place = place
        self.run = run
        self.facts = facts
        self.rules = rules
    }
}

/// A complete archive.
public struct ArchiveResult: Hashable, Sendable {
    /// The path of the file, or the name of the schema.
    public var path: String
    /// Rows in it, of all tables.
    public var rowCount: Int
    /// Old values of references that were cleared.
    public var referenceCount: Int
    /// The size of the file in bytes; nil for a server.
    public var sizeBytes: Int64?

    /// Makes a result; engines do.
    public init(path: String, rowCount: Int, referenceCount: Int, sizeBytes: Int64? = nil) {
        self.path = path
        self.rowCount = rowCount
        self.referenceCount = referenceCount
        self.sizeBytes = sizeBytes
    }
}

/// An archive that the store itself holds.
public struct StoredArchive: Hashable, Sendable {
    /// The run that made it.
    public var run: String
    /// Whether the run has completed it.
    public var isComplete: Bool

    /// Makes a description; engines do.
    public init(run: String, isComplete: Bool) {
        self.run = run
        self.isComplete = isComplete
    }
}
