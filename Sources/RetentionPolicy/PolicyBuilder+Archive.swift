extension PolicyBuilder {
    /// The settings of `archive`; nil: there are none, or they cannot be used.
    mutating func archive(_ file: SettingGroup, of store: Policy.StoreLocation?) -> ArchiveSettings? {
        guard let setting = file["archive"], case .group(let archive) = setting.value else { return nil }
        if file.text("ledger") == "none" {
            reader.report(
                setting.keyMark,
                "'archive' needs a ledger, which records where each archive is and its hash; remove 'ledger: none'")
        }
        checkPlace(archive, of: store)
        let place: ArchiveSettings.Place? =
            archive.text("folder").map { .folder($0) } ?? archive.text("schema").map { .schema($0) }
        guard let place else { return nil }
        var settings = ArchiveSettings(place: place)
        // The only word is `forever`; everything else is an age.
        if archive["keep"] != nil { settings.keep = archive.age("keep") }
        return settings
    }

    /// A file store has its archives in a folder, a server in a schema.
    private mutating func checkPlace(_ archive: SettingGroup, of store: Policy.StoreLocation?) {
        // A build without the engine has already reported `schema`.
        if archive["schema"] != nil, PolicyKey.noPostgreSQL != nil { return }
        if archive["folder"] != nil, let mark = archive["schema"]?.keyMark {
            reader.report(mark, "'folder' and 'schema' name two places; 'archive' has one")
            return
        }
        let isServer = store?.kind.isServer
        if archive["folder"] == nil, archive["schema"] == nil {
            guard archive.misspelt.isDisjoint(with: ["folder", "schema"]) else { return }
            reader.report(
                archive.mark, "required key '\(isServer == true ? "schema" : "folder")' is missing in 'archive'")
        } else if isServer == true, let mark = archive["folder"]?.keyMark {
            reader.report(mark, "'folder' is for SQLite files; the archives of a PostgreSQL database are in a 'schema'")
        } else if isServer == false, let mark = archive["schema"]?.keyMark {
            reader.report(mark, "'schema' is for PostgreSQL databases; the archives of a SQLite file are in a 'folder'")
        }
    }
}
