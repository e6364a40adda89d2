import Foundation
import GRDB
import TestSupport

/// Core Data stores and models that Apple's framework wrote. They do not lie in the repository.
enum SampleStores {
    static let folder = RealData.more("coredata")

    static let stores = [
        "coredataplus/SampleModel/SampleModel_V1.sqlite", "coredataplus/SampleModel/SampleModel_V2.sqlite",
        "coredataplus/SampleModel2/SampleModel2_V1.sqlite", "coredataplus/SampleModel2/SampleModel2_V2.sqlite",
        "coredataplus/SampleModel3/SampleModel3_V1.sqlite", "plaso/DataUsage.sqlite", "plaso/netusage.sqlite",
    ]

    /// The path of a file of the folder.
    static func path(_ name: String) -> String { folder?.appending(path: name).path ?? name }

    /// A copy of a store in a folder of its own; the originals stay as they are.
    static func copy(_ name: String) throws -> TemporaryStore {
        let store = try TemporaryStore()
        try FileManager.default.removeItem(atPath: store.path)
        try FileManager.default.copyItem(atPath: path(name), toPath: store.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: store.path)
        return store
    }
}

extension TemporaryStore {
    /// The bytes of the first row of a query.
    func blob(_ query: String) throws -> [UInt8] {
        try change { db in try Data.fetchOne(db, sql: query).map(Array.init) ?? [] }
    }
}
