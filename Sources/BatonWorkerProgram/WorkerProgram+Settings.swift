import BatonModel
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

extension WorkerProgram {
  /// Reads the settings.
  /// - Throws: `WorkerError` with everything that is wrong, and where.
  package init(_ options: WorkerOptions, environment: [String: String]) async throws {
    do {
      try await self.init(reading: options, environment: environment)
    } catch {
      throw error as? WorkerError ?? WorkerError("\(error)")
    }
  }

  private init(reading options: WorkerOptions, environment: [String: String]) async throws {
    for text in [options.http, options.https].compactMap(\.self) where text != "off" {
      _ = try HostPort(parsing: text)
    }
    if let text = options.logLevel, Logger.Level(rawValue: text) == nil {
      throw SettingsError(Self.mistake(inLevel: text))
    }
    var (http, https) = (options.http ?? "off", options.https ?? "off")
    var level = (options.logLevel.flatMap { Logger.Level(rawValue: $0) } ?? .info)
    let settings = try await WorkerSettings(
      options.flags, environment: environment, hostName: ProcessInfo.processInfo.hostName,
      cores: ProcessInfo.processInfo.activeProcessorCount,
      reading: { settings in
        if options.http == nil { http = Self.address("http", settings) }
        if options.https == nil { https = Self.address("https", settings) }
        if options.logLevel == nil { level = Self.level(settings) ?? level }
      }
    )
    self.init(
      settings.configuration, transfers: settings.transfers, logLevel: level, environment: environment)
    self.http = http == "off" ? nil : http
    self.https = https == "off" ? nil : https
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
