import PriceStore

#if Postgres
    import CLibPQ
    @preconcurrency import Glibc

    /// One session on a server, through libpq. No other code calls libpq.
    ///
    /// Parameters are bound as text and results are read as text. PostgreSQL's own input and output functions keep every digit, and no type
    /// needs a conversion here.
    final class ServerLink {
        private let handle: OpaquePointer
        private var prepared: [String: String] = [:]
        /// Whether the plan of a prepared statement is older than its table.
        private var isPlanStale = false
        /// Whether the running statement should end. It is asked ten times a second.
        var isStopped: () -> Bool = ServerLink.isTaskCancelled
        private var hasCancelled = false

        private(set) var messageCount = 0

        /// The version of libpq; nil: the package was built without it.
        static var libraryVersion: String? { "\(PQlibVersion() / 10_000).\(PQlibVersion() % 10_000)" }

        private init(_ handle: OpaquePointer) { self.handle = handle }

        deinit { PQfinish(handle) }

        /// Opens a session on the first host that accepts one.
        static func open(_ parameters: [(name: String, value: String)]) throws(ServerFault) -> ServerLink {
            var names: [UnsafePointer<CChar>?] = parameters.map { UnsafePointer(strdup($0.name)) }
            var values: [UnsafePointer<CChar>?] = parameters.map { UnsafePointer(strdup($0.value)) }
            defer { for text in names + values { free(UnsafeMutablePointer(mutating: text)) } }
            names.append(nil)
            values.append(nil)
            // `dbname` may be a complete URL. It overrides what comes before it.
            guard let handle = PQconnectStartParams(names, values, 1) else {
                throw ServerFault(message: "out of memory", isConnectionLost: true)
            }
            let link = ServerLink(handle)
            let isRead = PQstatus(handle) != CONNECTION_BAD
            // The SQLSTATE of a refused connection is only in verbose messages, which a session can request after its first step. Only a
            // reset keeps to `connect_timeout` and then turns to the next host.
            PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
            PQsetNoticeProcessor(handle, { _, _ in }, nil)
            if isRead { PQreset(handle) }
            guard PQstatus(handle) == CONNECTION_OK else {
                let (code, message) = split(verbose: link.text(PQerrorMessage(handle)))
                // libpq refuses such an address before it looks for a server, and every other message names one.
                let isAddressWrong =
                    !isRead
                    && !["connection to server", "could not translate host name"].contains(where: message.hasPrefix)
                throw ServerFault(
                    code: code, message: message, isConnectionLost: true,
                    isPasswordMissing: PQconnectionNeedsPassword(handle) == 1, isAddressWrong: isAddressWrong)
            }
            PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
            link.serverProcess = Int(PQbackendPID(handle))
            return link
        }

        func execute(_ text: String, _ values: [String?]) throws(ServerFault) -> ServerResult {
            try sending(values) { PQsendQueryParams(handle, text, $0, nil, $1, nil, nil, 0) }
        }

        /// The most statements that are kept prepared. Each takes memory of the server.
        private static let mostPrepared = 200

        /// Runs a statement that will be repeated. The server plans it once.
        ///
        /// If the table has changed since, the server refuses the plan. The fault is then a serialization failure: the transaction is
        /// repeated with a new plan.
        func execute(repeated text: String, _ values: [String?]) throws(ServerFault) -> ServerResult {
            if isPlanStale || prepared[text] == nil && prepared.count >= Self.mostPrepared {
                _ = try result(wait(PQsendQuery(handle, "DEALLOCATE ALL")))
                (prepared, isPlanStale) = ([:], false)
            }
            let known = prepared[text]
            let name = known ?? "retention_\(prepared.count)"
            if known == nil {
                _ = try result(wait(PQsendPrepare(handle, name, text, Int32(values.count), nil)))
                prepared[text] = name
            }
            do {
                return try sending(values) { PQsendQueryPrepared(handle, name, $0, $1, nil, nil, 0) }
            } catch {
                guard known != nil, error.code == "0A000" else { throw error }
                isPlanStale = true
                throw ServerFault(code: "40001", message: error.message, isConnectionLost: error.isConnectionLost)
            }
        }

        /// Passes values to libpq as C strings, which must live until the call returns.
        private func sending(
            _ values: [String?], _ send: (_ count: Int32, _ values: [UnsafePointer<CChar>?]) -> Int32
        ) throws(ServerFault) -> ServerResult {
            if values.contains(where: { $0?.utf8.contains(0) == true }) {
                throw ServerFault(
                    code: "22021", message: "a value has the character NUL (\\0), which no text of the server can have")
            }
            var copies: [UnsafePointer<CChar>?] = values.map { $0.flatMap { UnsafePointer(strdup($0)) } }
            defer { for copy in copies { free(UnsafeMutablePointer(mutating: copy)) } }
            if copies.isEmpty { copies.append(nil) }
            return try result(wait(send(Int32(values.count), copies)))
        }

        /// Waits for the last result of what was sent. If ``isStopped`` becomes true meanwhile, the server ends the statement.
        private func wait(_ wasSent: Int32) -> OpaquePointer? {
            messageCount += 1
            guard wasSent == 1 else { return nil }
            hasCancelled = false
            var last: OpaquePointer?
            while true {
                while PQisBusy(handle) == 1 {
                    var socket = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
                    guard poll(&socket, 1, 100) > 0 else {
                        if !hasCancelled, isStopped() { cancel() }
                        continue
                    }
                    guard PQconsumeInput(handle) == 1 else { break }
                }
                guard let result = PQgetResult(handle) else { return last }
                PQclear(last)
                last = result
            }
        }

        private func cancel() {
            hasCancelled = true
            let request = PQgetCancel(handle)
            defer { PQfreeCancel(request) }
            var message = [CChar](repeating: 0, count: 256)
            _ = PQcancel(request, &message, Int32(message.count))
        }

        /// Runs statements without parameters, separated by semicolons, as one message. Returns the rows of the last one.
        func execute(script: String) throws(ServerFault) -> ServerResult {
            try result(wait(PQsendQuery(handle, script)))
        }

        /// Whether the session still exists, as far as libpq knows.
        var isOpen: Bool { PQstatus(handle) == CONNECTION_OK }

        /// The process ID of the server process for the session. It is kept here because libpq forgets it when the session is lost.
        private(set) var serverProcess = 0
        /// When that process began, in the server's words; nil before it is asked.
        var began: String?

        var isInTransaction: Bool { PQtransactionStatus(handle) != PQTRANS_IDLE }

        /// The target of the session: the host or socket folder, the port and the database.
        var place: (host: String, port: String, database: String) {
            (text(PQhost(handle)), text(PQport(handle)), text(PQdb(handle)))
        }

        private func result(_ result: OpaquePointer?) throws(ServerFault) -> ServerResult {
            guard let result else { throw lostConnection() }
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: break
            default:
                let code = PQresultErrorField(result, CInt(UInt8(ascii: "C"))).map { String(cString: $0) }
                let message = PQresultErrorField(result, CInt(UInt8(ascii: "M"))).map { String(cString: $0) }
                throw ServerFault(
                    code: code, message: firstLine(message ?? text(PQresultErrorMessage(result))),
                    isConnectionLost: !isOpen, isCancelled: code == "57014" && hasCancelled)
            }
            let columns = (0..<PQnfields(result)).map {
                ServerColumn(name: text(PQfname(result, $0)), type: Int(PQftype(result, $0)))
            }
            let rows = (0..<PQntuples(result)).map { row in
                ServerRow(
                    columns: columns,
                    texts: (0..<Int32(columns.count)).map { column in
                        PQgetisnull(result, row, column) == 1 ? nil : text(PQgetvalue(result, row, column))
                    })
            }
            return ServerResult(columns: columns, rows: rows, changedCount: Int(text(PQcmdTuples(result))) ?? 0)
        }

        private func lostConnection() -> ServerFault {
            ServerFault(message: firstLine(text(PQerrorMessage(handle))), isConnectionLost: !isOpen)
        }

        private func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

        private func firstLine(_ text: String) -> String {
            String(text.split(separator: "\n").first ?? "the connection was lost")
        }

        /// The SQLSTATE and the text of a verbose message, such as `… FATAL:  28P01: password authentication failed`. The first word is in
        /// the server's language.
        static func split(verbose message: String) -> (code: String?, message: String) {
            let lines = message.split(separator: "\n").map(String.init)
            for line in lines {
                guard let found = line.firstMatch(of: /:  ([0-9A-Z]{5}): +(.*)/) else { continue }
                return (String(found.1), String(found.2))
            }
            // libpq's own messages have no SQLSTATE. Lines about the server's source code are left out, and libpq's question whether the
            // server is running, which the hint replaces.
            let said = lines.map { $0.drop { $0 == "\t" || $0 == " " } }
                .filter { !$0.hasPrefix("LOCATION:") && !$0.hasPrefix("Is the server running") }
            return (nil, said.joined(separator: "; "))
        }
    }

