import PriceStore

@preconcurrency import Glibc

extension ManagedObjectModel {
    /// Reads a compiled model: a `.mom` file, or a `.momd` folder with a file for each version of the model.
    ///
    /// From a folder, the version is read that the store was written with, or the current one if the store does not say. A single file in
    /// such a folder is checked against the store in the same way.
    ///
    /// - Parameters:
    ///   - path: the file or folder.
    ///   - storeMetadata: the value of the store's `Z_METADATA.Z_PLIST`, which contains the version, or nil if unknown.
    /// - Throws: ``ModelArchiveError`` if a file cannot be read, is damaged, or is not a model, or if no version
    ///   matches the store.
    static func read(path: String, storeMetadata: [UInt8]? = nil) throws(ModelArchiveError) -> ManagedObjectModel {
        let hashes = storeMetadata.flatMap(ModelVersions.storeHashes)
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        var file = path
        if try ModelFile.isFolder(path) {
            let versions = try ModelVersions(folder: path)
            file = "\(path)/\(try versions.name(matching: hashes)).mom"
        } else if let hashes, access(ModelVersions.path(in: StoreFile.folder(of: path)), F_OK) == 0 {
            try ModelVersions(folder: StoreFile.folder(of: path)).check(file: path, hashes: hashes)
        }
        do {
            return try read(archive: ModelFile.bytes(file))
        } catch {
            throw ModelArchiveError("\(file): \(error.message)")
        }
    }
}

/// The versions of a model that the `VersionInfo.plist` of a `.momd` folder lists.
private struct ModelVersions {
    /// The hash of each entity, by name. Together they identify a version of a model.
    typealias Hashes = [String: [UInt8]]

    let folder: String
    let current: String?
    let hashes: [String: Hashes]

    static func path(in folder: String) -> String { folder + "/VersionInfo.plist" }

    init(folder: String) throws(ModelArchiveError) {
        self.folder = folder
        let path = Self.path(in: folder)
        do {
            let list = try PropertyList(try ModelFile.bytes(path))
            let entries = list.dictionary(list.top)
            current = entries?["NSManagedObjectModel_CurrentVersionName"].flatMap(list.text)
            let versions = entries?["NSManagedObjectModel_VersionHashes"].flatMap(list.dictionary)
            hashes = versions?.compactMapValues(list.hashes) ?? [:]
        } catch {
            throw ModelArchiveError(
                "\(path): \(error.message); give the .mom file of the version instead of the folder")
        }
    }

    /// The hashes in a store's metadata, or nil if it has none.
    static func storeHashes(_ metadata: [UInt8]) -> Hashes? {
        guard let list = try? PropertyList(metadata) else { return nil }
        let hashes = list.dictionary(list.top)?["NSStoreModelVersionHashes"].flatMap(list.hashes) ?? [:]
        return hashes.isEmpty ? nil : hashes
    }

    /// The name of the version that a store was written with.
    func name(matching store: Hashes?) throws(ModelArchiveError) -> String {
        guard let name = if let store { names(matching: store).first } else { current } else {
            throw store == nil
                ? ModelArchiveError("\(folder): VersionInfo.plist names no current version; give the .mom file itself")
                : ModelArchiveError("\(folder): no version of this model is the one that the store was written with")
        }
        // The name becomes part of a path.
        guard !name.isEmpty, !name.contains("/"), !name.utf8.contains(0) else {
            throw ModelArchiveError("\(folder): VersionInfo.plist names a version that is not a file name")
        }
        return name
    }

    /// Throws if a file of the folder is a version other than the one that a store was written with.
    func check(file: String, hashes store: Hashes) throws(ModelArchiveError) {
        let last = file.split(separator: "/").last ?? ""
        let name = String(last.hasSuffix(".mom") ? last.dropLast(4) : last)
        let names = names(matching: store)
        guard hashes[name] != nil, !names.contains(name) else { return }
        throw ModelArchiveError(
            "\(file): the store was written with another version of this model"
                + (names.first.map { "; give \(folder)/\($0).mom" } ?? ", which is not in this folder"))
    }

    /// The versions that contain all entities of a store with the same hashes, those with the fewest other entities first. A store may use
    /// only part of a model.
    private func names(matching store: Hashes) -> [String] {
        let fitting = hashes.filter { _, version in store.allSatisfy { version[$0.key] == $0.value } }
        return fitting.sorted { ($0.value.count, $0.key) < ($1.value.count, $1.key) }.map(\.key)
    }
}

extension PropertyList {
    fileprivate func text(_ object: Int) -> String? {
        guard case .string(let text) = objects[object] else { return nil }
        return text
    }

    fileprivate func hashes(_ object: Int) -> [String: [UInt8]]? {
        dictionary(object)?.compactMapValues { value in
            guard case .data(let bytes) = objects[value] else { return nil }
            return bytes
        }
    }
}

/// The files of a compiled model.
private enum ModelFile {
    static func isFolder(_ path: String) throws(ModelArchiveError) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure(path) }
        return status.st_mode & S_IFMT == S_IFDIR
    }

    /// The bytes of a regular file, up to ``ModelArchive/largestSizeBytes``.
    static func bytes(_ path: String) throws(ModelArchiveError) -> [UInt8] {
        // Opening a FIFO without a writer must not block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        defer { close(descriptor) }
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else { throw failure(path) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw ModelArchiveError("\(path) is not a regular file") }
        guard status.st_size <= ModelArchive.largestSizeBytes else {
            throw ModelArchiveError("\(path) is larger than \(ModelArchive.largestSizeBytes) bytes")
        }
        var bytes: [UInt8] = []
        let code = FilePortions.read(descriptor) { portion in
            bytes += portion
            return bytes.count < status.st_size
        }
        if code != nil { throw failure(path) }
        return Array(bytes.prefix(Int(status.st_size)))
    }

    private static func failure(_ path: String) -> ModelArchiveError {
        ModelArchiveError("\(path) cannot be read: \(String(systemError: errno))")
    }
}
