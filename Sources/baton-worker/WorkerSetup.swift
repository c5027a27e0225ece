import BatonModel
import BatonSettings
import BatonWire
import BatonWorker
import Logging

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A worker as its flags, environment and file want it.
struct WorkerSetup {
  var configuration: WorkerConfiguration
  var logLevel: Logger.Level

  static let keys = [
    "accepts", "coordinator", "dailyAllowance", "data", "logLevel", "name", "permittedIdentifiers", "slots",
    "tokenFile",
  ]

  init(_ command: BatonWorkerCommand, environment: [String: String]) async throws {
    let settings = try await Settings(
      file: command.config ?? environment["BATON_CONFIG"], environment: environment, keys: Self.keys)
    let name = command.name ?? settings.text("name") ?? ProcessInfo.processInfo.hostName
    guard !name.isEmpty, name.utf8.count <= 255, !name.contains(where: { $0.isWhitespace || $0 == "/" }) else {
      throw SettingsError("'\(name)' cannot be a host's name: no spaces, no slash, at most 255 bytes")
    }
    let slots = try settings.number("slots", in: 1...100_000) ?? ProcessInfo.processInfo.activeProcessorCount
    if let slots = command.slots, !(1...100_000).contains(slots) {
      throw SettingsError("--slots must be from 1 to 100000, not \(slots)")
    }
    configuration = WorkerConfiguration(
      coordinator: command.coordinator ?? settings.text("coordinator") ?? "127.0.0.1:7420", name: name,
      dataFolder: command.data ?? settings.text("data") ?? Self.dataFolder(name, environment),
      slots: command.slots ?? slots)
    configuration.tokenFile = command.tokenFile ?? settings.text("tokenFile")
    configuration.endsProcessOnOverrun = true
    configuration.ownsProcess = true
    configuration.accepts = try Self.kinds(settings)
    configuration.permittedIdentifiers = try Self.patterns(settings)
    configuration.dailyAllowance = try settings.duration("dailyAllowance")
    if let allowance = configuration.dailyAllowance, !(.seconds(1) ... .seconds(86_400)).contains(allowance) {
      throw settings.mistake("dailyAllowance", "must be from 1s to 24h")
    }
    _ = try HostPort(parsing: configuration.coordinator)
    let level = command.logLevel ?? settings.text("logLevel") ?? "info"
    guard let logLevel = Logger.Level(rawValue: level) else {
      throw SettingsError(
        "'\(level)' is no log level: " + Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
    }
    self.logLevel = logLevel
  }

  private static func kinds(_ settings: Settings) throws -> Set<JobKind> {
    guard let names = settings.list("accepts") else { return Set(JobKind.allCases) }
    return Set(
      try names.map { name in
        guard let kind = JobKind(rawValue: name) else {
          throw settings.mistake("accepts", "'\(name)' is not a kind: refresh, processing or continued")
        }
        return kind
      })
  }

  private static func patterns(_ settings: Settings) throws -> [IdentifierPattern] {
    try (settings.list("permittedIdentifiers") ?? []).map { text in
      guard let pattern = IdentifierPattern(text) else {
        throw settings.mistake("permittedIdentifiers", "'\(text)' is not an identifier, nor one followed by '.*'")
      }
      return pattern
    }
  }

  private static func dataFolder(_ name: String, _ environment: [String: String]) -> String {
    let state = environment["XDG_STATE_HOME"].flatMap { $0.isEmpty ? nil : $0 }
    let home = environment["HOME"] ?? "."
    return (state ?? home + "/.local/state") + "/baton/worker/" + name
  }
}
