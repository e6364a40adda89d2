@preconcurrency import Glibc
package import PriceStore
import RetentionJob

/// Replaces a file as a whole. A reader finds the old text or the new one, never a part.
package enum ReplacedFile {
    /// Writes a text to a new file in the same folder, and then renames it.
    ///
    /// - Parameter path: the file. It does not exist, is empty, or was written by the program.
    /// - Throws: ``StoreError`` of kind `cannotCreate`; the old file is then unchanged.
    package static func write(
        _ text: String, to path: String, as content: OutputContent, hint: String
    ) throws(StoreError) {
        let (temporary, descriptor) = try make(besides: path, hint)
        var problem: String?
        // The text is on disk before the file gets its name, so after a power failure the file is also the old one or the new one.
        if !FilePortions.write(Array(text.utf8), to: descriptor) || fsync(descriptor) != 0 { problem = failure() }
        close(descriptor)
        // Checked again, because the run or the page may have taken an hour.
        let place = FilePlace(path)
        problem = problem ?? content.objection(to: place)
        if problem == nil, rename(temporary, place.path) != 0 { problem = failure() }
        guard let problem else { return }
        unlink(temporary)
        throw error(path, problem, hint)
    }

    /// Creates a file with an unused name. Files that a crashed run left behind are not touched.
    private static func make(besides path: String, _ hint: String) throws(StoreError) -> (String, Int32) {
        let folder = FilePlace(path).folder
        for number in 1...100 {
            // A name that begins with a dot and has this ending is not read by those who look for the file itself.
            let temporary = FilePlace.path(".retention-\(getpid())-\(number).tmp", in: folder)
            let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
            if descriptor >= 0 { return (temporary, descriptor) }
            guard errno == EEXIST else { break }
        }
        throw error(path, failure(), hint)
    }

    private static func failure() -> String { "cannot be written: \(String(systemError: errno))" }

    private static func error(_ path: String, _ problem: String, _ hint: String) -> StoreError {
        StoreError(.cannotCreate, store: path, message: "the file \(problem)", hint: hint)
    }
}
