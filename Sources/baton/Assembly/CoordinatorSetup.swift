import BatonCommands
import BatonCoordinator
import BatonModel
import BatonSettings
import BatonStore
import BatonTelemetry
import BatonWire
import Logging

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A coordinator as its flags, environment and file want it.
struct CoordinatorSetup {
  var dataFolder: String
  var listen: HostPort
  /// Nil if the setting is `off`.
  var http: HostPort?
  var settings: CoordinatorSettings
  var limits: StoreLimits
  var logLevel: Logger.Level

  static let keys = [
    "data", "http", "leaseTerm", "limits.checkpointBytes", "limits.pending", "limits.pendingPerDefinition",
    "limits.waitingWrites", "listen", "logLevel", "losses.backoff", "losses.quarantineAfter", "permittedIdentifiers",
    "retention.count", "retention.ended",
    "retention.spanCount", "retention.spans", "retention.submissions",
  ]

  init(_ options: CoordinatorOptions, environment: [String: String], defaultFolder: String) async throws {
    let file = try await Settings(
      file: options.configurationFile ?? environment["BATON_CONFIG"], environment: environment, keys: Self.keys)
    dataFolder = options.dataFolder ?? file.text("data") ?? Self.stateFolder(environment) + "/" + defaultFolder
    listen = try HostPort(parsing: options.listen ?? file.text("listen") ?? "127.0.0.1:7420")
    let httpText = options.http ?? file.text("http") ?? "127.0.0.1:7421"
    http = httpText == "off" ? nil : try HostPort(parsing: httpText)
    settings = CoordinatorSettings()
    settings.leaseTerm = try options.leaseTerm ?? file.duration("leaseTerm") ?? settings.leaseTerm
    guard settings.leaseTerm >= .milliseconds(500), settings.leaseTerm <= .seconds(3600) else {
      throw file.mistake("leaseTerm", "must be from 500ms to 1h: workers renew it three times in each")
    }
    settings.permittedIdentifiers = try (file.list("permittedIdentifiers") ?? []).map { text in
      guard let pattern = IdentifierPattern(text) else {
        throw file.mistake("permittedIdentifiers", "'\(text)' is not an identifier, nor one followed by '.*'")
      }
      return pattern
    }
    limits = try Self.limits(file)
    settings.retention = try Self.retention(file)
    let level = file.text("logLevel") ?? "notice"
    guard let logLevel = Logger.Level(rawValue: level) else {
      throw file.mistake(
        "logLevel", "'\(level)' is none of " + Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
    }
    self.logLevel = logLevel
  }

  private static func limits(_ file: Settings) throws -> StoreLimits {
    var limits = StoreLimits()
    limits.pending = try file.number("limits.pending", in: 1...100_000_000) ?? limits.pending
    limits.pendingPerDefinition =
      try file.number("limits.pendingPerDefinition", in: 1...100_000_000) ?? limits.pendingPerDefinition
    limits.checkpointBytes = try file.number("limits.checkpointBytes", in: 256...(1 << 20)) ?? limits.checkpointBytes
    limits.waitingWrites = try file.number("limits.waitingWrites", in: 64...1_000_000) ?? limits.waitingWrites
    let losses = limits.losses
    limits.losses.quarantineAfter =
      try file.number("losses.quarantineAfter", in: 1...100) ?? losses.quarantineAfter
    limits.losses.backoff = try file.duration("losses.backoff") ?? losses.backoff
    guard limits.losses.backoff <= .seconds(3600) else { throw file.mistake("losses.backoff", "is at most 1h") }
    return limits
  }

  private static func retention(_ file: Settings) throws -> RetentionLimits {
    var retention = RetentionLimits()
    retention.endedFor = try file.duration("retention.ended") ?? retention.endedFor
    retention.endedCount = try file.number("retention.count", in: 0...100_000_000) ?? retention.endedCount
    retention.submissionsFor = try file.duration("retention.submissions") ?? retention.submissionsFor
    retention.spansFor = try file.duration("retention.spans") ?? retention.spansFor
    retention.spanCount = try file.number("retention.spanCount", in: 0...100_000_000) ?? retention.spanCount
    return retention
  }

  func server(for coordinator: Coordinator, metrics: MetricsReader, logger: Logger) throws -> CoordinatorServer {
    try CoordinatorServer(
      coordinator: coordinator, grpc: listen, http: http, token: TokenFile.own(dataFolder: dataFolder),
      metrics: metrics, logger: logger
    ) { grpc, http in
      StandardError.say(
        "baton: the coordinator listens on \(grpc) (gRPC)" + (http.map { " and \($0) (HTTP)" } ?? "")
          + ", its data is in \(dataFolder)")
    }
  }

  static func stateFolder(_ environment: [String: String]) -> String {
    let state = environment["XDG_STATE_HOME"].flatMap { $0.isEmpty ? nil : $0 }
    return (state ?? (environment["HOME"] ?? ".") + "/.local/state") + "/baton"
  }
}
