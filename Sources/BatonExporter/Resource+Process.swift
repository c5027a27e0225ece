internal import BatonModel
package import BatonTelemetry

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Resource {
  /// The resource that describes this process.
  /// - Parameter service: `baton-coordinator`, `baton-worker`, or `baton` if both run in one process.
  package static func ofProcess(_ service: String, settings: TelemetrySettings) -> Resource {
    #if os(Linux)
      let system = "linux"
    #else
      let system = "darwin"
    #endif
    return process(
      service: service, version: BatonVersion.current, instance: UUID().uuidString.lowercased(),
      host: ProcessInfo.processInfo.hostName, system: system,
      process: Int64(ProcessInfo.processInfo.processIdentifier), settings: settings)
  }
}
