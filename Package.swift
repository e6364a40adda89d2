// swift-tools-version:6.1
import PackageDescription

// scripts/test sets RETENTION_STRICT. Our own warnings are errors there, those of dependencies are not. It makes a release build
// in which our own modules are not optimised, so that they compile in half the time; the dependencies, and the module that
// all others call most, are: their debug form takes a third of the time of all tests.
let isStrict = Context.environment["RETENTION_STRICT"] == "1"
let features: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]
let fastSettings = features + (isStrict ? [.unsafeFlags(["-warnings-as-errors", "-enable-testing"])] : [])
let settings =
    fastSettings
    + (isStrict ? [.unsafeFlags(["-Onone", "-no-whole-module-optimization", "-enable-batch-mode"])] : [])

let package = Package(
    name: "retention",
    products: [
        .executable(name: "retention", targets: ["retention"]),
        .executable(name: "goldprices", targets: ["goldprices"]),
        .library(name: "SQLiteStore", targets: ["SQLiteStore", "PriceObjects", "PriceStore"]),
    ],
    traits: [
        .trait(name: "Postgres", description: "The PostgreSQL engine; needs libpq (Debian: libpq-dev)"),
        .default(enabledTraits: []),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        // Floor 0: C libraries.
        .systemLibrary(name: "CLibYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CLibMD", pkgConfig: "libmd", providers: [.apt(["libmd-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CSQLiteConfig", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        // Floor 1: what a store is.
        .target(name: "PriceStore", swiftSettings: fastSettings),
        // Beside it, the rows of a store as objects.
        .target(name: "PriceObjects", dependencies: ["PriceStore"], swiftSettings: settings),

        // Floor 2: the words of retention.yaml, and the engines.
        .target(
            name: "RetentionPolicy",
            dependencies: ["PriceStore", "CLibMD", "CLibYAML"],
            swiftSettings: settings),
        .target(
            name: "SQLiteStore",
            dependencies: [
                "PriceStore", "PriceObjects", "CSQLiteConfig", "CZlib",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings),

        // Without the trait only tests use it, and it cannot connect: libpq is needed by one of its files alone.
        .target(
            name: "PostgresStore",
            dependencies: [
                "PriceStore", .target(name: "CLibPQ", condition: .when(traits: ["Postgres"])),
            ],
            swiftSettings: settings),

        // Floor 3: the job.
        .target(
            name: "RetentionJob",
            dependencies: [
                "PriceStore", "PriceObjects", "RetentionPolicy",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        // Floor 4: what is made from its report.
        .target(
            name: "RetentionReports",
            dependencies: [
                "PriceStore", "PriceObjects", "RetentionPolicy", "RetentionJob",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),

        // Floor 5: the programs.
        .executableTarget(
            name: "retention",
            dependencies: [
                "PriceStore", "RetentionPolicy", "RetentionJob", "RetentionReports", "SQLiteStore",
                .target(name: "PostgresStore", condition: .when(traits: ["Postgres"])),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "goldprices",
            dependencies: [
                "PriceStore",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),

        // What scripts/bench measures of the library; no product.
        .executableTarget(
            name: "storebench",
            dependencies: [
                "PriceStore", "PriceObjects", "SQLiteStore", "CoreDataSamples",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/StoreBench", swiftSettings: settings),

        // Tests mirror Sources; StoreConformance holds the laws that every engine obeys.
        .target(
            name: "StoreConformance", dependencies: ["PriceStore", "TestSupport"], path: "Tests/StoreConformance",
            swiftSettings: settings),
        // What several test targets use: a small store, kept log records, the same random numbers in every run.
        .target(
            name: "TestSupport",
            dependencies: [
                "PriceStore", "RetentionPolicy", "SQLiteStore",
                .product(name: "Logging", package: "swift-log"), .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Tests/TestSupport", swiftSettings: settings),
        // Writes Core Data stores, with the tables and the model that Apple's framework would make.
        .target(
            name: "CoreDataSamples", dependencies: [.product(name: "GRDB", package: "GRDB.swift")],
            path: "Tests/CoreDataSamples", swiftSettings: settings),
        // A throw-away server for the tests that need one.
        .target(
            name: "PostgresCluster", dependencies: ["PostgresStore"], path: "Tests/PostgresCluster",
            swiftSettings: settings),
        .testTarget(name: "PriceStoreTests", dependencies: ["PriceStore", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "PriceObjectsTests",
            dependencies: ["PriceObjects", "PriceStore", "SQLiteStore", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        // Every public name of the library beside those of other modules.
        .target(name: "SwiftDataShapes", path: "Tests/NameTests/SwiftDataShapes", swiftSettings: settings),
        .testTarget(
            name: "NameTests",
            dependencies: [
                "SQLiteStore", "SwiftDataShapes",
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "Logging", package: "swift-log"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            exclude: ["SwiftDataShapes"], swiftSettings: settings),
        .testTarget(
            name: "SQLiteStoreTests",
            dependencies: [
                "SQLiteStore", "PriceObjects", "PriceStore", "StoreConformance", "TestSupport", "CoreDataSamples",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PostgresStoreTests",
            dependencies: [
                "PostgresStore", "PostgresCluster", "PriceObjects", "PriceStore", "StoreConformance", "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "RetentionPolicyTests", dependencies: ["RetentionPolicy", "PriceStore", "TestSupport"],
            exclude: ["Fixtures"], swiftSettings: settings),
        .testTarget(
            name: "RetentionJobTests",
            dependencies: [
                "RetentionJob", "RetentionPolicy", "PriceObjects", "PriceStore", "SQLiteStore", "StoreConformance",
                "TestSupport",
                .product(name: "Logging", package: "swift-log"), .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "RetentionReportsTests",
            dependencies: [
                "RetentionReports", "RetentionJob", "RetentionPolicy", "PriceStore", "SQLiteStore", "TestSupport",
                .product(name: "Logging", package: "swift-log"), .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "retentionTests",
            dependencies: [
                "retention", "goldprices", "CoreDataSamples", "PriceObjects", "PriceStore", "RetentionPolicy",
                "RetentionJob",
                "RetentionReports", "SQLiteStore", "PostgresCluster", "PostgresStore", "TestSupport",
                .product(name: "Logging", package: "swift-log"), .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
