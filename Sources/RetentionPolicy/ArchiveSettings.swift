/// Where rows are archived before they are deleted, and how long an archive is kept.
package struct ArchiveSettings: Hashable, Sendable {
    /// What holds the archives.
    package enum Place: Hashable, Sendable {
        /// An existing folder, as an absolute path, for a store that is a file.
        case folder(String)
        /// A schema of the store's own database, for a store on a server.
        case schema(String)
    }
    package var place: Place
    /// How long after the end of its run an archive is kept; nil: forever.
    package var keep = try? MaxAge(parsing: "30d")

    package init(place: Place) { self.place = place }

    package var folder: String? {
        if case .folder(let path) = place { path } else { nil }
    }
}
