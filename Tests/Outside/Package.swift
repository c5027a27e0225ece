// swift-tools-version: 6.2
import PackageDescription

/// The package of this repository. `Scripts/check-outside` copies this folder, and says where the repository is.
let baton = "baton"
let place = Context.environment["BATON_PACKAGE"] ?? "../.."

let package = Package(
  name: "outside",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: baton, path: place)],
  targets: [
    .executableTarget(
      name: "outside",
      dependencies: [
        .product(name: "BatonClient", package: baton), .product(name: "BatonHandler", package: baton),
        .product(name: "BatonWorker", package: baton), .product(name: "BatonWorkerProgram", package: baton),
      ], swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]),
    .testTarget(
      name: "OutsideTests", dependencies: ["outside", .product(name: "BatonTestKit", package: baton)],
      swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]),
  ]
)
