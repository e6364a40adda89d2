@preconcurrency package import Glibc
package import PriceStore
package import RetentionPolicy

/// The folder for a policy's archives: checks that it can be used and is safe.
package struct ArchiveFolder {
    /// The folder as the policy names it, absolute.
    let named: String

    package init(_ path: String) { named = path }

    /// The path without symbolic links; the path as named if the folder does not exist.
    package var path: String { FilePlace.realPath(named) ?? named }

    // MARK: The folder itself

    /// Throws unless archives can be written there and only a user, by default this one, and root can change them.
    ///
    /// - Throws: ``StoreError`` of kind `cannotCreate` if it is not a folder, of kind `permission` if another user owns it, others can
    ///   write to it, or this user cannot.
    package func check(user: uid_t = geteuid()) throws(StoreError) {
        var facts = stat()
        guard stat(named, &facts) == 0 else {
            let code = errno
            if code == ENOENT || code == ENOTDIR {
                let make = SafeText.command(["mkdir", "-m", "700", named])
                throw error(.cannotCreate, "does not exist", hint: "create it: \(make)")
            }
            throw error(code == EACCES ? .permission : .inputOutput, "cannot be accessed: \(String(systemError: code))")
        }
        guard facts.isFolder else { throw error(.cannotCreate, "is not a folder") }
        guard facts.st_uid == user || facts.st_uid == 0 else {
            throw error(
                .permission, "belongs to user \(facts.st_uid), who could read and change the archives",
                hint: "run it as that user, or change the folder's owner")
        }
        guard facts.st_mode & 0o022 == 0 else {
            throw error(
                .permission, "can be written by others, who could change the archives",
                hint: facts.st_mode & S_ISVTX == 0
                    ? SafeText.command(["chmod", "go-w", named])
                    : "it is for all users; name a folder of its own: mkdir -m 700 FOLDER")
        }
        guard faccessat(AT_FDCWD, named, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw error(.permission, "cannot be written: \(String(systemError: errno))")
        }
    }

    /// Whether the archive still exists at its recorded path; nil: the path is the name of a schema, not a file.
    package static func hasFile(_ path: String) -> Bool? {
        path.hasPrefix("/") ? FilePlace(path).facts?.isRegularFile ?? false : nil
    }

    private func error(_ kind: StoreError.Kind, _ problem: String, hint: String? = nil) -> StoreError {
        StoreError(
            kind, store: named, message: "the folder of the archives \(problem)",
            hint: hint ?? "check the folder, or change archive.folder")
    }

    // MARK: Its place

    /// Throws ``StoreError`` unless the archive of a plan can be made. Checks nothing if nothing is archived.
    package static func check(
        _ policy: Policy, for plan: Plan, in reader: any RetentionReader
    ) throws(StoreError) {
        guard let place = policy.archive?.place, !plan.archivedSteps.isEmpty else { return }
        switch place {
        case .folder(let path):
            let folder = ArchiveFolder(path)
            try folder.check()
            try folder.requireSpace(for: plan, in: reader)
        case .schema(let name): try reader.checkArchivePlace(name)
        }
    }

    /// Why the store itself cannot hold archives now, at the position of the setting; empty if archives are elsewhere.
    package static func troubles(of policy: Policy, in reader: any RetentionReader) -> [Diagnostic] {
        guard case .schema(let name)? = policy.archive?.place else { return [] }
        return troubles(of: policy, "archive.schema") { () throws(StoreError) in try reader.checkArchivePlace(name) }
    }

    /// Why archives cannot be made in the policy's folder now, at the position of the setting; with a plan, why its archive has no room
    /// there.
    package static func troubles(
        of policy: Policy, for plan: (plan: Plan, reader: any RetentionReader)? = nil
    ) -> [Diagnostic] {
        guard let path = policy.archive?.folder else { return [] }
        return troubles(of: policy, "archive.folder", "\(path): ") { () throws(StoreError) in
            let folder = ArchiveFolder(path)
            if let (plan, reader) = plan { try folder.requireSpace(for: plan, in: reader) } else { try folder.check() }
        }
    }

    private static func troubles(
        of policy: Policy, _ key: String, _ place: String = "", _ check: () throws(StoreError) -> Void
    ) -> [Diagnostic] {
        do throws(StoreError) {
            try check()
            return []
        } catch {
            let words = [error.message, error.hint].compactMap(\.self).joined(separator: "; ")
            return [Diagnostic(at: policy.marks.value(key), "'\(key)' cannot be used: \(place)\(words)")]
        }
    }

    /// Whether the archive of a killed run has no row: one page of 4 KiB, and beside it at most the 32 bytes with which a journal begins.
    package static func isEmpty(_ path: String) -> Bool {
        func size(_ path: String) -> Int { FilePlace(path).facts.map { Int($0.st_size) } ?? 0 }
        return size(path) <= 4096 && size(path + "-wal") <= 32
    }

    // MARK: Its space

    /// Throws unless there is room for the rows that a plan archives.
    ///
    /// Copies are written twice: first in sequence, then to their final places. So the space needed is at most twice their size, or their
    /// size plus a few batches. The size is estimated only if the whole store would not fit twice, because the estimate may read all pages
    /// of an entity. Rows that triggers delete are not counted before the run.
    ///
    /// - Throws: ``StoreError`` of kind `inputOutput` if there is not enough room.
    package func requireSpace(for plan: Plan, in reader: any RetentionReader) throws(StoreError) {
        guard let free = freeBytes, try reader.sizeBytes() > free / 2 else { return }
        var rows: Int64 = 0
        var waiting: Int64 = 0
        for step in plan.archivedSteps {
            let size = try Self.estimate(step, reader)
            rows += size
            waiting = max(waiting, step.outline?.isInBatches == true ? min(size, Self.mostWaitingBytes) : size)
        }
        guard rows + waiting > free else { return }
        throw StoreError(
            .inputOutput, store: named,
            message:
                "the archive needs about \(Figures.bytes(rows + waiting)) while it is written (estimate), and the folder has "
                + "\(Figures.bytes(free)) free",
            hint: "free some space, or name a folder on another disk in archive.folder")
    }

    /// The most bytes that a deletion in batches has written in sequence and not yet to their final places.
    private static let mostWaitingBytes: Int64 = 64 << 20

    /// The space in bytes that the rows of a step take, with the rows deleted by cascades.
    private static func estimate(_ step: Plan.Step, _ reader: any RetentionReader) throws(StoreError) -> Int64 {
        var size = try estimate(step.survey.expiredCount, of: step.rule.entity, reader)
        for (entity, count) in step.survey.related.cascadedCounts where count > 0 {
            size += try estimate(count, of: entity, reader)
        }
        return size
    }

    /// The share of an entity's space that some of its rows take. Tables that are not entities count as the whole store.
    private static func estimate(_ count: Int, of entity: String, _ reader: any RetentionReader) throws(StoreError)
        -> Int64
    {
        let isEntity = try reader.entity(named: entity) != nil
        let known = isEntity ? try reader.sizeBytes(ofEntity: entity) : nil
        let size = if let known { known } else { try reader.sizeBytes() }
        let rows = isEntity ? max(1, try reader.count(StoreFetchRequest(entity: entity))) : count
        return Int64(clamping: Int128(size) * Int128(min(count, rows)) / Int128(rows))
    }

    /// The bytes that an unprivileged process can still write there; nil: unknown.
    private var freeBytes: Int64? {
        var facts = statvfs()
        guard statvfs(path, &facts) == 0 else { return nil }
        return Int64(
            clamping: UInt64(facts.f_bavail).multipliedReportingOverflow(by: UInt64(facts.f_frsize)).partialValue)
    }
}

extension Plan {
    /// The steps that archive rows and delete them.
    package var archivedSteps: [Step] {
        steps.filter { $0.request?.deleting.archiveRule != nil && $0.survey.expiredCount > 0 }
    }
}
