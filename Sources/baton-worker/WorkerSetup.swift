import BatonSettings
import BatonTransfers
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
  /// `nil` if the host has no transfers.
  var transfers: TransferSettings?
  var logLevel: Logger.Level
  /// Where health is served over HTTP; `nil` if it is not.
  var http: HostPort?
  /// Where metrics are served over HTTPS; `nil` if they are not.
  var https: HostPort?

  /// Reads the settings. Throws `SettingsError` or `HostPortError` if they are wrong.
  init(_ command: RunCommand, environment: [String: String]) async throws {
    for text in [command.http, command.https].compactMap(\.self) where text != "off" {
      _ = try HostPort(parsing: text)
    }
    if let text = command.logLevel, Logger.Level(rawValue: text) == nil {
      throw SettingsError(Self.mistake(inLevel: text))
    }
    var (http, https) = (command.http ?? "off", command.https ?? "off")
    var level = (command.logLevel.flatMap { Logger.Level(rawValue: $0) } ?? .info)
    let settings = try await WorkerSettings(
      command.flags, environment: environment, hostName: ProcessInfo.processInfo.hostName,
      cores: ProcessInfo.processInfo.activeProcessorCount,
      reading: { settings in
        if command.http == nil { http = Self.address("http", settings) }
        if command.https == nil { https = Self.address("https", settings) }
        if command.logLevel == nil { level = Self.level(settings) ?? level }
      }
    )
    (configuration, transfers) = (settings.configuration, settings.transfers)
    configuration.endsProcessOnOverrun = true
    configuration.ownsProcess = true
    configuration.answersOwner = true
    self.http = http == "off" ? nil : try HostPort(parsing: http)
    self.https = https == "off" ? nil : try HostPort(parsing: https)
    logLevel = level
  }

  private static func address(_ key: String, _ settings: Settings) -> String {
    guard let text = settings.text(key), text != "off" else { return "off" }
    do {
      _ = try HostPort(parsing: text)
      return text
    } catch {
      settings.note(key, "\(error)")
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
