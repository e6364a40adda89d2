// swift-tools-version:6.1
import PackageDescription

// A program that uses the library as any other does; scripts/test --all builds it against this checkout and runs it.
let package = Package(
    name: "client",
    dependencies: [.package(name: "retention", path: "../..")],
    targets: [
        .executableTarget(name: "client", dependencies: [.product(name: "SQLiteStore", package: "retention")])
    ],
    swiftLanguageModes: [.v6]
)
