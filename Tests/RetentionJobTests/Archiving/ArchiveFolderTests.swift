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

    @Test func aFolderWhoseNameIsTooLongIsRefused() throws {
        let error = try #require(failure("/" + String(repeating: "x", count: 256)))
        #expect(error.kind == .inputOutput && error.description.contains("cannot be accessed: File name too long"))
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
}
