import PriceStore

extension StoreError {
    /// Adds the kind, the SQLSTATE and a hint to an error of the server. An error that has these already is unchanged.
    init(_ error: any Error, store: String, doing what: String) {
        if let error = error as? StoreError {
            self = error
            return
        }
        guard let fault = error as? ServerFault else {
            self.init(.defect, store: store, message: "\(what): \(error)")
            return
        }
        if fault.isCancelled {
            self.init(.cancelled, store: store, message: "\(what): stopped before its end")
            return
        }
        let kind = Self.kind(of: fault)
        self.init(
            kind, store: store, message: "\(what): \(fault.message)", engineCode: fault.code.map { "SQLSTATE \($0)" },
            hint: Self.hint(of: fault, kind))
    }

    private static func kind(of fault: ServerFault) -> Kind {
        if fault.isPasswordMissing { return .permission }
        if fault.isAddressWrong || fault.isPathWrong { return .unknownName }
        guard let code = fault.code else { return fault.isConnectionLost ? .unreachable : .unsupported }
        switch code {
        case "28P01", "28000", "42501": return .permission
        // The server is a standby, or the database is set to read-only.
        case "25006": return .permission
        case "3D000": return .missing
        case "53300", "55P03", "57014", "55006", "40001", "40P01": return .busy
        case "57P01", "57P02", "57P03", "57P05": return .unreachable
        // A configured limit, such as the number of decompressed rows.
        case "53400": return .unsupported
        case "53100", "53200", "XX001", "XX002": return .inputOutput
        case "42P01", "42703", "3F000": return .unknownName
        // A coordinator reports an unreachable worker as an internal error.
        case "XX000" where fault.message.contains("connection"): return .unreachable
        default: break
        }
        switch code.prefix(2) {
        case "08": return .unreachable
        case "23", "P0", "38", "39", "44", "09", "27": return .constraint
        case "22", "42", "0A", "2B", "25", "55": return .unsupported
        case "53", "54", "58": return .inputOutput
        default: return fault.isConnectionLost ? .unreachable : .defect
        }
    }

    private static func hint(of fault: ServerFault, _ kind: Kind) -> String? {
        switch (kind, fault.isPasswordMissing ? "28P01" : fault.code) {
        case _ where fault.isPathWrong: "put pg_catalog first in search_path, or leave it out: it is then the first"
        case (.unknownName, nil):
            "write the URL in `store` as libpq reads it: postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE"
        case (.unreachable, nil): "is the server running, and is the address right?"
        case (.unreachable, _): "the server is starting or stopping; try again later"
        case (_, "28P01"): "give the password in `password_file`, in PGPASSWORD or in ~/.pgpass"
        case (_, "3D000"): "name an existing database in `store`, or create it"
        case (_, "28000"): "the server's pg_hba.conf does not allow this user to connect from this host"
        case (_, "25006"): "this server is a standby, or set to read only: name the primary in `store`"
        case (_, "42501"): "give this user SELECT and DELETE on the table"
        case (_, "55P03"):
            "another session holds a lock on the table or on a row of it; try again later, or raise store.busy_timeout"
        case (_, "53400"):
            "see the limit that the message names, such as timescaledb.max_tuples_decompressed_per_dml_transaction"
        case (_, "53100"): "the server's disk is full; what was committed before stays committed"
        case (_, "53300"): "the server has no connection left; try again later"
        default: nil
        }
    }
}

extension StoreError {
    /// Whether another session holds a lock that this one has waited for.
    var isLockUnavailable: Bool { engineCode == "SQLSTATE 55P03" }

    /// Whether an immediate retry of the transaction may succeed: after a deadlock, a serialization failure, an unavailable lock, or a key
    /// that another session has just inserted.
    var isWorthRepeating: Bool {
        ["SQLSTATE 40001", "SQLSTATE 40P01", "SQLSTATE 55P03", "SQLSTATE 23505"].contains(engineCode)
    }
}
