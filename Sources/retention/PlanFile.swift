@preconcurrency import Glibc
import PriceStore
import RetentionJob
import RetentionPolicy
import RetentionReports

/// The file of a plan, which `--save-plan` writes and `--plan` reads.
struct PlanFile {
    let path: String
    let plan: SavedPlan
    let sha256: String

    /// How long a plan is valid by default.
    static let validity = Duration.seconds(86_400)

    /// Reads a plan and checks everything that needs no store.
    init(reading path: String, for policy: Policy, clock: Instant) throws {
        self.path = path
        guard let text = try Self.contents(of: path), let plan = SavedPlan(text: text) else {
            throw Self.failure(path, "is not a plan, or was changed or truncated after it was saved")
        }
        sha256 = SavedPlan.hash(text)
        self.plan = plan
        guard plan.policySHA256 == policy.file.sha256 else {
            throw Self.failure(
                path, "was made for another policy: \(policy.file.path) has changed since, or is another file")
        }
        guard plan.asOf <= clock else { throw Self.failure(path, "is dated later than the clock") }
        guard clock < plan.validUntil else {
            throw Self.failure(path, "was valid until \(Figures.instant(plan.validUntil))")
        }
        guard policy.ledger != .none else {
            throw CommandFailure(
                exitCode: 78, message: "--plan needs a ledger: it proves that a plan is used once",
                hint: "remove `ledger: none` from the policy")
        }
    }

    /// Throws if the plan is of another store, was used, or was made after a record that is missing in the ledger.
    func check(_ reader: any RetentionReader, _ ledger: LedgerHistory?) throws {
        guard plan.store.utf8.elementsEqual(reader.storeIdentifier.utf8) else {
            throw Self.failure(path, "was made for another store, \(SafeText.line(plan.store))")
        }
        if let run = try ledger?.run(ofPlan: sha256) { throw Self.failure(path, "was used by run \(run)") }
        if let hash = plan.ledgerHash, try ledger?.hasRun(hash: hash) != true {
            throw Self.failure(
                path,
                "was made after a run that the ledger does not have: it is another ledger, or it has deleted the record "
                    + "since")
        }
    }

    static func write(_ plan: SavedPlan, to path: String) throws {
        try ReplacedFile.write(plan.text, to: path, as: .plan, hint: "check the folder and its permissions")
    }

    private static func failure(_ path: String, _ problem: String) -> CommandFailure {
        CommandFailure(
            exitCode: 65, message: "the plan \(path) \(problem); nothing was deleted",
            hint: "make a new one: retention run --dry-run --save-plan FILE")
    }

    /// The text of a file; nil: it is not text.
    private static func contents(of path: String) throws -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let code: Int32 = errno == EACCES ? 77 : 66
            throw CommandFailure(
                exitCode: code, message: "the plan \(path) cannot be read: \(String(systemError: errno))")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var isPlan = true
        let code = FilePortions.read(descriptor) { portion in
            bytes += portion
            // Nothing but a plan is read to its end.
            isPlan = bytes.starts(with: SavedPlan.firstLine.utf8)
            return isPlan
        }
        return isPlan && code == nil ? String(validating: bytes, as: UTF8.self) : nil
    }
}
