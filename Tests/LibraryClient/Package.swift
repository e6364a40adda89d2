// swift-tools-version:6.1
import PackageDescription

// Programs that use the library as any other does; scripts/test --all builds them against this checkout, and runs the tests.
let package = Package(
    name: "client",
    dependencies: [.package(name: "retention", path: "../..")],
    targets: [
        .executableTarget(name: "client", dependencies: [.product(name: "SQLiteStore", package: "retention")]),
        .target(name: "Ticks", dependencies: [.product(name: "SQLiteStore", package: "retention")]),
        .testTarget(name: "TicksTests", dependencies: ["Ticks"]),
    ],
    swiftLanguageModes: [.v6]
)
