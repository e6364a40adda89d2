extension FileOwner {
    /// Identifies the file of an archive. It holds copies of any tables.
    public static let archive = FileOwner(
        applicationID: ArchiveFile.applicationID, tables: nil, title: "archive of retention")
}
