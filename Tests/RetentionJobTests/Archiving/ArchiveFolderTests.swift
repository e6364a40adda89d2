import Foundation
@preconcurrency import Glibc
import PriceStore
import RetentionPolicy
import TestSupport
import Testing

@testable import RetentionJob

struct ArchiveFolderTests {
    /// A store and a folder for its archives, which go with the value.
    private final class Place {
        let file: PriceFile
        let folder: String

        init() throws {
            file = try PriceFile()
            folder = file.folder.appending(path: "archive").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            chmod(folder, 0o700)
        }
    }

    private func failure(_ folder: String) -> StoreError? {
        do throws(StoreError) {
            try ArchiveFolder(folder).check()
            return nil
        } catch { return error }
    }

    @Test func aFolderOfItsOwnIsGood() throws {
        let place = try Place()
        let folder = place.folder
        #expect(failure(folder) == nil)
        chmod(folder, 0o755)
        #expect(failure(folder) == nil)
        let link = place.file.folder.appending(path: "link").path
        #expect(symlink(folder, link) == 0 && failure(link) == nil)
        #expect(ArchiveFolder(link).path == ArchiveFolder(folder).path)
    }

    @Test func whatIsNoFolderIsRefused() throws {
        let place = try Place()
        let folder = place.folder
        let missing = try #require(failure(folder + "/missing"))
        #expect(missing.kind == .cannotCreate && missing.description.contains("mkdir -m 700"))
        #expect(failure(place.file.path)?.kind == .cannotCreate)
        #expect(failure(place.file.path + "/archive")?.kind == .cannotCreate)
        let link = place.file.folder.appending(path: "link").path
        #expect(symlink("nowhere", link) == 0 && failure(link)?.kind == .cannotCreate)
    }

    @Test(arguments: [0o777, 0o770, 0o1777, 0o702] as [mode_t])
    func aFolderThatOthersCanWriteIsRefused(mode: mode_t) throws {
        let place = try Place()
        chmod(place.folder, mode)
        let error = try #require(failure(place.folder))
        // Nobody should change a folder that is for all users.
        let advice = mode & 0o1000 == 0 ? "chmod go-w" : "name a folder of its own"
        #expect(error.kind == .permission && error.description.contains(advice), "\(error)")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
    func aFolderOfSomeoneElseIsRefused() throws {
        let place = try Place()
        #expect(chown(place.folder, 65_534, 65_534) == 0)
        let error = try #require(failure(place.folder))
        #expect(error.kind == .permission && error.message.contains("belongs to user 65534"))
    }

    // MARK: Its place

    private func problem(_ folder: String, pending: String? = nil) throws -> String? {
        let place = try Place()
        let base = place.file.folder.path
        try FileManager.default.createDirectory(atPath: base + "/pending/done", withIntermediateDirectories: true)
        #expect(symlink("archive", base + "/to-archive") == 0 && symlink("pending", base + "/to-pending") == 0)
        #expect(symlink(".", base + "/here") == 0)
        var policy = place.file.policy(.prices())
        policy.archive = ArchiveSettings(place: .folder(folder.hasPrefix("/") ? folder : base + "/" + folder))
        if let pending {
            policy.pending = [
                PendingSource(
                    files: pending, baseFolder: base, entity: "price", marks: Marks(whole: Mark(line: 1, column: 1)))
            ]
        }
        let found = ArchiveFolder.diagnostics(of: policy)
        #expect(found.count < 2)
        return found.first?.message
    }

    @Test func aFolderOfItsOwnIsInItsPlace() throws {
        for folder in ["archive", "to-archive", "archive/", "./here/archive", "missing"] {
            #expect(try problem(folder, pending: "pending/*.csv") == nil, "\(folder)")
        }
    }

    @Test(arguments: [".", "here", "archive/..", "here/./here/"])
    func theFolderOfTheStoreIsNoPlace(folder: String) throws {
        #expect(try problem(folder)?.contains("is the folder of the store") == true)
    }

    @Test(arguments: [
        ("pending", "pending/*.csv", "is a folder of pending files"),
        ("to-pending/", "pending/*.csv", "is a folder of pending files"),
        ("pending", "to-pending/day.csv", "is a folder of pending files"),
        ("archive", "*/*.csv", "is a folder of pending files"),
        ("missing", "missing/*.csv", "is a folder of pending files"),
        ("pending/done", "pending/*.csv", "is inside the folder of pending files"),
        ("to-pending/new/archive", "pending/*.csv", "is inside the folder of pending files"),
        ("archive", "*.csv", "is inside the folder of pending files"),
        ("missing/archive", "missing/*.csv", "is inside the folder of pending files"),
        ("pending", "pending/done/../../here/to-pending/done2/*.csv", "contains the folder of pending files"),
        ("archive", "to-archive/new/*.csv", "contains the folder of pending files"),
    ])
    func aFolderOfPendingFilesIsNoPlace(folder: String, pending: String, says: String) throws {
        let message = try problem(folder, pending: pending)
        #expect(message?.contains(says) == true, "\(message ?? "no problem")")
    }
}