#else

    /// Replaces a session in a package that was built without libpq. It cannot be opened.
    final class ServerLink {
        static let libraryVersion: String? = nil
        let isOpen = false
        let isInTransaction = false
        let serverProcess = 0
        let messageCount = 0
        var began: String?
        var isStopped: () -> Bool = ServerLink.isTaskCancelled
        let place = (host: "", port: "", database: "")

        private init() {}

        static func open(_ parameters: [(name: String, value: String)]) throws(ServerFault) -> ServerLink {
            throw ServerFault(
                message: "this build has no PostgreSQL engine: install the package retention-postgresql, or build with "
                    + "`swift build --traits Postgres`")
        }

        func execute(_ text: String, _ values: [String?]) throws(ServerFault) -> ServerResult { ServerResult() }
        func execute(repeated text: String, _ values: [String?]) throws(ServerFault) -> ServerResult { ServerResult() }
        func execute(script: String) throws(ServerFault) -> ServerResult { ServerResult() }
    }
#endif

extension ServerLink {
    static let isTaskCancelled: @Sendable () -> Bool = { Task.isCancelled }
}

/// An error of a session, in the server's own words.
struct ServerFault: Error {
    /// The SQLSTATE; nil if the server was not reached or gave none.
    var code: String?
    var message: String
    /// Whether the session is lost.
    var isConnectionLost = false
    /// Whether the server requires a password and there is none. libpq reports that itself, without a SQLSTATE.
    var isPasswordMissing = false
    /// Whether libpq cannot read the address.
    var isAddressWrong = false
    /// Whether the search path names another schema before PostgreSQL's own.
    var isPathWrong = false
    /// Whether the session itself ended the statement.
    var isCancelled = false
}

extension Duration {
    /// Whole milliseconds, rounded down; saturating.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? (seconds < 0 ? .min : .max) : product + attoseconds / 1_000_000_000_000_000
    }
}
