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
        /// The names of the prepared statements, by their texts.
        private var prepared: [String: String] = [:]

        /// Whether the package was built with libpq; see ``isAvailable``.
        static let isAvailable = true

        private init(_ handle: OpaquePointer) { self.handle = handle }

        deinit { PQfinish(handle) }

        /// Opens a session.
        ///
        /// - Parameters:
        ///   - parameters: libpq's parameters (`host`, `dbname` …). libpq's environment and files supply missing ones.
        ///   - timeout: how long to wait for the server.
        /// - Throws: ``ServerFault`` without a password in its message.
        static func open(_ parameters: [(name: String, value: String)], timeout: Duration) throws(ServerFault)
            -> ServerLink
        {
            var names: [UnsafePointer<CChar>?] = parameters.map { UnsafePointer(strdup($0.name)) }
            var values: [UnsafePointer<CChar>?] = parameters.map { UnsafePointer(strdup($0.value)) }
            defer { for text in names + values { free(UnsafeMutablePointer(mutating: text)) } }
            names.append(nil)
            values.append(nil)
            // `dbname` may be a complete URL.
            guard let handle = PQconnectStartParams(names, values, 1) else {
                throw ServerFault(code: nil, message: "out of memory", isConnectionLost: true)
            }
            let link = ServerLink(handle)
            // The SQLSTATE of a refused connection is only in verbose messages.
            PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
            PQsetNoticeProcessor(handle, { _, _ in }, nil)
            try link.finishConnecting(timeout)
            PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
            link.serverProcess = Int(PQbackendPID(handle))
            return link
        }

        private func finishConnecting(_ timeout: Duration) throws(ServerFault) {
            let end = ContinuousClock.now + timeout
            var state = PGRES_POLLING_WRITING
            while PQstatus(handle) != CONNECTION_BAD, state != PGRES_POLLING_OK, state != PGRES_POLLING_FAILED {
                let left = (end - ContinuousClock.now).milliseconds
                guard left > 0 else {
                    throw ServerFault(code: nil, message: "the server did not answer in time", isConnectionLost: true)
                }
                var wanted = pollfd(
                    fd: PQsocket(handle), events: Int16(state == PGRES_POLLING_READING ? POLLIN : POLLOUT), revents: 0)
                guard poll(&wanted, 1, Int32(min(left, 1000))) != 0 else { continue }
                state = PQconnectPoll(handle)
            }
            guard PQstatus(handle) == CONNECTION_OK else {
                let (code, message) = Self.split(verbose: text(PQerrorMessage(handle)))
                throw ServerFault(
                    code: code, message: message, isConnectionLost: true,
                    isPasswordMissing: PQconnectionNeedsPassword(handle) == 1)
            }
        }

        /// Runs a statement with bound parameters and returns its rows.
        func execute(_ text: String, _ values: [String?]) throws(ServerFault) -> ServerResult {
            try sending(values) { PQexecParams(handle, text, $0, nil, $1, nil, nil, 0) }
        }

        /// The most statements that are kept prepared. Each takes memory of the server.
        private static let mostPrepared = 200

        /// Runs a statement that will be repeated. The server plans it once.
        func execute(repeated text: String, _ values: [String?]) throws(ServerFault) -> ServerResult {
            if prepared[text] == nil, prepared.count >= Self.mostPrepared {
                _ = try result(PQexec(handle, "DEALLOCATE ALL"))
                prepared = [:]
            }
            let name = prepared[text] ?? "retention_\(prepared.count)"
            if prepared[text] == nil {
                _ = try result(PQprepare(handle, name, text, Int32(values.count), nil))
                prepared[text] = name
            }
            return try sending(values) { PQexecPrepared(handle, name, $0, $1, nil, nil, 0) }
        }

        /// Passes values to libpq as C strings, which must live until the call returns.
        private func sending(
            _ values: [String?], _ call: (_ count: Int32, _ values: [UnsafePointer<CChar>?]) -> OpaquePointer?
        ) throws(ServerFault) -> ServerResult {
            if values.contains(where: { $0?.utf8.contains(0) == true }) {
                throw ServerFault(
                    code: "22021", message: "a value has the character NUL (\\0), which no text of the server can have",
                    isConnectionLost: false)
            }
            var copies: [UnsafePointer<CChar>?] = values.map { $0.flatMap { UnsafePointer(strdup($0)) } }
            defer { for copy in copies { free(UnsafeMutablePointer(mutating: copy)) } }
            if copies.isEmpty { copies.append(nil) }
            return try result(call(Int32(values.count), copies))
        }

        /// Runs statements without parameters, separated by semicolons, as one message. Returns the rows of the last one.
        func execute(script: String) throws(ServerFault) -> ServerResult { try result(PQexec(handle, script)) }

        /// Sends lines in the text format of COPY to a table.
        ///
        /// - Parameter lines: returns the next portion; nil if there is none.
        func copy(_ statement: String, _ lines: () -> String?) throws(ServerFault) {
            let begun = PQexec(handle, statement)
            guard PQresultStatus(begun) == PGRES_COPY_IN else {
                _ = try result(begun)
                throw ServerFault(code: nil, message: "the server does not accept COPY", isConnectionLost: false)
            }
            PQclear(begun)
            while var portion = lines() {
                let sent = portion.withUTF8 { bytes in
                    bytes.withMemoryRebound(to: CChar.self) { PQputCopyData(handle, $0.baseAddress, Int32($0.count)) }
                }
                guard sent == 1 else { throw lostConnection() }
            }
            guard PQputCopyEnd(handle, nil) == 1 else { throw lostConnection() }
            _ = try result(PQgetResult(handle))
            while let rest = PQgetResult(handle) { PQclear(rest) }
        }

        /// Whether the session still exists, as far as libpq knows.
        var isOpen: Bool { PQstatus(handle) == CONNECTION_OK }

        /// The process ID of the server process for the session. It is kept here because libpq forgets it when the session is lost.
        private(set) var serverProcess = 0

        /// Whether a transaction is open on the server.
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
                    isConnectionLost: !isOpen)
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
            ServerFault(code: nil, message: firstLine(text(PQerrorMessage(handle))), isConnectionLost: !isOpen)
        }

        private func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
        private func text(_ pointer: UnsafeMutablePointer<CChar>?) -> String {
            pointer.map { String(cString: $0) } ?? ""
        }

        private func firstLine(_ text: String) -> String {
            String(text.split(separator: "\n").first ?? "the connection was lost")
        }

        /// The SQLSTATE and the text of a verbose message, such as `… FATAL:  28P01: password authentication failed`.
        private static func split(verbose message: String) -> (code: String?, message: String) {
            let lines = message.split(separator: "\n").map(String.init)
            for line in lines {
                guard let severity = line.firstRange(of: "FATAL:  ") ?? line.firstRange(of: "ERROR:  ") else {
                    continue
                }
                let rest = line[severity.upperBound...]
                guard let colon = rest.firstIndex(of: ":"), rest.distance(from: rest.startIndex, to: colon) == 5 else {
                    continue
                }
                let words = rest[rest.index(after: colon)...].drop { $0 == " " }
                return (String(rest[..<colon]), String(words))
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
        static let isAvailable = false
        let isOpen = false
        let isInTransaction = false
        let serverProcess = 0
        let place = (host: "", port: "", database: "")

        private init() {}

        static func open(_ parameters: [(name: String, value: String)], timeout: Duration) throws(ServerFault)
            -> ServerLink
        {
            throw ServerFault(
                code: nil,
                message: "this build has no PostgreSQL engine: install the package retention-postgresql, or build with "
                    + "`swift build --traits Postgres`",
                isConnectionLost: false)
        }

        func execute(_ text: String, _ values: [String?]) throws(ServerFault) -> ServerResult { ServerResult() }
        func execute(repeated text: String, _ values: [String?]) throws(ServerFault) -> ServerResult { ServerResult() }
        func execute(script: String) throws(ServerFault) -> ServerResult { ServerResult() }
        func copy(_ statement: String, _ lines: () -> String?) throws(ServerFault) {}
    }
#endif

/// An error of a session, in the server's own words.
struct ServerFault: Error {
    /// The SQLSTATE; nil if the server was not reached or gave none.
    var code: String?
    var message: String
    /// Whether the session is lost.
    var isConnectionLost: Bool
    /// Whether the server requires a password and there is none. libpq reports that itself, without a SQLSTATE.
    var isPasswordMissing = false
}

extension Duration {
    /// Whole milliseconds, rounded down; saturating.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? (seconds < 0 ? .min : .max) : product + attoseconds / 1_000_000_000_000_000
    }
}
