// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target with hand-written code. `UpcomingFeaturesTests` proves that each feature is really on,
/// because the compiler ignores a misspelt name without a warning.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// The settings of what only tests use. A release build has these targets too. Without this, the compiler would take
/// longer to optimise the cases of the store's tests than for any module of a program.
let support: [SwiftSetting] = strict + [.unsafeFlags(["-Onone"], .when(configuration: .release))]

/// The settings of generated code, which is not held to the rules for hand-written code.
let generated: [SwiftSetting] = [.swiftLanguageMode(.v6)]

let grpc: Target.Dependency = .product(name: "GRPCCore", package: "grpc-swift-2")
let grpcTransport: Target.Dependency = .product(name: "GRPCNIOTransportHTTP2", package: "grpc-swift-nio-transport")
let protobuf: Target.Dependency = .product(name: "SwiftProtobuf", package: "swift-protobuf")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let signals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let context: Target.Dependency = .product(name: "ServiceContextModule", package: "swift-service-context")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")

let package = Package(
  name: "baton",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "BatonClient", targets: ["BatonClient"]),
    .library(name: "BatonHandler", targets: ["BatonHandler"]),
    .library(name: "BatonTestKit", targets: ["BatonTestKit"]),
    .library(name: "BatonWorker", targets: ["BatonWorker"]),
    .library(name: "BatonWorkerProgram", targets: ["BatonWorkerProgram"]),
    .executable(name: "baton", targets: ["baton"]),
    .executable(name: "baton-worker", targets: ["baton-worker"]),
    .executable(name: "baton-exec", targets: ["baton-exec"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
    .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
    .package(
      url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["YAML"]),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.1"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.1"),
    // It comes through gRPC. This is the first version without CVE-2026-64785.
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.45.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    .package(url: "https://github.com/apple/swift-service-context", from: "1.5.1"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
  ],
  targets: [
    .target(name: "BatonModel", swiftSettings: strict),
    .target(name: "BatonBase", dependencies: ["BatonModel"], swiftSettings: strict),
    .target(name: "BatonCore", dependencies: ["BatonModel"], swiftSettings: strict),
    .target(
      name: "BatonSpec", dependencies: ["BatonBase", "BatonModel", .product(name: "Yams", package: "Yams")],
      swiftSettings: strict),
    .target(
      name: "BatonSettings",
      dependencies: [
        "BatonModel", "BatonSpec", .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "SystemPackage", package: "swift-system"), .product(name: "Yams", package: "Yams"),
      ], swiftSettings: strict),
    .target(name: "BatonHandler", dependencies: ["BatonModel"], swiftSettings: strict),
    .target(
      name: "BatonTestKit",
      dependencies: [
        "BatonModel", "BatonBase", "BatonCore", "BatonHandler", "BatonTransfers", "FalseServer", logging,
      ], swiftSettings: strict),
    .target(name: "CBatonSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
    // It finds libpq when it runs, so that who keeps the store in SQLite needs no libpq.
    .target(name: "CBatonPostgres", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    .target(name: "BatonPostgres", dependencies: ["CBatonPostgres"], swiftSettings: strict),
    .target(
      name: "BatonStore",
      dependencies: [
        "BatonBase", "BatonModel", "BatonPostgres", "CBatonSQLite", crypto,
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ], swiftSettings: strict),
    .target(
      name: "BatonProtobuf",
      dependencies: [
        grpc, protobuf, .product(name: "GRPCProtobuf", package: "grpc-swift-protobuf"),
      ], exclude: ["baton.proto"], swiftSettings: generated),
    .target(
      name: "BatonIdentity",
      dependencies: [
        "BatonBase", "BatonModel", crypto, x509, .product(name: "SwiftASN1", package: "swift-asn1"),
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: strict),
    .target(
      name: "BatonWire",
      dependencies: [
        "BatonBase", "BatonModel", "BatonIdentity", "BatonProtobuf", grpc, grpcTransport, protobuf, logging, x509,
        .product(name: "Crypto", package: "swift-crypto"), .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOTLS", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"), .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOCertificateReloading", package: "swift-nio-extras"),
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: strict),
    .target(
      name: "BatonClient",
      dependencies: ["BatonBase", "BatonModel", "BatonIdentity", "BatonProtobuf", "BatonWire", grpc, protobuf],
      swiftSettings: strict),
    .target(
      name: "BatonTelemetry", dependencies: ["BatonBase", "BatonModel", tracing, context, metrics, logging],
      swiftSettings: strict),
    .systemLibrary(
      name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    .target(
      name: "BatonExporter",
      dependencies: [
        "BatonBase", "BatonModel", "BatonTelemetry", "CZlib", lifecycle, logging,
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], swiftSettings: strict),
    .target(
      name: "BatonCoordinator",
      dependencies: [
        "BatonBase", "BatonModel", "BatonIdentity", "BatonSpec", "BatonStore", "BatonProtobuf", "BatonWire",
        "BatonTelemetry", "BatonHTTP", x509, grpc,
        grpcTransport, protobuf, lifecycle, logging, metrics, crypto,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ], swiftSettings: strict),
    .target(
      name: "BatonHTTP",
      dependencies: [
        "BatonBase", "BatonModel", "BatonTelemetry", "BatonWire", lifecycle, logging,
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "HTTPTypes", package: "swift-http-types"), .product(name: "NIOCore", package: "swift-nio"),
      ], swiftSettings: strict),
    .target(name: "CBatonProcess"),
    // It has no code in Swift. Without these flags it would load the Swift runtime, which takes 1 ms for each command.
    .executableTarget(
      name: "baton-exec",
      linkerSettings: [.unsafeFlags(["-nostartfiles", "-static-executable"], .when(platforms: [.linux]))]),
    .target(
      name: "BatonProcess",
      dependencies: [
        "BatonBase", "BatonModel", "CBatonProcess", signals, .product(name: "Subprocess", package: "swift-subprocess"),
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: strict),
    .target(name: "CBatonHost"),
    .target(
      name: "BatonHost", dependencies: ["BatonBase", "BatonModel", "BatonProcess", "CBatonHost"], swiftSettings: strict),
    .target(
      name: "BatonTransfers",
      dependencies: [
        "BatonBase", "BatonModel", "BatonProcess", "BatonHost", lifecycle, logging, crypto,
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"), .product(name: "NIOPosix", package: "swift-nio"),
      ], swiftSettings: strict),
    .target(
      name: "BatonNotifier",
      dependencies: [
        "BatonBase", "BatonModel", "BatonTelemetry", "BatonProcess", crypto,
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], swiftSettings: strict),
    .target(
      name: "BatonWorker",
      dependencies: [
        "BatonBase", "BatonModel", "BatonIdentity", "BatonCore", "BatonHandler", "BatonProtobuf", "BatonWire",
        "BatonTelemetry", "CBatonProcess", "BatonProcess", "BatonHost", grpc, grpcTransport, protobuf, lifecycle,
        logging, tracing,
        context, metrics,
      ], swiftSettings: strict),
    .target(
      name: "BatonWorkerSettings",
      dependencies: [
        "BatonBase", "BatonModel", "BatonIdentity", "BatonSettings", "BatonWire", "BatonProcess", "BatonHost",
        "BatonTransfers", "BatonWorker",
      ],
      swiftSettings: strict),
    .target(
      name: "BatonWorkerProgram",
      dependencies: [
        "BatonBase", "BatonModel", "BatonSettings", "BatonWire", "BatonProcess", "BatonTransfers", "BatonWorker",
        "BatonWorkerSettings", "BatonTelemetry", "BatonExporter", "BatonHTTP", lifecycle, signals, logging,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: strict),
    .target(
      name: "BatonDoctor",
      dependencies: [
        "BatonBase", "BatonModel", "BatonStore", "BatonWire", "BatonProcess", "BatonHost", "CBatonHost",
      ], swiftSettings: strict),
    .target(
      name: "BatonConformance", dependencies: ["BatonModel", "BatonStore"], path: "Tests/Support/BatonConformance",
      swiftSettings: support),
    .target(
      name: "BatonCommands",
      dependencies: [
        "BatonBase", "BatonModel", "BatonIdentity", "BatonSpec", "BatonSettings", "BatonStore", "BatonTelemetry",
        "BatonWire", "BatonCoordinator", "BatonJSON",
        "BatonDoctor", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: strict),
    // The description of the HTTP API, which is embedded from Documentation.
    .target(name: "CBatonAPI"),
    .target(
      name: "BatonAPI",
      dependencies: [
        "BatonBase", "BatonModel", "BatonIdentity", "BatonSpec", "BatonStore", "BatonTelemetry", "BatonWire",
        "BatonHTTP",
        "BatonCoordinator", "BatonJSON", "CBatonAPI", crypto, .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"), .product(name: "NIOCore", package: "swift-nio"),
      ], swiftSettings: strict),
    // The files of the console, which are embedded.
    .target(name: "CBatonConsole", exclude: ["assets"]),
    .target(
      name: "BatonConsole",
      dependencies: [
        "BatonBase", "BatonModel", "BatonIdentity", "BatonSpec", "BatonStore", "BatonTelemetry", "BatonWire",
        "BatonHTTP", "BatonCoordinator", "BatonJSON", "BatonAPI", "CBatonConsole", crypto, lifecycle, logging,
        .product(name: "Hummingbird", package: "hummingbird"), .product(name: "HTTPTypes", package: "swift-http-types"),
      ], swiftSettings: strict),
    .target(
      name: "BatonJSON",
      dependencies: [
        "BatonBase", "BatonModel", "BatonIdentity", "BatonSpec", "BatonStore", "BatonTelemetry", "BatonCoordinator",
      ], swiftSettings: strict),
    .executableTarget(
      name: "baton",
      dependencies: [
        "BatonBase", "BatonModel", "BatonIdentity", "BatonSettings", "BatonStore", "BatonWire", "BatonCoordinator",
        "BatonProcess",
        "BatonHost", "BatonTransfers", "BatonNotifier", "BatonWorker",
        "BatonWorkerSettings", "BatonDoctor", "BatonAPI", "BatonConsole", "BatonCommands", "BatonTelemetry",
        "BatonExporter", lifecycle,
        signals,
        logging, tracing, metrics, .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: strict),
    .target(name: "CBatonNoICU"),
    .executableTarget(
      name: "baton-worker",
      dependencies: [
        "CBatonNoICU", "BatonBase", "BatonModel", "BatonIdentity", "BatonSpec", "BatonSettings", "BatonWire",
        "BatonProcess",
        "BatonHost", "BatonWorker", "BatonWorkerProgram", signals,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: strict),
    .executableTarget(
      name: "baton-benchmarks",
      dependencies: [
        "BatonBase", "BatonModel", "BatonCore", "BatonHandler", "BatonPostgres", "BatonStore", "BatonIdentity",
        "BatonProtobuf", "BatonWire", "BatonTelemetry", "BatonExporter", "BatonCoordinator",
        "BatonProcess", "BatonTransfers", "BatonWorker", lifecycle, signals, logging, tracing,
        grpc, protobuf,
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ], path: "Benchmarks", exclude: ["peers"], swiftSettings: [.swiftLanguageMode(.v6)]),
    .target(
      name: "BatonSimulation", dependencies: ["BatonModel", "BatonCore", "BatonStore", "BatonCoordinator"],
      path: "Tests/Support/BatonSimulation",
      swiftSettings: strict),
    .executableTarget(
      name: "cron-lines", dependencies: ["BatonModel"], path: "Tests/Support/CronLines", swiftSettings: strict),
    .executableTarget(
      name: "baton-simulate", dependencies: ["BatonBase", "BatonModel", "BatonSimulation"], swiftSettings: strict),
    .target(
      name: "ContractRows", path: "Tests/ContractRows", exclude: ["rows.tsv", "promises.tsv", "attacks.tsv"],
      swiftSettings: strict),
    .target(
      name: "FalseServer",
      dependencies: [
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], swiftSettings: strict),
    .target(
      name: "FreshDatabases", dependencies: ["BatonPostgres"], path: "Tests/Support/FreshDatabases",
      swiftSettings: support),
    .target(name: "HostileDefinitions", path: "Tests/HostileDefinitions", swiftSettings: support),
    .target(
      name: "HostFixtures",
      dependencies: [
        "BatonIdentity", "BatonModel", "BatonProcess", "BatonProtobuf", "BatonWire", grpc, protobuf, logging,
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOTLS", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], path: "Tests/HostFixtures", swiftSettings: support),
    .testTarget(
      name: "BatonSpecTests",
      dependencies: ["ContractRows", "BatonSpec", "BatonModel", .product(name: "Yams", package: "Yams")],
      exclude: ["Corpus"], swiftSettings: strict),
    .testTarget(name: "BatonPostgresTests", dependencies: ["BatonPostgres"], swiftSettings: strict),
    .testTarget(name: "TidyTests", dependencies: ["BatonBase"], swiftSettings: strict),
    .testTarget(name: "BatonModelTests", dependencies: ["ContractRows", "BatonModel"], swiftSettings: strict),
    .testTarget(
      name: "BatonCoordinatorTests",
      dependencies: [
        "BatonBase", "ContractRows", "HostFixtures", "HostileDefinitions", "BatonModel", "BatonSpec", "BatonStore",
        "BatonTelemetry", "BatonProtobuf", "BatonWire", "BatonCoordinator", "BatonAPI", protobuf, logging, grpc,
        metrics,
        .product(name: "GRDB", package: "GRDB.swift"), .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BatonIdentityTests",
      dependencies: [
        "ContractRows", "BatonModel", "BatonIdentity", x509, crypto, .product(name: "SwiftASN1", package: "swift-asn1"),
      ], swiftSettings: strict),
    .testTarget(
      name: "BatonWireTests",
      dependencies: [
        "BatonBase", "ContractRows", "HostFixtures", "BatonModel", "BatonIdentity", "BatonProtobuf", "BatonWire", x509,
        grpc, protobuf, logging,
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOEmbedded", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BatonTests",
      dependencies: [
        "BatonBase", "ContractRows", "BatonModel", "BatonIdentity", "BatonSpec", "BatonStore", "BatonTelemetry",
        "BatonWire", "BatonCoordinator", "BatonJSON", "BatonAPI", "BatonConsole", "BatonDoctor",
        "BatonCommands", "BatonSettings", "baton", .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      exclude: ["Golden"], swiftSettings: strict),
    .testTarget(
      name: "BatonDoctorTests", dependencies: ["BatonModel", "BatonStore", "BatonDoctor"], swiftSettings: strict),
    .testTarget(
      name: "BatonStoreTests",
      dependencies: [
        "BatonBase", "ContractRows", "BatonModel", "BatonPostgres", "BatonStore", "BatonConformance",
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BatonWorkerTests",
      dependencies: [
        "BatonBase", "ContractRows", "HostFixtures", "HostileDefinitions", "BatonModel", "BatonCore", "BatonHandler",
        "BatonProtobuf",
        "BatonWire",
        "BatonTelemetry", "BatonProcess", "BatonHost", "BatonWorker",
        logging,
        tracing, context,
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BatonTransfersTests",
      dependencies: [
        "BatonBase", "ContractRows", "FalseServer", "BatonModel", "BatonProcess", "BatonHost", "BatonTransfers",
        logging, crypto, .product(name: "NIOCore", package: "swift-nio"),
      ], swiftSettings: strict),
    .testTarget(
      name: "BatonNotifierTests",
      dependencies: ["BatonBase", "FalseServer", "BatonModel", "BatonNotifier"], swiftSettings: strict),
    .testTarget(
      name: "BatonTelemetryTests",
      dependencies: ["BatonBase", "ContractRows", "BatonModel", "BatonTelemetry", tracing, context, metrics, logging],
      swiftSettings: strict),
    .testTarget(
      name: "BatonHTTPTests",
      dependencies: [
        "BatonModel", "BatonTelemetry", "BatonWire", "BatonHTTP", logging, lifecycle,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdTesting", package: "hummingbird"),
      ], swiftSettings: strict),
    .testTarget(
      name: "BatonExporterTests",
      dependencies: [
        "BatonBase", "BatonModel", "BatonTelemetry", "BatonExporter", "CZlib", tracing, logging, lifecycle,
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ], swiftSettings: strict),
    .testTarget(
      name: "BatonWorkerSettingsTests",
      dependencies: [
        "ContractRows", "BatonModel", "BatonSettings", "BatonProcess", "BatonHost", "BatonTransfers", "BatonWorker",
        "BatonWorkerProgram", "BatonWorkerSettings", logging,
      ], swiftSettings: strict),
    .executableTarget(
      name: "example-worker",
      dependencies: ["BatonHandler", "BatonWorker", "BatonWorkerProgram", lifecycle, logging, tracing, context],
      path: "Examples/Worker", swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "example-client", dependencies: ["BatonClient"], path: "Examples/Client",
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "handler-worker", dependencies: ["BatonHandler", "BatonWorker", "BatonWorkerProgram", logging],
      path: "Tests/HandlerWorker", swiftSettings: strict),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "BatonBase", "ContractRows", "FreshDatabases", "HostFixtures", "HostileDefinitions", "BatonModel",
        "BatonIdentity", "BatonProtobuf", "BatonWire", "BatonTransfers", "BatonWorker", "FalseServer", "baton",
        "baton-worker", "handler-worker", "example-worker", "example-client", grpc,
        protobuf, x509, crypto,
        .product(name: "GRDB", package: "GRDB.swift"), .product(name: "SwiftASN1", package: "swift-asn1"),
      ], exclude: ["Attacks/attacks.py"],
      swiftSettings: strict),
    .testTarget(
      name: "BatonTestKitTests", dependencies: ["BatonModel", "BatonHandler", "BatonTestKit", "ContractRows"],
      swiftSettings: strict),
    .testTarget(
      name: "TestKitExamples", dependencies: ["BatonHandler", "BatonTestKit"], path: "Examples/TestKit",
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .testTarget(
      name: "ContractTests",
      dependencies: [
        "BatonBase", "ContractRows", "FreshDatabases", "HostileDefinitions", "BatonModel", "BatonCore",
        "BatonPostgres", "BatonSpec", "BatonStore", "BatonWire", "BatonCoordinator",
        "BatonWorker",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BatonSimulationTests", dependencies: ["BatonSimulation"],
      exclude: ["kept-seeds.txt", "same-in-two-processes"], swiftSettings: strict),
    .testTarget(
      name: "EmbeddedTests",
      dependencies: [
        "BatonBase", "ContractRows", "HostFixtures", "BatonModel", "BatonIdentity", "BatonHandler", "BatonStore",
        "BatonProtobuf", "BatonWire", "BatonTelemetry", grpc, protobuf, x509, crypto,
        "BatonClient", "BatonCoordinator", "BatonJSON", "BatonAPI", "BatonProcess", "BatonHost", "BatonWorker", logging,
        "BatonNotifier", "FalseServer",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "GRDB", package: "GRDB.swift"), .product(name: "SwiftASN1", package: "swift-asn1"),
      ], swiftSettings: strict),
  ]
)
