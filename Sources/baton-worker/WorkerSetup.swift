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

/// A worker as its flags, environment and file want it.
struct WorkerSetup {
  var configuration: WorkerConfiguration
  var logLevel: Logger.Level
  /// Nil serves no HTTP.
  var http: HostPort?

  init(_ command: RunCommand, environment: [String: String]) async throws {
    let settings = try await WorkerSettings(
      command.flags, environment: environment, hostName: ProcessInfo.processInfo.hostName,
      cores: ProcessInfo.processInfo.activeProcessorCount
    ) { Self.dataFolder($0, environment) }
    configuration = settings.configuration
    configuration.endsProcessOnOverrun = true
    configuration.ownsProcess = true
    configuration.answersOwner = true
    let address = command.http ?? settings.settings.text("http") ?? "off"
    http = address == "off" ? nil : try HostPort(parsing: address)
    let level = command.logLevel ?? settings.settings.text("logLevel") ?? "info"
    guard let logLevel = Logger.Level(rawValue: level) else {
      throw SettingsError(
        "'\(level)' is no log level: " + Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
    }
    self.logLevel = logLevel
  }

  private static func dataFolder(_ name: String, _ environment: [String: String]) -> String {
    let state = environment["XDG_STATE_HOME"].flatMap { $0.isEmpty ? nil : $0 }
    let home = environment["HOME"] ?? "."
    return (state ?? home + "/.local/state") + "/baton/worker/" + name
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
