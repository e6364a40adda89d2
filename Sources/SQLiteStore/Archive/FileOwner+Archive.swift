extension FileOwner {
    /// The owner of an archive's file. The file holds copies of any tables.
    public static let archive = FileOwner(
        applicationID: ArchiveFile.applicationID, tables: nil, title: "archive of retention")
}
