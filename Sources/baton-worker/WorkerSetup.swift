import BatonSettings
import BatonWire
import BatonWorker
import BatonWorkerSettings
import Logging

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The settings of a worker process from its flags, its environment and its worker.yaml, in this order of precedence.
struct WorkerSetup {
  var configuration: WorkerConfiguration
  var logLevel: Logger.Level
  /// The address of the HTTP service; `nil` if the worker serves no HTTP.
  var http: HostPort?

  /// Reads the settings. Throws `SettingsError` or `HostPortError` if they are wrong.
  init(_ command: RunCommand, environment: [String: String]) async throws {
    if let text = command.http, text != "off" { _ = try HostPort(parsing: text) }
    if let text = command.logLevel, Logger.Level(rawValue: text) == nil {
      throw SettingsError(Self.mistake(inLevel: text))
    }
    var (http, level) = (command.http ?? "off", command.logLevel.flatMap { Logger.Level(rawValue: $0) } ?? .info)
    configuration = try await WorkerSettings(
      command.flags, environment: environment, hostName: ProcessInfo.processInfo.hostName,
      cores: ProcessInfo.processInfo.activeProcessorCount,
      reading: { settings in
        if command.http == nil { http = Self.http(settings) }
        if command.logLevel == nil { level = Self.level(settings) ?? level }
      }
    ).configuration
    configuration.endsProcessOnOverrun = true
    configuration.ownsProcess = true
    configuration.answersOwner = true
    self.http = http == "off" ? nil : try HostPort(parsing: http)
    logLevel = level
  }

  private static func http(_ settings: Settings) -> String {
    guard let text = settings.text("http"), text != "off" else { return "off" }
    do {
      _ = try HostPort(parsing: text)
      return text
    } catch {
      settings.note("http", "\(error)")
      return "off"
    }
  }

  private static func level(_ settings: Settings) -> Logger.Level? {
    guard let text = settings.text("logLevel") else { return nil }
    if let level = Logger.Level(rawValue: text) { return level }
    settings.note("logLevel", mistake(inLevel: text))
    return nil
  }

  private static func mistake(inLevel text: String) -> String {
    "'\(text)' is not a log level; use one of: " + Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
  }
}

extension RunCommand {
  fileprivate var flags: WorkerSettings.Flags {
    var flags = WorkerSettings.Flags()
    flags.coordinator = coordinator
    flags.name = name
    flags.data = data
    flags.slots = slots
    flags.tokenFile = tokenFile
    flags.config = config
    return flags
  }
}
