import BatonCoordinator
import BatonExporter
import BatonModel
import BatonTelemetry
import Logging
import ServiceLifecycle
import Tracing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Telemetry {
  /// What the environment's `OTEL_*` variables want of this process.
  /// - Parameter service: `baton-coordinator`, or `baton` for coordinator and worker in one process.
  static func ofProcess(_ service: String, environment: [String: String], logger: Logger) -> Telemetry {
    let settings = TelemetrySettings(environment: environment)
    let resource = Resource.ofProcess(service, settings: settings)
    let telemetry = Telemetry(settings, resource: resource, logger: logger)
    for warning in telemetry.warnings { logger.warning("\(warning)") }
    return telemetry
  }

  /// What the coordinator has to know of it.
  func set(in coordinator: inout CoordinatorSettings) {
    coordinator.sampler = settings.isDisabled ? Sampler(root: .never) : settings.sampler
    guard let traces else { return }
    coordinator.spans = SpanDelivery(resource: resource, batch: settings.batch) { await traces.send($0) }
  }

  /// Runs its services around `body`, and lets them send what is left.
  func running<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
    try await withThrowingTaskGroup(of: Void.self) { group in
      let services = ServiceGroup(services: services, logger: LiveBackend.logger(.error))
      group.addTask { try await services.run() }
      let result: Swift.Result<Result, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      await services.triggerGracefulShutdown()
      try await group.waitForAll()
      return try result.get()
    }
  }
}
